"""The words of a command: what they stand for, and what is wrong with those that are misread."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cyclopts import CycloptsError, Token, convert

from espalier.errors import ConfigError


def read_words(kind: Any, tokens: Sequence[Token]) -> Any:
    """What words of a command stand for; an empty path is none, not the folder one is in."""
    if kind in (Path, list[Path]) and not all(token.value for token in tokens):
        name = next((token.keyword for token in tokens if token.keyword), None) or "a path"
        raise ConfigError(f"{name} is empty; give a name, or . for the folder you are in")
    return convert(kind, tokens)


def misread(error: CycloptsError) -> str:
    """What was wrong with the words of a command, in one line, and where to read on."""
    finding = " ".join(str(error).split())
    argument = getattr(error, "argument", None)
    if argument is not None and argument.field_info.is_positional:  # it has no -- in the help
        finding = finding.replace(argument.name, argument.name.lstrip("-").upper())
    command = " ".join(["espalier", *(error.command_chain or ())])
    whole = finding if finding.endswith("...") else finding.removesuffix(".")
    return f"{whole[0].lower()}{whole[1:]}; see {command} --help"
