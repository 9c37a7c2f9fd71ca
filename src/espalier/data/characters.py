"""Characters that no text has; a file that holds them is in another encoding than UTF-8."""

from __future__ import annotations

from espalier.errors import DataError


def refuse_nul(text: str, file: object, *, line: int = 1) -> None:
    """Raise if some text of a file has the character NUL; its first line has this number.

    >>> refuse_nul("the cat\\ns\\0a\\0t\\0", "a.txt", line=3)
    Traceback (most recent call last):
    espalier.errors.DataError: a.txt, line 4: the character NUL, which no text has; ...
    """
    place = text.find("\0")
    if place >= 0:
        raise DataError(
            f"{file}, line {line + text.count(chr(10), 0, place)}: the character NUL, which no "
            f"text has; is the file in UTF-16? Save it as UTF-8"
        )
