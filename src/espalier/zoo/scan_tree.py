"""The nodes of SCAN's parse trees, and what a walker does at its first, second, ... visit to each.

`espalier.zoo.scan` builds these trees and walks over them.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

VERBS = ("walk", "look", "run", "jump", "turn")
SIDES = ("left", "right")

UNARY = (
    *tuple(f"C -> C {how}{side}" for side in SIDES for how in ("", "opposite ", "around ")),
    "C -> C twice",
    "C -> C thrice",
)
NODES = (
    "NONE",
    *(f"C -> {verb}" for verb in VERBS),
    *UNARY,
    "A -> C and",
    "B -> C after",
    "C -> A C",
    "C -> B C",
)


class Move(Enum):
    """Where the cursor goes."""

    STAY = "stay"
    DOWN = "down"  # to the left neighbour: the only or second child
    UP = "up"  # to the right neighbour: the parent
    TO_HALF = "to half"
    TO_ROOT = "to root"


class Step(NamedTuple):
    """What happens when the cursor is at a node: an action to write (or NONE) and a move."""

    action: str
    move: Move


def _steps(node: str) -> tuple[Step, ...]:
    """What a node does at its first, second, ... visit; at the last it is done with."""
    down, up = Step("NONE", Move.DOWN), Step("NONE", Move.UP)
    match node.split()[2:]:
        case []:
            return ()
        case ["turn"]:
            return (up,)
        case [verb]:
            return (Step(f"I_{verb.upper()}", Move.UP),)
        case ["C", "twice"]:
            return (down, down, up)
        case ["C", "thrice"]:
            return (down, down, down, up)
        case ["C", "and" | "after"]:
            return (down, Step("NONE", Move.TO_ROOT))
        case ["A", "C"]:
            return (Step("NONE", Move.TO_HALF), down, up)
        case ["B", "C"]:
            return (down, Step("NONE", Move.TO_HALF), up)
        case ["C", *how, side]:
            turn = f"I_TURN_{side.upper()}"
            turn_and_down = Step(turn, Move.DOWN)
            match how:
                case ["opposite"]:
                    return (Step(turn, Move.STAY), turn_and_down, up)
                case ["around"]:
                    return (turn_and_down,) * 4 + (up,)
                case _:
                    return (turn_and_down, up)
    raise AssertionError(node)


STEPS = {NODES.index(node): _steps(node) for node in NODES}
MOST_VISITS = max(map(len, STEPS.values()))
HALVES = (NODES.index("A -> C and"), NODES.index("B -> C after"))
ROOTS = (NODES.index("C -> A C"), NODES.index("C -> B C"))
