"""Buckets for numbers of which some need not be distinguished."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class Bucketed:
    """The buckets of a numerical variable, and which of them stand for which value."""

    buckets: list[float]
    groups: list[tuple[tuple[float, ...], Any]]


def group(numbers: Iterable[tuple[Fraction, Any]], seen_as: Callable[[Any], Any]) -> Bucketed:
    """Buckets that distinguish numbers where `seen_as` of their values differ.

    Of neighbours that look the same only the first and the last are buckets, so that boundaries
    lie where they would with a bucket for each number.
    """
    ordered = sorted(numbers, key=lambda pair: float(pair[0]))
    found = []
    for _, same in itertools.groupby(ordered, key=lambda pair: seen_as(pair[1])):
        members = list(same)
        ends = dict.fromkeys(float(number) for number, _ in (members[0], members[-1]))
        found.append((tuple(ends), members[0][1]))
    buckets = [bucket for ends, _ in found for bucket in ends]
    if len(buckets) == 1:
        buckets.append(buckets[0] + 1)
    return Bucketed(buckets, found)
