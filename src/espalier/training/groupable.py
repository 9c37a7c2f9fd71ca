"""Configs whose runs can be trained as one ensemble, and given folders of their own afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from espalier.runs import Row
from espalier.training.configs import Recipe
from espalier.training.train import Trainable


class Groupable(Trainable, Protocol):
    """A config that says how its run in an ensemble differs from the same run alone."""

    recipe: Recipe

    @property
    def member(self) -> str:
        """Its name in an ensemble, different from the others'."""

    def row_alone(self, row: Row) -> Row:
        """A row of its run in an ensemble, as that of its run alone."""
        return row

    def row_beside(self, row: Row) -> Row:
        """A row of its run alone, as that of its run in an ensemble."""
        return row

    def data_alone(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """The entry for its data in its manifest, from that in an ensemble's."""

    @staticmethod
    def data_beside(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """The entry for the data in an ensemble's manifest, from those in its members'."""
