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
        """A row that it has in an ensemble, as it has it alone."""
        return row

    def row_beside(self, row: Row) -> Row:
        """A row that it has alone, as it has it in an ensemble."""
        return row

    def data_alone(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """What its manifest says of its data, from what an ensemble's says."""

    @staticmethod
    def data_beside(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """What an ensemble's manifest says of its data, from what its members' say."""
