"""Settings from outside: TOML and `name=value` words into frozen dataclasses, typos refused."""

from __future__ import annotations

import os
import tomllib
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from functools import cache
from typing import Any, TypeVar

from espalier.errors import ConfigError, FileError, is_number, nearest
from espalier.files import as_path, check_plain
from espalier.training.configs import STOP_MEASURES

C = TypeVar("C")
LONGEST, DEEPEST = 1 << 20, 20  # bytes of a config, and tables in tables of it
# Settings that older manifests lack, with the value that holds there: runs keep their names.
ADDED = (
    ("layout", "apart"),
    ("reading", "before close"),
    ("shifted", False),
    ("output_dropout", False),
    ("stop_share", None),
    ("stop_measures", STOP_MEASURES),
)


def as_settings(config: Any) -> dict[str, Any]:
    """Every setting by name, nested; later settings are left out if they have their defaults.

    >>> from espalier.data import ScaffoldConfig
    >>> "layout" in as_settings(ScaffoldConfig())
    False
    """
    return asdict(
        config, dict_factory=lambda pairs: {n: v for n, v in pairs if (n, v) not in ADDED}
    )


def read_toml(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The tables of a TOML file.

    >>> file = getfixture("tmp_path") / "run.toml"
    >>> _ = file.write_text("[recipe]\\nepochs = 3")
    >>> read_toml(file)
    {'recipe': {'epochs': 3}}
    """
    file = as_path(path)
    check_plain(file, piped=True)
    try:
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
        if len(content) <= LONGEST:
            return tomllib.loads(content.decode("utf-8-sig"))
    except OSError as error:
        raise FileError(f"there is no config to read at {file}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of TOML, of UTF-8, of too many digits
        raise ConfigError(f"{file} is not TOML: {error}") from error
    raise ConfigError(
        f"{file} has more than {LONGEST:,} bytes; a config is a few tables of settings: is it "
        f"another file?"
    )


def flatten(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted names.

    >>> flatten({"recipe": {"epochs": 3}, "keep": "log"})
    {'recipe.epochs': 3, 'keep': 'log'}
    """
    if prefix.count(".") > DEEPEST:
        raise ConfigError(f"{prefix[:60]}... is nested deeper than any setting; leave it out")
    flat: dict[str, Any] = {}
    for name, value in table.items():
        deeper = isinstance(value, Mapping)
        found = flatten(value, f"{prefix}{name}.") if deeper else {prefix + name: value}
        for twice in flat.keys() & found.keys():  # in a table, and by a dotted name in quotes
            raise ConfigError(
                f"{twice} is set twice, to {flat[twice]!r} and to {found[twice]!r}; set it once"
            )
        flat |= found
    return flat


def override(config: C, settings: Mapping[str, Any]) -> C:
    """The config with dotted names set; values are checked.

    All are set at once: settings that only fit together, such as tokens and rules, can change.

    >>> from espalier.training import TextRun
    >>> override(TextRun(), {"recipe.epochs": 4}).recipe.epochs
    4
    """
    known = setting_names(config)
    for name in settings:
        if name not in known:
            raise ConfigError(f"there is no setting {name!r}; {nearest(name, known)}")
    changed: C = _override(config, settings, prefix="")
    return changed


def setting_names(config: object, prefix: str = "") -> list[str]:
    """Every dotted name that can be set."""
    names = []
    for one in fields(config):  # type: ignore[arg-type]
        value = getattr(config, one.name)
        deeper = is_dataclass(value)
        names += setting_names(value, f"{prefix}{one.name}.") if deeper else [prefix + one.name]
    return names


def parse_words(words: typing.Iterable[str]) -> dict[str, Any]:
    """`name=value` words, each value read as TOML where it is that, else as text.

    >>> parse_words(["recipe.epochs=4", "keep=log"])
    {'recipe.epochs': 4, 'keep': 'log'}
    """
    found = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise ConfigError(
                f"{word!r} is not a setting; write name=value, as in recipe.learning_rate=0.1"
            )
        if name.strip() in found:
            raise ConfigError(f"{name.strip()} is set twice; set it once")
        found[name.strip()] = _parsed(value)
    return found


def _parsed(text: str) -> Any:
    """The value of a word that is TOML; else the word."""
    with suppress(ValueError, RecursionError):
        read = tomllib.loads(f"value = {text}")
        if list(read) == ["value"]:
            return read["value"]
    return text


def _override(config: Any, settings: Mapping[str, Any], *, prefix: str) -> Any:
    changes = {}
    types_ = _hints(type(config))  # type: ignore[arg-type]
    for one in fields(config):
        name, value = prefix + one.name, getattr(config, one.name)
        if is_dataclass(value):
            changes[one.name] = _override(value, settings, prefix=f"{name}.")
        elif name in settings:
            changes[one.name] = _checked(types_[one.name], settings[name], name)
    return replace(config, **changes)


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _checked(expected: Any, value: Any, name: str) -> Any:
    """The value if it is of the expected type; an integer will do for a float."""
    choices = typing.get_args(expected)
    if typing.get_origin(expected) is typing.Literal:
        if value in choices:
            return value
        raise ConfigError(f"{name} is {value!r}; {nearest(value, choices)}")
    if isinstance(expected, types.UnionType):
        if type(None) in choices and value in (None, "none"):
            return None
        several = isinstance(value, list | tuple)  # a list is meant for the choice that is one
        one = [c for c in choices if (typing.get_origin(c) is tuple) == several]
        return _checked(next(iter(one), choices[0]), value, name)
    if typing.get_origin(expected) is tuple and isinstance(value, list | tuple):
        return tuple(_checked(choices[0], one, name) for one in value)  # tuple[X, ...] is all
    if expected is float and type(value) is int and is_number(value):
        return float(value)
    if type(value) is not expected:
        raise ConfigError(
            f"{name} is {value!r}, a {type(value).__name__}; {_word(expected)} is expected"
        )
    return value


def _word(expected: Any) -> str:
    """The name of the type in a message."""
    word = "list" if typing.get_origin(expected) is tuple else str(expected.__name__)
    return f"an {word}" if word == "int" else f"a {word}"
