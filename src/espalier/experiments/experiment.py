"""What an experiment is: settings by scale, rows, a table and a picture."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from espalier.errors import ConfigError, is_one_of, nearest
from espalier.runs import Row

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from espalier.experiments.cache import RunCache

Scale = Literal["smoke", "small", "paper"]
T = TypeVar("T")

__all__ = ["Experiment", "Row", "Scale", "check_scale", "parts_of", "short_digest"]


@dataclass(frozen=True)
class Experiment:
    """One figure or table of a paper.

    `measure` needs torch, numpy and the packages in `needs`, so rows can be computed where little
    else is installed. Of several models, only those whose names have all words in `drawn` are
    drawn.
    """

    summary: str
    config: Callable[[Scale], Any]
    measure: Callable[[Any, RunCache], list[Row]]
    tabulate: Callable[[pandas.DataFrame], pandas.DataFrame]
    draw: Callable[[pandas.DataFrame], Figure]
    drawn: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    def refuse_lacking(self, name: str) -> None:
        """Raise if a package that its rows need is missing, before anything is trained."""
        if lacking := " and ".join(one for one in self.needs if find_spec(one) is None):
            raise ConfigError(f"the rows of {name} need {lacking}; install it before training")


def check_scale(scale: Any) -> Scale:
    """The scale, if there is one of that name."""
    if not is_one_of(scale, get_args(Scale)):
        raise ConfigError(f"there is no scale {scale!r}; {nearest(scale, get_args(Scale))}")
    found: Scale = scale
    return found


def short_digest(settings: dict[str, Any]) -> str:
    """Ten letters: the same for equal settings, and different for others."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:10]


def parts_of(config: Any, kind: type[T] | tuple[type[T], ...]) -> list[T]:
    """Every part of a config that is of this kind, each once."""
    if isinstance(config, kind):
        return [config]
    parts: tuple[Any, ...] = config if isinstance(config, tuple) else ()
    if is_dataclass(config):
        parts = tuple(getattr(config, one.name) for one in fields(config))
    return list(dict.fromkeys(found for part in parts for found in parts_of(part, kind)))
