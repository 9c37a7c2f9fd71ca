"""Random MLP functions: small trees of reads and writes that can be called and can print."""

from __future__ import annotations

from collections.abc import Collection, Mapping, MutableMapping, Sequence
from dataclasses import dataclass

from dice import Dice
from espalier.language import Variable


@dataclass(frozen=True)
class Assign:
    """Write a constant."""

    target: str
    value: object


@dataclass(frozen=True)
class Translate:
    """Write what a table says about the value read."""

    target: str
    source: str
    table: Mapping[object, object]


@dataclass(frozen=True)
class Fork:
    """Read, then do one of two blocks."""

    source: str
    choice: Mapping[object, int]
    blocks: tuple[tuple[Step, ...], ...]


Step = Assign | Translate | Fork


@dataclass(frozen=True)
class Function:
    """An `ffn_fn`: its steps, in order; a variable that was written reads as written."""

    steps: tuple[Step, ...]

    def __call__(self, z: MutableMapping[str, object]) -> None:
        run_steps(self.steps, z)

    def names(self) -> set[str]:
        """Every variable it may read or write."""
        return names_of(self.steps)


def run_steps(steps: Sequence[Step], z: MutableMapping[str, object]) -> None:
    for step in steps:
        match step:
            case Assign(target, value):
                z[target] = value
            case Translate(target, source, table):
                z[target] = table[z[source]]
            case Fork(source, choice, blocks):
                run_steps(blocks[choice[z[source]]], z)


def names_of(steps: Sequence[Step]) -> set[str]:
    found: set[str] = set()
    for step in steps:
        match step:
            case Assign(target, _):
                found |= {target}
            case Translate(target, source, _):
                found |= {target, source}
            case Fork(source, _, blocks):
                found |= {source}.union(*map(names_of, blocks))
    return found


@dataclass(frozen=True)
class Access:
    """What may be written and read; `guarded` variables only where `guard` is 1.

    A name that stands twice among `reads` comes up twice as often.
    """

    specs: Mapping[str, Variable]
    writes: Sequence[str]
    reads: Sequence[str]
    guard: str = ""
    guarded: Collection[str] = ()


def random_function(dice: Dice, access: Access) -> Function:
    """A function of at most four steps, at most three deep."""
    return Function(_block(dice, access, depth=2, longest=4))


def _block(dice: Dice, access: Access, *, depth: int, longest: int) -> tuple[Step, ...]:
    return tuple(_step(dice, access, depth) for _ in range(dice.number(0, longest)))


def _step(dice: Dice, access: Access, depth: int) -> Step:
    specs = access.specs
    kind = dice.pick(["assign", "translate", "translate", *["fork"] * 2 * depth])
    target, source = dice.pick(access.writes), dice.pick(access.reads)
    if kind == "assign":
        return Assign(target, dice.pick(specs[target].values))
    if kind == "translate":
        table = {value: dice.pick(specs[target].values) for value in specs[source].values}
        step = Translate(target, source, table)
    else:
        choice = {value: dice.number(0, 1) for value in specs[source].values}
        blocks = [_block(dice, access, depth=depth - 1, longest=2) for _ in range(2)]
        step = Fork(source, choice, tuple(blocks))
    if source in access.guarded:
        return Fork(access.guard, {0: 0, 1: 1}, ((), (step,)))
    return step
