"""Why a value of a trace is what it is: its exact history, and what would have changed it."""

from espalier.interpreter.explain.explanation import Counterexample, Explanation, explain
from espalier.interpreter.explain.history import Edge
from espalier.interpreter.explain.interaction import Interaction
from espalier.interpreter.explain.replay import Replay

__all__ = ["Counterexample", "Edge", "Explanation", "Interaction", "Replay", "explain"]
