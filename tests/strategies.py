"""Random well-formed programs, small enough to run by definition, and inputs for them.

A blueprint is the keyword arguments of `program_spec`, so that a test can spoil one of them.
Numbers are multiples of 1/8: sums and halves of them are exact. About half of the programs only
read heads that are defined wherever they are read, and so run strictly; the others read anything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from dice import Dice
from espalier.language import (
    Atom,
    Categorical,
    Head,
    Numerical,
    Program,
    Rule,
    SetValued,
    Variable,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from functions import Access, Function, Translate, random_function

Blueprint = dict[str, object]
Specs = dict[str, Variable]

EDGE = "edge"  # 1 from the third position on: a head that looks two to the left is defined there
CLOCK = "clock"  # counts up and stays at its last value, where the program halts
DONE = "done"  # written by rules like any other variable; the program halts at 1


@dataclass(frozen=True)
class Table:
    """A function of an index that prints itself."""

    values: tuple[object, ...]

    def __call__(self, index: int) -> object:
        return self.values[index]


@dataclass(frozen=True)
class Case:
    """A program, a ragged batch for it, and a number of layers that makes every run end."""

    program: Program
    batch: list[list[int]]
    max_layers: int | None


def programs(*, strict: bool | None = None) -> st.SearchStrategy[Program]:
    """Programs; `strict` as in `blueprints`."""
    return blueprints(strict=strict).map(lambda blueprint: program_spec(**blueprint))


@st.composite
def blueprints(draw, *, strict: bool | None = None) -> Blueprint:
    """Arguments of `program_spec`; a strict one never has a rule read an undefined head."""
    return random_blueprint(Dice(draw), strict=strict)


@st.composite
def cases(draw, *, strict: bool | None = None, causal: bool | None = None) -> Case:
    dice = Dice(draw)
    program = program_spec(**random_blueprint(dice, strict=strict, causal=causal))
    batch = [random_input(dice, program) for _ in range(dice.number(1, 4))]
    surely_halts = program.halt is not None and program.halt.variable == CLOCK
    return Case(program, batch, None if surely_halts and dice.chance(70) else dice.number(0, 5))


@st.composite
def specs_and_rules(draw) -> tuple[Specs, list[Rule]]:
    """Variables, and rules of one of them that may well hold together."""
    dice = Dice(draw)
    specs = random_variables(dice, input_range=1, position_range=None)
    several = [name for name in specs if len(specs[name].values) > 1]
    writes = [dice.pick(several)] if several else []
    access = Access(specs, writes, list(specs))
    return specs, [random_rule(dice, access) for _ in range(dice.number(0, 7) if writes else 0)]


@st.composite
def specs_and_function(draw) -> tuple[Specs, Function]:
    """Variables, and a function that reads and writes them."""
    dice = Dice(draw)
    specs = random_variables(dice, input_range=1, position_range=None)
    return specs, random_function(dice, Access(specs, list(specs), list(specs)))


def random_blueprint(
    dice: Dice,
    *,
    strict: bool | None = None,
    causal: bool | None = None,
    function: bool | None = None,
) -> Blueprint:
    """As in `blueprints`; `function` says whether the MLP is a function, and not rules."""
    strict = dice.chance(50) if strict is None else strict
    causal = dice.chance(35) if causal is None else causal
    halting = dice.pick([None, DONE, CLOCK, CLOCK])
    input_range = dice.number(1, 4)
    position_range = dice.pick([None, None, *range(2, 8)])
    own = random_variables(dice, input_range, position_range)
    if halting:
        size = 2 if halting == DONE else dice.number(2, 5)
        first = _start(dice, lambda: dice.number(0, size - 1), input_range, position_range)
        own[halting] = var(size, **first)
    if strict and position_range:
        own[EDGE] = var(2, position_init_fn=Table((0, 0, *[1] * (position_range - 2))))
    heads, specs = random_heads(dice, own, causal=causal)
    outputs = [name for name in own if isinstance(own[name], Categorical)]
    # What a causal program writes it can read again, if there are tokens enough.
    readable = [name for name in outputs if causal and own[name].size <= input_range]
    return {
        "variables": own,
        "heads": heads,
        "output_name": dice.pick(readable or outputs),
        "input_range": input_range,
        "position_range": position_range,
        "halt_spec": halt_spec(halting, own[halting].size - 1) if halting else None,
        "causal": causal,
        **random_mlp(dice, _access(own, heads, specs, strict=strict), function),
    }


def random_input(dice: Dice, program: Program, *, longest: int = 7) -> list[int]:
    length = dice.number(1, min(longest, program.position_range or longest))
    return [dice.number(0, program.input_range - 1) for _ in range(length)]


# Variables


def random_variables(dice: Dice, input_range: int, position_range: int | None) -> Specs:
    """Up to three categorical, two numerical and one set variable; most share one range."""
    size = dice.number(2, 4)
    specs: Specs = {}

    def start(choose: Callable[[], object]) -> dict[str, object]:
        return _start(dice, choose, input_range, position_range)

    for number in range(dice.number(1, 3)):
        own = dice.number(1, 4) if dice.chance(20) else size
        specs[f"c{number}"] = var(own, **start(lambda own=own: dice.number(0, own - 1)))
    for number in range(dice.number(0, 2)):
        values = random_buckets(dice)
        pool = [eighth / 8 for eighth in range(-24, 25)] if dice.chance(40) else values
        specs[f"n{number}"] = numerical_var(values, **start(lambda pool=pool: dice.pick(pool)))
    if dice.chance(65):
        subsets = [frozenset(n for n in range(size) if bits >> n & 1) for bits in range(1 << size)]
        sets = dice.some(subsets, least=1, most=4)
        specs["s0"] = set_var(sets, size, **start(lambda: dice.pick(sets)))
    return specs


def random_buckets(dice: Dice) -> tuple[float, ...]:
    return tuple(sorted(quarter / 4 for quarter in dice.some(range(-6, 7), least=2, most=4)))


def _start(
    dice: Dice, choose: Callable[[], object], input_range: int, position_range: int | None
) -> dict[str, object]:
    """One of the three ways to start: from the input, from the position, by a constant."""
    match dice.pick(["constant", "input", "position"]):
        case "input":
            return {"input_init_fn": Table(tuple(choose() for _ in range(input_range)))}
        case "position" if position_range is not None:
            return {"position_init_fn": Table(tuple(choose() for _ in range(position_range)))}
    return {"default": choose()}


# Heads


def random_heads(dice: Dice, own: Specs, *, causal: bool) -> tuple[dict[str, Head], Specs]:
    """Up to three heads, and the specs of every variable, their outputs included.

    A causal program's heads may look ahead, but not only ahead.
    """
    heads: dict[str, Head] = {}
    specs = dict(own)
    for name in ["h0", "h1", "h2"][: dice.number(0, 3)]:
        head = random_head(dice, own)
        if causal and head.relative_positions and min(head.relative_positions) > 0:
            nearest = min(head.relative_positions)
            away = {-nearest} if head.query is None else head.relative_positions | {-nearest}
            head = replace(head, relative_positions=frozenset(away))
        heads[name] = head
        specs[name] = head.output_spec or specs[head.value]
    return heads, specs


def random_head(dice: Dice, specs: Specs) -> Head:
    """A third each: at an offset, matching a value, matching a set (where there is one)."""
    kind = dice.pick(["offset", "value", "set"])
    value = dice.pick([name for name in specs if not isinstance(specs[name], SetValued)])
    output = random_output(dice, specs[value]) if dice.chance(40) else None
    if kind == "offset":
        return v_relative(value, dice.pick([-1, 0, 1, -2, 2]), output_spec=output)
    key = dice.pick([name for name in specs if isinstance(specs[name], Categorical)])
    fitting = [name for name in specs if getattr(specs[name], "size", None) == specs[key].size]
    sets = [name for name in fitting if isinstance(specs[name], SetValued)]
    query = dice.pick(sets if kind == "set" and sets else [key, *fitting])
    offsets = dice.some([0, -1, 1, -2, 2, -3, 3, -9, 9], least=1, most=4)
    return qkv(query, key, value, offsets if dice.chance(35) else None, output_spec=output)


def random_output(dice: Dice, value: Variable) -> Variable:
    """Other buckets, between which a mean falls; or a wider range."""
    if isinstance(value, Numerical):
        return numerical_var(random_buckets(dice))
    return var(value.size + dice.number(0, 2))


def _access(own: Specs, heads: dict[str, Head], specs: Specs, *, strict: bool) -> Access:
    writes = [name for name in own if name not in (EDGE, CLOCK)]
    safe = [name for name, head in heads.items() if not strict or _always_defined(head, own)]
    guarded = [
        name
        for name, head in heads.items()
        if EDGE in own and name not in safe and _defined_at_edge(head)
    ]
    return Access(specs, writes, [*own, *safe * 2, *guarded * 2], EDGE, guarded)


def _always_defined(head: Head, own: Specs) -> bool:
    """Whether the head reports something at every position of every input."""
    selects_itself = head.relative_positions is None or 0 in head.relative_positions
    if head.query != head.key or not selects_itself:
        return False
    agrees = head.value == head.key or isinstance(own[head.value], Numerical)
    return head.relative_positions == {0} or agrees


def _defined_at_edge(head: Head) -> bool:
    return head.query is None and head.relative_positions <= {-1, -2}


# Rules


def random_mlp(dice: Dice, access: Access, function: bool | None) -> Blueprint:
    """Conflict-free rules, or a function; the clock ticks in either."""
    last = access.specs[CLOCK].size - 1 if CLOCK in access.specs else 0
    if dice.chance(50) if function is None else function:
        tick = Translate(CLOCK, CLOCK, {now: min(now + 1, last) for now in range(last + 1)})
        steps = random_function(dice, access).steps
        return {"ffn_fn": Function((*steps, tick) if last else steps)}
    rules = [Rule({}, CLOCK, now, now + 1) for now in range(last)]
    writes = [name for name in access.writes if len(access.specs[name].values) > 1]
    if writes:
        for _ in range(dice.number(0, 9)):
            rule = random_rule(dice, access)
            if all(exclusive(rule, other) for other in rules):
                rules.append(rule)
    return {"rules": rules}


def random_rule(dice: Dice, access: Access) -> Rule:
    specs = access.specs
    output = dice.pick([name for name in access.writes if len(specs[name].values) > 1])
    old, new = dice.some(specs[output].values, least=2, most=2)
    atoms = {output: (old,)}
    for _ in range(dice.number(0, 3)):
        name = dice.pick(access.reads)
        most = 2 if dice.chance(20) else 1
        atoms.setdefault(name, tuple(dice.some(specs[name].values, least=1, most=most)))
    if any(name in access.guarded for name in atoms):
        atoms[access.guard] = (1,)
    return Rule([Atom(name, values) for name, values in atoms.items()], output, old, new)


def exclusive(one: Rule, other: Rule) -> bool:
    """Whether the two rules write different variables or can never hold together."""
    theirs = {atom.variable: set(atom.values) for atom in other.antecedent}
    return one.output != other.output or any(
        not theirs.get(atom.variable, set(atom.values)) & set(atom.values)
        for atom in one.antecedent
    )
