"""What every result can do: show itself, become a table, a figure or a file; in a short repr.

Results are defined at every level of the package and drawn at a high one, in `show`. A result knows
only this base: `show` registers a view for each type, and the top of the package says how `show` is
imported when a view is first needed. No room imports upwards.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from espalier.errors import ConfigError, FileError
from espalier.files import FIGURE_SUFFIXES, FRAME_SUFFIXES, write_figure, write_frame, write_text

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

T = TypeVar("T")

PAGE_SUFFIXES = (".html", ".htm")
# The space that a repr may take on a screen.
MOST_LINES, MOST_COLUMNS, MOST_CHARACTERS = 12, 120, 1_500


@dataclass(frozen=True)
class View(Generic[T]):
    """How results of one type look: in a terminal, in a notebook, as a page, as a figure."""

    text: Callable[[T], str]
    html: Callable[[T], str]
    page: Callable[[T], str]
    figure: Callable[[T, Axes | None], Figure] | None = None


_views: dict[type, View[Any]] = {}


def _load_nothing(module: str) -> None:
    """What loads views before `load_views_with` is called."""


_load: Callable[[str], None] = _load_nothing


def load_views_with(load: Callable[[str], None]) -> None:
    """Let `load` register the views of a type when one is first needed, given its module's name."""
    global _load
    _load = load


def register(kind: type[T], view: View[T]) -> None:
    """Show every result of type `kind`, and of its subclasses without a view, by `view`."""
    _views[kind] = view


def view_of(kind: type) -> View[Any] | None:
    """The view of a type or of the nearest type that it inherits from, a plain one for any Result.

    None if nothing was registered, which is so only without the top of the package.
    """
    for base in kind.__mro__:
        if base not in _views and issubclass(base, Result):
            _load(base.__module__)
        if base in _views:
            return _views[base]
    return None


class Result:
    """A value that shows itself, becomes a table, a figure and a file.

    A subclass holds data and says how it becomes a table; `show` draws it, or shows text and table
    of one that it does not know. A dataclass among them is declared with `repr=False`, so that it
    does not write a repr of its own.

    >>> @dataclass(repr=False)
    ... class Counts(Result):
    ...     counts: dict[str, int]
    ...     def to_frame(self):
    ...         import pandas
    ...         return pandas.DataFrame(self.counts.items(), columns=["word", "count"])
    >>> Counts({"a": 2})
    Counts(counts={'a': 2})
    >>> Counts({"a": 2}).to_frame()
      word  count
    0    a      2
    """

    __slots__ = ()

    def to_frame(self) -> pandas.DataFrame:
        """A table with a row for each part of the result."""
        raise ConfigError(f"a {type(self).__name__} is no table; str() and to_html() show it")

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """A figure of the result, drawn on `ax` where one is given."""
        view = view_of(type(self))
        if view is None or view.figure is None:
            raise ConfigError(f"a {type(self).__name__} has no figure; str() and to_html() show it")
        return view.figure(self, ax)

    def to_html(self) -> str:
        """One self-contained page, which needs no network."""
        view = view_of(type(self))
        if view is None:
            raise ConfigError(f"a {type(self).__name__} has no page; str() shows it")
        return view.page(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a page (.html), a figure (.png, .svg, .pdf) or a table (.csv, .parquet, .json)."""
        suffix = Path(path).suffix.lower()
        if suffix not in self._suffixes():
            raise FileError(
                f"cannot save a {type(self).__name__} as {suffix or 'a file without suffix'!r} "
                f"({path}); use one of {', '.join(self._suffixes())}"
            )
        if suffix in PAGE_SUFFIXES:
            write_text(path, self.to_html())
        elif suffix in FIGURE_SUFFIXES:
            write_figure(path, self.plot())
        else:
            write_frame(path, self.to_frame())

    def _suffixes(self) -> tuple[str, ...]:
        """The suffixes that this result can be saved with."""
        view, kind = view_of(type(self)), type(self)
        drawn = kind.plot is not Result.plot or (view is not None and view.figure is not None)
        tabled = kind.to_frame is not Result.to_frame
        return (
            *(PAGE_SUFFIXES if view is not None else ()),
            *(FIGURE_SUFFIXES if drawn else ()),
            *(FRAME_SUFFIXES if tabled else ()),
        )

    def __str__(self) -> str:
        view = view_of(type(self))
        return describe(self) if view is None else view.text(self)

    def __repr__(self) -> str:
        return fit(str(self))

    def _repr_html_(self) -> str | None:
        view = view_of(type(self))
        return None if view is None else view.html(self)


class Described:
    """A value whose repr names its fields, each cut short, so that it fits on a screen.

    >>> @dataclass(repr=False)
    ... class Numbers(Described):
    ...     held: list[int]
    >>> Numbers(list(range(1000)))
    Numbers(held=[0, 1, 2, 3, 4, 5, ...])
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return fit(describe(self))


def describe(value: object) -> str:
    """The type of a value and its fields, each cut short."""
    if not is_dataclass(value):
        return object.__repr__(value)
    short = _Short()
    short.maxstring = short.maxother = 60
    named = [
        f"{one.name}={short.repr(getattr(value, one.name))}" for one in fields(value) if one.repr
    ]
    return f"{type(value).__name__}({', '.join(named)})"


class _Short(reprlib.Repr):
    """Python's own way to shorten reprs; an array is shown by its type and shape."""

    def repr_instance(self, x: Any, level: int) -> str:
        if hasattr(x, "shape") and hasattr(x, "dtype"):
            return f"{x.dtype} array of {' x '.join(map(str, x.shape)) or 'no dimensions'}"
        return super().repr_instance(x, level)


def fit(text: str) -> str:
    """The text, or as much of it as fits on a screen; what is left out is counted.

    >>> print(fit("\\n".join("abcdefghijklmnopqrstuvwxyz"))[-36:])
    k
    … 15 more lines: print() shows all
    """
    lines = text.splitlines()
    if len(lines) == 1 and len(text) > MOST_CHARACTERS:
        return f"{text[: MOST_CHARACTERS - 1]}…"
    if len(text) <= MOST_CHARACTERS and len(lines) <= MOST_LINES:
        return text
    few = MOST_LINES - 1 if len(lines) > MOST_LINES else MOST_LINES
    shown = [
        line if len(line) <= MOST_COLUMNS else f"{line[: MOST_COLUMNS - 1]}…" for line in lines
    ]
    more = [f"… {len(lines) - few} more lines: print() shows all"] if len(lines) > few else []
    return "\n".join([*shown[:few], *more])
