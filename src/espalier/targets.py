"""The program of a command: one of the zoo, a compiled file, or one in a Python file."""

from __future__ import annotations

import ast
import importlib.util
import random
import re
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import FAULTS, EspalierError, FileError, ProgramError, nearest

if TYPE_CHECKING:
    from espalier.interventions import Set
    from espalier.language import Program, TextFormat
    from espalier.zoo import Entry


def load_target(target: str) -> Entry:
    """The entry that `target` names.

    A name of the zoo; FILE.safetensors, written by `espalier compile`; or FILE.py:NAME, where NAME
    is a `Program` (or a zoo `Entry`) in a Python file of yours, which is run.
    """
    from espalier import zoo

    if target.endswith(".safetensors"):
        from espalier.compiler import load_compiled

        return entry_of(load_compiled(target).program, target)
    path, _, name = target.rpartition(":")
    if path.endswith(".py"):
        return _from_file(Path(path), name)
    if target not in zoo.names():
        raise ProgramError(
            f"there is no program {target!r}; {nearest(target, zoo.names())}. A program of your "
            "own is given as FILE.py:NAME, a compiled one as FILE.safetensors"
        )
    return zoo.load(target)


def _from_file(path: Path, name: str) -> Entry:
    from espalier.language import Program
    from espalier.zoo import Entry

    if not path.is_file():
        raise FileError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except EspalierError as error:
        raise type(error)(f"{_fault(error, path)}: {error}") from error
    except FAULTS as error:
        raise ProgramError(
            f"{_fault(error, path)} cannot be run: {type(error).__name__}: {error}"
        ) from error
    found = getattr(module, name, None)
    if isinstance(found, Entry):
        return found
    if not isinstance(found, Program):
        known = [key for key, value in vars(module).items() if isinstance(value, Program | Entry)]
        raise ProgramError(f"{path} has no program {name!r}; {nearest(name, known)}")
    return entry_of(found, f"{path}:{name}")


def _fault(error: BaseException, path: Path) -> str:
    """The file and the line of it that an error came from."""
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"{path}, line {error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame.lineno for frame in frames if Path(frame.filename) == path]
    return f"{path}, line {own[-1]}" if own else str(path)


def entry_of(program: Program, name: str) -> Entry:
    """A program as an entry, read and answering in its own text format, or else in tokens."""
    from espalier.zoo import Entry, Writing

    def sample(source: random.Random, size: int) -> list[int]:
        longest = min(size, program.position_range or size)
        return [source.randrange(program.input_range) for _ in range(longest)]

    bare = Entry(
        program=program,
        encode=lambda tokens: list(program.tokens(words_of(program, tokens))),
        decode=lambda outputs: list(outputs),
        sample=sample,
        expected=None,
        name=name,
        summary="a program of your own",
    )
    text = program.text
    if text is None:
        return bare

    def encode(given: str | list[int]) -> list[int]:
        # Tokens are accepted too: numbers that `sample` drew, or names that are not all symbols.
        if not isinstance(given, str) or _are_tokens(program, text, given.split()):
            return bare.encode(given)
        return text.encode(given)

    return replace(
        bare,
        encode=encode,
        decode=text.decode,
        max_layers=text.max_layers,
        writing=Writing(text.stop, len) if text.writes else None,
    )


def _are_tokens(program: Program, text: TextFormat, words: list[str]) -> bool:
    names = set(program.vocabulary or ())
    return names.issuperset(words) and not set(text.symbols).issuperset(words)


def with_writing(entry: Entry, max_tokens: int | None, stop: str | None) -> Entry:
    """The entry as a program that writes, if either is given."""
    from espalier.zoo import Writing

    if max_tokens is None and stop is None:
        return entry
    end = None if entry.writing is None else entry.writing.stop
    if stop is not None:
        end = entry.program.tokens(words_of(entry.program, stop))[0]
    limit = entry.writing.most if entry.writing is not None else len
    return replace(
        entry,
        writing=Writing(end, limit if max_tokens is None else lambda prompt: max_tokens),
    )


def tokens_read(entry: Entry, inputs: list[Any], max_layers: int | None) -> list[Sequence[int]]:
    """The tokens that a program reads: its input, and what it writes after that."""
    if entry.writing is None:
        return [entry.encode(given) for given in inputs]
    from espalier.programs import ask

    return [answer.read for answer in ask(entry, inputs, max_layers=max_layers)]


def words_of(program: Program, tokens: str | Iterable[Any]) -> list[Any]:
    """Words of a program's vocabulary, or numbers, as typed."""
    words = tokens.split() if isinstance(tokens, str) else list(tokens)
    names = program.vocabulary or ()
    return [
        int(word)
        if isinstance(word, str) and word not in names and re.fullmatch(r"-?[0-9]+", word)
        else word
        for word in words
    ]


def parse_set(program: Program, text: str) -> Set:
    """The intervention that VARIABLE@LAYER,POSITION=VALUE stands for; null is a value.

    A head's output is set after attention, and anything else after the MLP.
    """
    from espalier.interventions import Set

    found = re.fullmatch(r"(.+)@(\d{1,18}),(\d{1,18})=(.+)", text)
    if found is None:
        raise ProgramError(f"--set takes VARIABLE@LAYER,POSITION=VALUE; found {text[:80]!r}")
    name, layer, position, value = found.groups()
    try:
        plain = None if value == "null" else ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise ProgramError(
            f"--set {text[:80]}: {value[:40]!r} is no value; give a number or null"
        ) from None
    where, number = int(position), int(layer)
    if name in program.heads:
        return Set(name, layer=number, position=where, value=plain, sublayer="attention")
    return Set(name, layer=number, position=where, value=plain)
