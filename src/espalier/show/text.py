"""What every text, page and figure shares: counting, cutting, leaving out the middle."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def count(number: int, noun: str) -> str:
    """So many of them.

    >>> count(1, "layer"), count(1200, "layer")
    ('1 layer', '1,200 layers')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def shorten(text: str, most: int) -> str:
    """The text in at most `most` characters; what cannot be seen is written as in Python.

    >>> shorten("interdependence", 8), shorten("a\\n", 8)
    ('interde…', 'a\\\\n')
    """
    shown = text if text.isprintable() else repr(text)[1:-1]
    return shown if len(shown) <= most else f"{shown[: most - 1]}…"


def ends(number: int, most: int) -> list[int]:
    """The numbers below `number`, the middle left out where there are more than `most`.

    >>> ends(10, 3)
    [0, 1, 9]
    """
    if number <= most:
        return list(range(number))
    return [*range(most - most // 2), *range(number - most // 2, number)]


def without_middle(words: Sequence[str], most: int, gap: str = "…") -> list[str]:
    """The words, with `gap` in place of the middle where there are more than `most`.

    >>> without_middle("abcdef", 3)
    ['a', 'b', '…', 'f']
    """
    kept = [words[place] for place in ends(len(words), most)]
    return (
        kept if len(words) <= most else [*kept[: most - most // 2], gap, *kept[most - most // 2 :]]
    )


def first_lines(lines: Iterable[str], most: int, noun: str = "") -> list[str]:
    """At most `most` of the lines, and one that counts the others.

    >>> first_lines("abcd", 2, "rules")
    ['a', 'b', '... and 2 more rules']
    """
    listed = list(lines)
    left = len(listed) - most
    return listed if left <= 0 else [*listed[:most], f"... and {left:,} more {noun}".rstrip()]
