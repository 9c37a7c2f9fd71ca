"""Numerical programs written in fractions, and what they do by definition: slow and obvious.

A recipe holds the fractions that its author means; the program that espalier is given has floats,
as any author would write them. Nothing here is shared with the machines under test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from random import Random

from espalier.language import Program, numerical_var, program_spec, qkv, var


@dataclass(frozen=True)
class Average:
    """A head: over positions of the same group, or over all; as its own buckets see it."""

    buckets: tuple[Fraction, ...]
    by_group: bool
    offsets: frozenset[int] | None


@dataclass(frozen=True)
class Recipe:
    """Numbers `x` that start by token, are averaged by heads, and are rewritten by a table."""

    buckets: tuple[Fraction, ...]
    first: tuple[Fraction, ...]  # by token
    groups: tuple[int, ...]  # by token
    heads: tuple[Average, ...]
    table: dict[tuple[int, int], int]  # own bucket and the first head's -> new bucket, if any
    causal: bool


@cache
def nearest(buckets: tuple[Fraction, ...], number: Fraction) -> int:
    """The number of the nearest bucket; of two as near, the lower."""
    return min(range(len(buckets)), key=lambda code: (abs(buckets[code] - number), code))


def run(recipe: Recipe, tokens: Sequence[int]) -> Iterator[tuple[list[list[int]], list[Fraction]]]:
    """After each layer: for each head, the bucket seen at each position; and every number."""
    numbers = [recipe.first[token] for token in tokens]
    groups = [recipe.groups[token] for token in tokens]
    while True:
        seen = [
            [nearest(head.buckets, mean) for mean in means(recipe, head, numbers, groups)]
            for head in recipe.heads
        ]
        for place, number in enumerate(numbers):
            own = nearest(recipe.buckets, number)
            if (own, seen[0][place]) in recipe.table:
                numbers[place] = recipe.buckets[recipe.table[own, seen[0][place]]]
        yield seen, list(numbers)


def means(
    recipe: Recipe, head: Average, numbers: Sequence[Fraction], groups: Sequence[int]
) -> list[Fraction]:
    """The mean that a head finds at every position."""
    if head.offsets is None and not recipe.causal:
        # Every position of a group finds the same.
        keys = groups if head.by_group else [0] * len(groups)
        found = {}
        for key in set(keys):
            members = Counter(n for n, k in zip(numbers, keys, strict=True) if k == key)
            found[key] = sum(n * times for n, times in members.items()) / members.total()
        return [found[key] for key in keys]
    result = []
    for here, group in enumerate(groups):
        chosen = [
            number
            for there, number in enumerate(numbers)
            if (head.offsets is None or there - here in head.offsets)
            and (there <= here or not recipe.causal)
            and (not head.by_group or groups[there] == group)
        ]
        result.append(sum(chosen, Fraction(0)) / len(chosen))
    return result


def build(recipe: Recipe) -> Program:
    """The program, in floats: outputs are what the first head's bucket is, `seenK` the others'."""
    floats = [float(bucket) for bucket in recipe.buckets]
    specs = [[float(bucket) for bucket in head.buckets] for head in recipe.heads]

    def step(z):
        for number, spec in enumerate(specs):
            z[f"seen{number}"] = spec.index(z[f"h{number}"])
        own = floats.index(z["x"])
        new = recipe.table.get((own, specs[0].index(z["h0"])))
        if new is not None:
            z["x"] = floats[new]

    seen = {f"seen{number}": var(len(spec)) for number, spec in enumerate(specs)}
    return program_spec(
        {
            "x": numerical_var(floats, input_init_fn=lambda token: float(recipe.first[token])),
            "group": var(max(recipe.groups) + 1, input_init_fn=lambda t: recipe.groups[t]),
            "all": var(1),
            **seen,
        },
        {
            f"h{number}": qkv(
                *(["group"] * 2 if head.by_group else ["all"] * 2),
                "x",
                head.offsets,
                numerical_var(specs[number]),
            )
            for number, head in enumerate(recipe.heads)
        },
        ffn_fn=step,
        output_name="seen0",
        input_range=len(recipe.first),
        causal=recipe.causal,
    )


# Random recipes

NATURAL: dict[str, Callable[[Random], Fraction]] = {
    "1/k": lambda dice: Fraction(1, dice.randint(1, dice.choice([6, 20, 50]))),
    "k/100": lambda dice: Fraction(dice.randint(0, 100), 100),
    "p/q": lambda dice: Fraction(dice.randint(-30, 30), dice.randint(1, 12)),
    "eighths": lambda dice: Fraction(dice.randint(-40, 40), 8),
    "whole": lambda dice: Fraction(dice.randint(0, dice.choice([1, 9, 1000]))),
    "powers of ten": lambda dice: dice.choice([-1, 1, 1]) * Fraction(10) ** dice.randint(-6, 6),
    "powers of two": lambda dice: Fraction(2) ** dice.randint(-20, 20),
    "measured": lambda dice: Fraction(dice.uniform(-3, 3)),
    "near": lambda dice: 1 + Fraction(dice.randint(0, 9), 10**6),
}


def random_recipe(dice: Random, *, long: bool = False) -> Recipe:
    """A recipe; for long inputs one whose heads average everything."""
    draw = NATURAL[dice.choice(list(NATURAL))]
    other = NATURAL[dice.choice(list(NATURAL))] if dice.random() < 0.2 else draw
    buckets = _buckets(dice, draw)
    tokens = dice.randint(2, 5)
    first = [dice.choice(buckets) if dice.random() < 0.6 else draw(dice) for _ in range(tokens)]
    causal = not long and dice.random() < 0.3
    heads = []
    for _ in range(dice.randint(1, 3)):
        own = buckets if dice.random() < 0.6 else _buckets(dice, other)
        offsets = None
        if not long and dice.random() < 0.3:
            offsets = frozenset([0, *dice.sample(range(-9, 10), dice.randint(1, 9))])
        heads.append(Average(own, not long and dice.random() < 0.5, offsets))
    pairs = [(own, seen) for own in range(len(buckets)) for seen in range(len(heads[0].buckets))]
    table = {
        pair: new
        for pair in pairs
        if dice.random() < 0.6 and (new := dice.randrange(len(buckets))) != pair[0]
    }
    groups = tuple(dice.randrange(2) for _ in range(tokens))
    return Recipe(buckets, tuple(first), groups, tuple(heads), table, causal)


def _buckets(dice: Random, draw: Callable[[Random], Fraction]) -> tuple[Fraction, ...]:
    found: set[Fraction] = set()
    size = dice.randint(2, 7)
    for _ in range(50):
        found.add(draw(dice))
        if len(found) == size:
            break
    return tuple(sorted(found if len(found) > 1 else {*found, max(found) + 1}))


def random_tokens(dice: Random, recipe: Recipe, longest: int) -> list[int]:
    """Random tokens, or two tokens in nearly even shares, where ties and majorities of one are."""
    length = dice.randint(1, longest)
    tokens = range(len(recipe.first))
    if dice.random() < 0.5:
        return [dice.choice(tokens) for _ in range(length)]
    one, another = dice.choice(tokens), dice.choice(tokens)
    share = max(0, min(length, length // 2 + dice.randint(-1, 1)))
    found = [one] * share + [another] * (length - share)
    dice.shuffle(found)
    return found
