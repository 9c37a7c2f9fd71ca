"""What is done with a program on both machines: verify, evaluate, generate."""

from espalier.programs.agreement import Disagreement, Verification
from espalier.programs.circuits import Circuit, Component, circuit
from espalier.programs.engines import Case, Compiled, Engine, Interpreter
from espalier.programs.evaluate import Progress, evaluate
from espalier.programs.evaluation import Evaluation
from espalier.programs.generation import Answer, ask, generate, generate_many
from espalier.programs.verification import verify

__all__ = [
    "Answer",
    "Case",
    "Circuit",
    "Compiled",
    "Component",
    "Disagreement",
    "Engine",
    "Evaluation",
    "Interpreter",
    "Progress",
    "Verification",
    "ask",
    "circuit",
    "evaluate",
    "generate",
    "generate_many",
    "verify",
]
