"""How people write to a program and read its answer: data, so that a file can hold it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from espalier.errors import ProgramError, nearest

UNITS = ("characters", "words", "either")
CHOICES = ("all", "first", "last")


@dataclass(frozen=True)
class TextFormat:
    """From a text to tokens, and from outputs to a text.

    `symbols[i]` is how token i is written, "" where it is not. A text is cut into `unit`: its
    characters without spaces, its words (or what stands between commas and brackets), or either,
    where a word alone that is no symbol is its characters. `before` and `after` are put around
    the tokens; then `fill` up to `fill_to` tokens, and `end`. `pattern` is a regular expression for
    the pieces joined by spaces (by nothing if they are characters); a refusal shows the `example`,
    and says what the program takes, `about`.

    `answers[v]` is how output v is written, None where it is left out; `errors` are outputs that
    mean that something went wrong. Of the outputs from `skip` on, all are written, or the first or
    last; `strip` are characters that do not begin a longer answer. A program that `writes` is given
    the text as a prompt, and writes until `stop`, at most as many tokens as it was given.

    >>> bits = TextFormat(symbols=("0", "1"), answers=("even", "odd"), choose="last")
    >>> bits.encode("1 0 1"), bits.decode([1, 1, 0])
    ([1, 0, 1], 'even')
    """

    symbols: tuple[str, ...]
    answers: tuple[str | None, ...]
    unit: str = "characters"
    before: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    fill: int | None = None
    fill_to: int = 0
    end: tuple[int, ...] = ()
    pattern: str = ""
    example: str = ""
    about: str = ""
    least: int = 1  # how many pieces a text has
    longest: int | None = None
    most: Mapping[str, int] = field(default_factory=dict)  # how often a symbol may occur
    skip: int = 0
    choose: str = "all"
    join: str = ""
    backwards: bool = False
    strip: str = ""
    errors: Mapping[int, str] = field(default_factory=dict)
    writes: bool = False
    stop: int | None = None
    max_layers: int | None = None  # how long to run what does not halt

    def encode(self, text: object) -> list[int]:
        """The tokens of a text (or of a list of symbols); ProgramError if it is not one."""
        pieces = self._pieces(text)
        joined = ("" if self.unit == "characters" else " ").join(pieces)
        shown = f", as in {self.example!r}" if self.example else ""
        shown += f" ({self.about})" if self.about else ""
        if len(pieces) < self.least or (
            self.pattern and not re.fullmatch(self.pattern, joined, re.ASCII)
        ):
            raise ProgramError(f"{text!r} is no input of this program{shown}")
        if self.longest is not None and len(pieces) > self.longest:
            raise ProgramError(f"the input has {len(pieces)} parts; at most {self.longest} fit")
        codes = {symbol: code for code, symbol in enumerate(self.symbols) if symbol}
        for place, piece in enumerate(pieces):
            if piece not in codes:
                raise ProgramError(
                    f"place {place} of {text!r} holds {piece!r}{shown}; {nearest(piece, codes)}"
                )
        for symbol, limit in self.most.items():
            if pieces.count(symbol) > limit:
                raise ProgramError(
                    f"{text!r} has {pieces.count(symbol)} times {symbol!r}; this program takes "
                    f"{limit} at most"
                )
        tokens = [*self.before, *(codes[piece] for piece in pieces), *self.after]
        if self.fill is not None:
            tokens += [self.fill] * (self.fill_to - len(tokens))
        return [*tokens, *self.end]

    def decode(self, outputs: Iterable[int]) -> str:
        """The answer that outputs stand for; ProgramError if one of them says that it has none."""
        found = list(outputs)[self.skip :]
        for place, value in enumerate(found):
            if value in self.errors:
                raise ProgramError(f"output {place + self.skip}: {self.errors[value]}")
        written = [self.answers[value] for value in found]
        kept = [answer for answer in written if answer is not None]
        if self.choose != "all":
            kept = kept[:1] if self.choose == "first" else kept[-1:]
        answer = self.join.join(reversed(kept) if self.backwards else kept)
        return answer.lstrip(self.strip) or answer[-1:] if self.strip else answer

    def _pieces(self, text: object) -> list[str]:
        if not isinstance(text, str):
            if not isinstance(text, Sequence):
                raise ProgramError(f"a text is expected, or a list of symbols; found {text!r}")
            return [str(piece) for piece in text]
        words = re.sub(r"[][,]", " ", text).split() if self.unit != "characters" else [text]
        alone = self.unit == "either" and len(words) == 1 and words[0] not in self.symbols
        if self.unit == "characters" or alone:
            return [*"".join("".join(words).split())]
        return words

    def to_record(self) -> dict[str, Any]:
        """What differs from the defaults, as JSON can hold it."""
        plain, default = asdict(self), TextFormat((), ())
        plain["errors"] = {str(value): why for value, why in self.errors.items()}
        return {
            name: value
            for name, value in plain.items()
            if name in ("symbols", "answers") or value != getattr(default, name)
        }

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> TextFormat:
        """The format that was recorded; ProgramError if there is more in it."""
        unknown = set(record) - {one.name for one in fields(TextFormat)}
        if unknown:
            raise ProgramError(f"a text format has no {', '.join(sorted(unknown))}")
        found = {n: tuple(v) if isinstance(v, list) else v for n, v in record.items()}
        found["errors"] = {int(value): why for value, why in record.get("errors", {}).items()}
        return TextFormat(**found)  # type: ignore[arg-type]  # check_text looks at them


def check_text(text: object, *, tokens: int, outputs: int) -> TextFormat | None:
    """A format that fits a program of so many tokens and output values; ProgramError otherwise."""
    if text is None:
        return None
    if not isinstance(text, TextFormat):
        raise ProgramError(f"text is a TextFormat; found {text!r}")
    names = [symbol for symbol in text.symbols if symbol]
    fill = () if text.fill is None else (text.fill,)
    stop = () if text.stop is None else (text.stop,)
    used = (*text.before, *text.after, *text.end, *fill, *stop)
    faults = {
        f"text has {len(text.symbols)} symbols for {tokens} tokens": len(text.symbols) > tokens,
        "two symbols of text are the same": len(set(names)) < len(names),
        f"text has {len(text.answers)} answers for {outputs} outputs": len(text.answers) != outputs,
        f"text uses token {max(used, default=0)} of {tokens}": any(
            type(token) is not int or not 0 <= token < tokens for token in used
        ),
        f"the unit of text is one of {', '.join(UNITS)}": text.unit not in UNITS,
        f"text chooses one of {', '.join(CHOICES)}": text.choose not in CHOICES,
        "skip and fill_to of text are whole numbers": type(text.skip) is not int
        or type(text.fill_to) is not int,
        f"text fills up to {text.fill_to} tokens": text.fill_to > 1_000_000,
    }
    for fault, is_there in faults.items():
        if is_there:
            raise ProgramError(fault)
    try:
        re.compile(text.pattern)
    except (re.error, TypeError, RecursionError) as error:
        raise ProgramError(f"the pattern of text cannot be read: {error}") from None
    return text
