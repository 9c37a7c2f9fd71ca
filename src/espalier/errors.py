"""One family of errors: each names the culprit, what was found and what to do.

Everything that espalier refuses on purpose is an `EspalierError`; anything else is a bug.
"""

from __future__ import annotations

import difflib
import operator
import sys
import unicodedata
from collections.abc import Iterable

LARGEST_SEED = (1 << 63) - 1
LARGEST_COUNT = 10**12  # of steps, words, strings: more than anybody makes
LONGEST_RUN = 10**8  # layers, or tokens written, where nothing else ends a run
FAULTS = (Exception, SystemExit)  # raised by a user's function; Ctrl-C is not among them


class EspalierError(Exception):
    """A request that cannot be carried out as given.

    >>> issubclass(FileError, EspalierError)
    True
    """


class ProgramError(EspalierError, ValueError):
    """A program, or an input given to it, is not well formed.

    >>> import espalier as es
    >>> es.interpret(es.zoo.load("parity-sum-modulo").program, [9], max_layers=1)
    Traceback (most recent call last):
    espalier.errors.ProgramError: ...
    """


class UndefinedError(ProgramError):
    """A rule read a head's output at a position where the head selected nothing it could report.

    >>> issubclass(UndefinedError, ProgramError)
    True
    """


class CompileError(EspalierError, ValueError):
    """A program is well formed, but cannot be compiled with these settings.

    >>> import espalier as es
    >>> es.compile_program(es.zoo.load("parity-sum-modulo").program, sharpness=0)
    Traceback (most recent call last):
    espalier.errors.CompileError: ...
    """


class ModelError(EspalierError, ValueError):
    """A network, its weights or an input given to it is not what it should be.

    >>> import espalier as es
    >>> es.language_model(vocabulary_size=9, hidden=0)
    Traceback (most recent call last):
    espalier.errors.ModelError: ...
    """


class DataError(EspalierError, ValueError):
    """A corpus, or the settings that describe one, is not valid.

    >>> import espalier as es
    >>> es.scan_split("nonsense")
    Traceback (most recent call last):
    espalier.errors.DataError: ...
    """


class ConfigError(EspalierError, ValueError):
    """A setting is unknown, or its value cannot be used.

    >>> import espalier as es
    >>> es.reproduce("figure-0")
    Traceback (most recent call last):
    espalier.errors.ConfigError: ...
    """


class FileError(EspalierError, OSError):
    """A file is missing, or does not hold what it should.

    >>> import espalier as es
    >>> es.load("nowhere.safetensors")
    Traceback (most recent call last):
    espalier.errors.FileError: ...
    """


def check_whole(
    settings: object,
    names: Iterable[str],
    *,
    least: int = 1,
    most: int = LARGEST_COUNT,
    error: type[EspalierError],
) -> None:
    """Refuse fields that are not whole numbers, or less or more than they can be."""
    for name in names:
        value = getattr(settings, name)
        if type(value) is not int:
            found = type(value).__name__
            raise error(f"{name} is {value!r}, a {found}; a whole number is expected")
        if value < least:
            raise error(f"{name} is {value}; it must be at least {least}")
        if value > most:
            raise error(f"{name} is {value}; it must be at most {most:,}")


def check_kind(name: str, value: object, kind: type, *, error: type[EspalierError]) -> None:
    """Refuse a value that is not of the kind it should be.

    >>> check_kind("keep", 3, str, error=ConfigError)
    Traceback (most recent call last):
    espalier.errors.ConfigError: keep is 3, of type int; str is expected
    """
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise error(
            f"{name} is {str(value)[:60]}, of type {type(value).__name__}; {kind.__name__} is "
            f"expected"
        )


def as_whole(
    name: str, value: object, *, least: int, most: int = LARGEST_COUNT, error: type[EspalierError]
) -> int:
    """The whole number that a value is, also one of numpy's or torch's without axes.

    >>> import numpy as np
    >>> as_whole("at", np.array(2), least=0, error=ConfigError)
    2
    """
    try:
        if isinstance(value, bool) or str(getattr(value, "dtype", "")).endswith("bool"):
            raise TypeError
        found = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        kind = type(value).__name__
        raise error(
            f"{name} is {str(value)[:60]}, of type {kind}; a whole number is expected"
        ) from None
    if not least <= found <= most:
        raise error(f"{name} is {found}; use a whole number from {least:,} to {most:,}")
    return found


def as_flag(name: str, value: object, *, error: type[EspalierError]) -> bool:
    """Whether a value is true; an array of several is neither.

    >>> as_flag("strict", [], error=ConfigError)
    False
    """
    try:
        return bool(value)
    except (TypeError, ValueError, RuntimeError):  # of numpy, and of torch
        raise error(
            f"{name} is {str(value)[:60]}, of type {type(value).__name__}; True or False is "
            f"expected"
        ) from None


def is_one_of(value: object, known: Iterable[str]) -> bool:
    """Whether a value is a name, and one of these; arrays are compared with nothing."""
    return isinstance(value, str) and value in known


def check_seed(seed: object, *, least: int, error: type[EspalierError]) -> None:
    """Refuse a seed that random generators do not accept.

    >>> check_seed(10**30, least=0, error=ConfigError)
    Traceback (most recent call last):
    espalier.errors.ConfigError: seed is 1000000000000000000000000000000; use a whole number ...
    """
    if type(seed) is not int or not least <= seed <= LARGEST_SEED:
        raise error(
            f"seed is {seed!r}; use a whole number from {least} to {LARGEST_SEED} (2**63 - 1)"
        )


def is_number(value: object) -> bool:
    """Whether something is a finite number."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def nearest(name: object, known: Iterable[str]) -> str:
    """The tail of an error about an unknown name: the closest known one, and all or many of them.

    >>> nearest("adition", ["addition", "dyck"])
    "did you mean 'addition'? known: 'addition', 'dyck'"
    """
    known = sorted(known)
    if not known:
        return "there is none to choose from"
    close = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    hint = f"did you mean {close[0]!r}? " if close else ""
    return f"{hint}known: {listed(map(repr, known))}"


def harmless(text: str) -> str:
    """The text with control characters escaped as in Python; lines stay lines.

    >>> print(harmless("\\x1b[31mred"))
    \\x1b[31mred
    """
    return "".join(
        repr(mark)[1:-1] if unicodedata.category(mark) == "Cc" and mark not in "\n\t" else mark
        for mark in text
    )


def listed(words: Iterable[str], *, most: int = 40) -> str:
    """The words, or as many as fit a message and how many more there are.

    >>> listed("abcde", most=3)
    'a, b, c, … (2 more)'
    """
    words = list(words)
    more = [f"… ({len(words) - most} more)"] if len(words) > most else []
    return ", ".join(words[:most] + more)
