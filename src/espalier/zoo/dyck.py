"""Whether brackets of several kinds are balanced and nowhere nested too deeply: Dyck-(k, D).

A stack travels from left to right, one position per layer. Its height is one variable, and what is
at each level another, so that rules grow with the number of levels and not with that of stacks.
What lies above the height is left over and never read.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator

from espalier.errors import ProgramError
from espalier.language import (
    Head,
    RuleBuilder,
    TextFormat,
    Variable,
    as_items,
    check_range,
    halt_spec,
    program_spec,
    v_relative,
    var,
)
from espalier.zoo.entry import Entry, last_output
from espalier.zoo.writing import write_once

PAIRS = ("()", "[]", "{}", "<>")


def dyck(kinds: int = 2, depth: int = 8) -> Entry:
    """Brackets of `kinds` kinds, at most `depth` deep; n layers for n of them."""
    kinds, depth = check_range("kinds", kinds), check_range("depth", depth)
    if kinds > len(PAIRS):
        raise ProgramError(f"kinds is {kinds}; there are 1 to {len(PAIRS)}: {' '.join(PAIRS)}")
    opening, closing = ("".join(pair[side] for pair in PAIRS[:kinds]) for side in (0, 1))
    start = 2 * kinds
    variables: dict[str, Variable] = {
        "token": var(start + 1, input_init_fn=lambda token: token),
        "height": var(depth + 2),  # the last value is for strings that are lost
        **{f"level_{level}": var(kinds) for level in range(1, depth + 1)},
        "balanced": var(2, input_init_fn=lambda token: token == start),
        "done": var(2, input_init_fn=lambda token: token == start),
    }
    heads = {
        f"{name}_left": v_relative(name, -1)
        for name in variables
        if name not in ("token", "balanced")
    }
    program = program_spec(
        variables,
        heads,
        rules=_rules(variables, heads, kinds, depth),
        output_name="balanced",
        input_range=start + 1,
        halt_spec=halt_spec("done"),
        vocabulary=[*opening, *closing, "START"],
        text=TextFormat(
            symbols=(*opening, *closing),
            answers=("False", "True"),
            before=(start,),
            example="([])",
            least=0,
            choose="last",
        ),
        value_names={
            "height": (*map(str, range(depth + 1)), "lost"),
            **{f"level_{level}": PAIRS[:kinds] for level in range(1, depth + 1)},
        },
    )
    return Entry(
        program=program,
        encode=lambda text: [start, *map((opening + closing).index, _brackets(text, kinds))],
        decode=lambda outputs: bool(last_output(outputs)),
        sample=lambda source, size: _sample(source, size, kinds, depth),
        expected=lambda text: _is_balanced(_brackets(text, kinds), depth),
    )


def _rules(
    variables: dict[str, Variable], heads: dict[str, Head], kinds: int, depth: int
) -> RuleBuilder:
    builder = RuleBuilder(variables, heads)
    for done, ready in builder.get("done", "done_left"):
        if not done and ready:
            builder.set("done", 1)
            for token, height in builder.get("token", "height_left"):
                if token < kinds:
                    _push(builder, token, height, depth)
                elif token < 2 * kinds:
                    _pop(builder, token - kinds, height, depth)
            _copy_levels(builder, depth)
    return builder


def _push(builder: RuleBuilder, kind: int, height: int, depth: int) -> None:
    write_once(builder, "height", min(height + 1, depth + 1))
    if height < depth:
        write_once(builder, f"level_{height + 1}", kind)


def _pop(builder: RuleBuilder, kind: int, height: int, depth: int) -> None:
    lost = depth + 1
    if height in (0, lost):
        write_once(builder, "height", lost)
        return
    for top in builder.get(f"level_{height}_left"):
        write_once(builder, "height", height - 1 if top == kind else lost)
        if top == kind and height == 1:
            write_once(builder, "balanced", 1)


def _copy_levels(builder: RuleBuilder, depth: int) -> None:
    """What lies at or below the height stays; a push goes above it."""
    for height in builder.get("height_left"):
        for level in range(1, min(height, depth) + 1):
            if height <= depth:
                for kind in builder.get(f"level_{level}_left"):
                    write_once(builder, f"level_{level}", kind)


def _brackets(text: str | Iterable[str], kinds: int) -> str:
    known = "".join(PAIRS[:kinds])
    parts = [text] if isinstance(text, str) else as_items(text, f"brackets, as in {known!r},")
    brackets: list[str] = []
    for part in parts:
        if not isinstance(part, str):
            raise ProgramError(f"{text!r} holds {part!r}; the brackets are {known}")
        brackets += "".join(part.split())
    for place, symbol in enumerate(brackets):
        if symbol not in known:
            raise ProgramError(f"place {place} holds {symbol!r}; the brackets are {known}")
    return "".join(brackets)


def _is_balanced(brackets: str, depth: int) -> bool:
    stack: list[str] = []
    for symbol in brackets:
        pair = next(pair for pair in PAIRS if symbol in pair)
        if symbol == pair[0]:
            stack.append(symbol)
        elif not stack or stack.pop() != pair[0]:
            return False
        if len(stack) > depth:
            return False
    return not stack


def _sample(source: random.Random, size: int, kinds: int, depth: int) -> str:
    """A walk that mostly stays balanced, with a slip in every other one."""
    brackets = list(_walk(source, size, kinds, depth))
    if source.random() < 0.5:
        place = source.randrange(len(brackets))
        brackets[place] = source.choice("".join(PAIRS[:kinds]))
    return "".join(brackets)


def _walk(source: random.Random, size: int, kinds: int, depth: int) -> Iterator[str]:
    stack: list[str] = []
    for left in range(size + size % 2, 0, -1):
        full = len(stack) == min(depth, left)
        if not full and (not stack or source.random() < 0.5):
            pair = source.choice(PAIRS[:kinds])
            stack.append(pair)
            yield pair[0]
        else:
            yield stack.pop()[1]
