"""All of SCAN (Lake & Baroni 2018): a shift-reduce parse, then a walk over the tree it built.

The input is START, the words of a command, STOP, memory and END. Every pointer is a mark that
moves by one place at a time, so no rule names a position and nothing depends on how long the
command or its answer is. All positions read the marks in the same layer, so they take the same
decision there and each does its own part of it.

Parsing (the paper's Table 5). The stack lies on `symbol`, `depth` marking its two top places, and
every production that reduces it is written to `node`, where `cursor` is. The grammar is

    C -> walk | look | run | jump | turn                     A -> C and
    C -> C left | C opposite left | C around left | ...      B -> C after
    C -> C twice | C thrice                                  C -> A C | B C

so that productions come out in postorder: a node's only or second child is its left neighbour,
and the parent of such a child its right neighbour.

Decoding. The cursor walks the tree from its root, counting in `visits` how often it has come to
each node: "thrice" goes down three times before it goes up. The node under the cursor says which
action the pen writes. Only the two halves of a conjunction are out of each other's reach: the
cursor jumps between the root and the half (A or B), of which a command has at most one each.
"""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from typing import Any

from espalier.data import scan as task
from espalier.errors import ProgramError
from espalier.language import (
    Program,
    TextFormat,
    check_range,
    halt_spec,
    program_spec,
    qkv,
    v_relative,
    var,
)
from espalier.zoo.entry import Entry
from espalier.zoo.scan_tree import HALVES, MOST_VISITS, NODES, ROOTS, STEPS, VERBS, Move

State = MutableMapping[str, Any]

TOKENS = ("START", *task.WORDS, "STOP", "MEMORY", "END")
SYMBOLS = ("EMPTY", "START", *task.WORDS, "C", "A", "B")
ACTIONS = ("NONE", *task.ACTIONS)
PARSE, DECODE, DONE = range(3)

# What may come after a C that is not yet complete.
FOLLOWERS = tuple(word for word in task.WORDS if word not in VERBS)


# The most actions that a command asks for.
LONGEST = 48


def scan(outputs: int = LONGEST) -> Entry:
    """Room for `outputs` actions; the longest answer of the data set has 48."""
    outputs = check_range("outputs", outputs)
    return Entry(
        program=_program(_text(outputs)),
        encode=lambda command: _encode(command, outputs),
        decode=_decode,
        sample=lambda source, size: task.sample_command(source, size),
        expected=task.translate,
    )


def _text(outputs: int) -> TextFormat:
    """How commands are written that ask for up to `outputs` actions."""
    return TextFormat(
        symbols=("", *task.WORDS),
        answers=(None, *task.ACTIONS),
        unit="words",
        before=(TOKENS.index("START"),),
        after=(TOKENS.index("STOP"),),
        fill=TOKENS.index("MEMORY"),
        fill_to=outputs,
        end=(TOKENS.index("END"),) * 2,
        pattern=_commands(outputs),
        example="jump twice" if outputs > 1 else "jump",
        about="" if outputs >= LONGEST else f"commands of up to {outputs} actions",
        join=" ",
    )


def _commands(outputs: int) -> str:
    """A regular expression for commands of up to so many actions."""
    verb, side = f"({'|'.join(task.VERBS)})", "(left|right)"
    # How many actions a phrase asks for; "twice" and "thrice" multiply them.
    phrases = [(verb, 1), (f"{verb} {side}", 2), (f"{verb} opposite {side}", 3)]
    phrases += [(f"{verb} around {side}", 8), (f"turn {side}", 1)]
    phrases += [(f"turn opposite {side}", 2), (f"turn around {side}", 4)]
    often = [("", 1), (" twice", 2), (" thrice", 3)]
    sizes = {one + times: size * n for one, size in phrases for times, n in often}

    def up_to(most: int) -> str:
        return "|".join(clause for clause, size in sizes.items() if size <= most)

    if outputs >= LONGEST:
        return f"({up_to(outputs)})( (and|after) ({up_to(outputs)}))?"
    pairs = [
        f"({'|'.join(c for c, size in sizes.items() if size == first)}) (and|after) "
        f"({up_to(outputs - first)})"
        for first in sorted(set(sizes.values()))
        if first < outputs
    ]
    return "|".join([up_to(outputs), *pairs])


def _program(text: TextFormat) -> Program:
    def at_start(token: int) -> bool:
        return token == TOKENS.index("START")

    return program_spec(
        variables={
            "phase": var(3, default=PARSE),
            "token": var(len(TOKENS), input_init_fn=lambda token: token),
            "first": var(2, input_init_fn=at_start),
            "last": var(2, input_init_fn=lambda token: token == TOKENS.index("END")),
            "one": var(2, default=1),
            "top_depth": var(3, default=1),
            "next_depth": var(3, default=2),
            # the input buffer: a mark on the next word
            "reading": var(2, input_init_fn=at_start),
            # the stack: 1 marks its top, 2 what is below
            "depth": var(3, input_init_fn=at_start),
            "symbol": var(
                len(SYMBOLS),
                input_init_fn=lambda token: SYMBOLS.index("START") if token == 0 else 0,
            ),
            # the tree: productions, a mark where the next one goes, later the walker's place
            "cursor": var(2, input_init_fn=at_start),
            "node": var(len(NODES)),
            "visits": var(MOST_VISITS),
            # the answer
            "pen": var(2, input_init_fn=at_start),
            "action": var(len(ACTIONS)),
        },
        heads={
            "word": qkv("one", "reading", "token"),
            "top": qkv("top_depth", "depth", "symbol"),
            "below": qkv("next_depth", "depth", "symbol"),
            "here": qkv("one", "cursor", "node"),
            "visits_here": qkv("one", "cursor", "visits"),
            "reading_left": v_relative("reading", -1),
            "depth_left": v_relative("depth", -1),
            "depth_right": v_relative("depth", 1),
            "depth_right_2": v_relative("depth", 2),
            "cursor_left": v_relative("cursor", -1),
            "cursor_right": v_relative("cursor", 1),
            "pen_left": v_relative("pen", -1),
        },
        ffn_fn=_step,
        output_name="action",
        input_range=len(TOKENS),
        halt_spec=halt_spec("phase", halt_value=DONE),
        vocabulary=TOKENS,
        text=text,
        value_names={
            "phase": ("PARSE", "DECODE", "DONE"),
            "symbol": SYMBOLS,
            "node": NODES,
            "action": ACTIONS,
            **dict.fromkeys(("depth", "top_depth", "next_depth"), ("-", "top", "below")),
        },
    )


def _step(z: State) -> None:
    if z["phase"] == PARSE:
        _parse(z)
    elif z["phase"] == DECODE:
        _walk(z)


def _parse(z: State) -> None:
    """Reduce if the top of the stack completes a production, else shift the next word."""
    match SYMBOLS[z["top"]]:
        case ("walk" | "look" | "run" | "jump" | "turn") as verb:
            _reduce(z, f"C -> {verb}")
        case ("twice" | "thrice") as often:
            _reduce(z, f"C -> C {often}")
        case "and":
            _reduce(z, "A -> C and")
        case "after":
            _reduce(z, "B -> C after")
        case ("left" | "right") as side:
            match SYMBOLS[z["below"]]:
                case "C":
                    _reduce(z, f"C -> C {side}")
                case ("opposite" | "around") as how:
                    _reduce(z, f"C -> C {how} {side}")
        case "C" if TOKENS[z["word"]] == "STOP":
            match SYMBOLS[z["below"]]:
                case ("A" | "B") as half:
                    _reduce(z, f"C -> {half} C")
                case "START":
                    z["phase"] = DECODE
                    _move_cursor(z, Move.DOWN)
        case "C" if TOKENS[z["word"]] in FOLLOWERS:
            _shift(z)
        case "START" if TOKENS[z["word"]] == "START":
            _move_right(z, "reading")  # START lies on the stack already
        case "START" | "A" | "B" | "opposite" | "around":
            _shift(z)


def _shift(z: State) -> None:
    """The next word goes onto the stack."""
    _move_right(z, "reading")
    match z["depth"]:
        case 1:
            z["depth"] = 2
        case 2:
            z["depth"] = 0
        case 0 if not z["first"] and z["depth_left"] == 1:
            z["depth"] = 1
            word = TOKENS[z["word"]]
            if word in task.WORDS and z["symbol"] == SYMBOLS.index("EMPTY"):
                z["symbol"] = SYMBOLS.index(word)


def _reduce(z: State, production: str) -> None:
    """The right side's symbols become the left side, and the production goes into the tree."""
    left, right = production.split(" -> ")
    if z["cursor"] and z["node"] == NODES.index("NONE"):
        z["node"] = NODES.index(production)
    _move_cursor(z, Move.UP)
    places = right.split()
    for depth, symbol in enumerate(reversed(places), start=1):
        if z["depth"] == depth and z["symbol"] == SYMBOLS.index(symbol):
            z["symbol"] = SYMBOLS.index(left if depth == len(places) else "EMPTY")
    _pop(z, len(places) - 1)


def _pop(z: State, count: int) -> None:
    """The marks on the stack's two top places go `count` to the left."""
    if count == 0:
        return
    if z["depth"]:
        z["depth"] = max(0, z["depth"] - count)
    elif not z["last"]:
        if count == 1 and z["depth_right"] == 2:
            z["depth"] = 2
        elif count == 2 and z["depth_right"] == 2:
            z["depth"] = 1
        elif count == 2 and z["depth_right_2"] == 2:
            z["depth"] = 2


def _walk(z: State) -> None:
    """The node under the cursor has its next step."""
    steps, visits = STEPS[z["here"]], z["visits_here"]
    if not steps:
        z["phase"] = DONE
    elif visits < len(steps):
        action, move = steps[visits]
        if action != "NONE":
            if z["pen"] and z["action"] == ACTIONS.index("NONE"):
                z["action"] = ACTIONS.index(action)
            _move_right(z, "pen")
        if z["cursor"] and z["visits"] == visits:
            z["visits"] = (visits + 1) % len(steps)
        _move_cursor(z, move)


def _move_cursor(z: State, move: Move) -> None:
    match move:
        case Move.STAY:
            pass
        case Move.UP:
            _move_right(z, "cursor")
        case _ if z["cursor"]:
            z["cursor"] = 0
        case Move.DOWN:
            z["cursor"] = int(not z["last"] and z["cursor_right"] == 1)
        case Move.TO_HALF:
            z["cursor"] = int(z["node"] in HALVES)
        case Move.TO_ROOT:
            z["cursor"] = int(z["node"] in ROOTS)


def _move_right(z: State, mark: str) -> None:
    if z[mark]:
        z[mark] = 0
    elif not z["first"]:
        z[mark] = z[f"{mark}_left"]


def _encode(command: str, outputs: int) -> list[int]:
    words = task.check_command(command)
    wanted = len(task.translate(command).split())
    if wanted > outputs:
        raise ProgramError(
            f"{command!r} asks for {wanted} actions, but there is room for {outputs} actions; "
            f'load("scan", outputs={wanted})'
        )
    room = max(len(words) + 2, outputs)
    written = ["START", *words, "STOP"]
    tokens = written + ["MEMORY"] * (room - len(written)) + ["END", "END"]
    return [TOKENS.index(token) for token in tokens]


def _decode(actions: Iterable[int]) -> str:
    return " ".join(ACTIONS[action] for action in actions if ACTIONS[action] != "NONE")
