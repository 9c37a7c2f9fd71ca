"""`espalier decompose` and `interdependence`: a trained model and a sentence in, a picture out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from espalier.commands.output import Force, OutFile, save
from espalier.commands.show import console

if TYPE_CHECKING:
    from espalier.data import Parsed
    from espalier.decomposition import Parts
    from espalier.nets.lstm import LanguageModel

Model = Annotated[
    Path | None,
    Parameter(
        name=["--model", "-m"],
        help="A checkpoint, or a run: its last one; by default the English one of the package.",
    ),
]
Words = Annotated[str, Parameter(help="The sentence, as one argument or many.")]
Member = Annotated[str | None, Parameter(help="Which model of an ensemble's checkpoint.")]
_PLACES = Parameter(negative="", consume_multiple=True, help="Places of words, from 0.")
Focus = Annotated[list[int], _PLACES]
Places = Annotated[list[int] | None, _PLACES]
AllocationName = Literal["papers", "murdoch", "as-printed", "generalised"]


def register(app: App) -> None:
    """Add the verbs to a command line."""
    app.command(decompose_command, name="decompose")
    app.command(interdependence_command, name="interdependence")


def decompose_command(
    *sentence: Words,
    model: Model = None,
    focus: Focus,
    allocation: AllocationName = "papers",
    top: int = 5,
    member: Member = None,
    out: OutFile = None,
    force: Force = False,
) -> None:
    """Split the state after each word into what the words in focus contribute, and the rest.

    Parameters
    ----------
    allocation
        Which products of parts count as relevant.
    top
        How many of the next words that the focus alone predicts are shown.
    """
    from espalier.decomposition import decompose

    words, loaded = " ".join(sentence).split(), _load(model, member)
    parts = decompose(loaded, _tokens(loaded, words), focus=focus, allocation=allocation)
    if save(parts, out, force=force):
        return
    console().print(str(parts), highlight=False, markup=False)
    if top > 0:
        found = _predicted(parts, top)
        console().print(f"predicted by the focus alone: {found}", highlight=False, markup=False)


def interdependence_command(
    *sentence: Words,
    model: Model = None,
    a: Places = None,
    b: Places = None,
    at: int | None = None,
    space: Literal["hidden", "logits"] = "hidden",
    allocation: AllocationName = "papers",
    parse: Annotated[
        Path | None, Parameter(help="CoNLL-U with the sentence; without words, its first one.")
    ] = None,
    member: Member = None,
    out: OutFile = None,
    html: Annotated[Path | None, Parameter(help="Write one self-contained page.")] = None,
    force: Force = False,
) -> None:
    """How far words cannot be told apart: every two of them, or the sets --a and --b.

    Parameters
    ----------
    at
        Read after this word; by default the last of both sets.
    space
        Compare hidden states, or logits as the earlier paper did.
    allocation
        Which products of parts count as relevant.
    """
    from espalier.decomposition import interdependence

    words, loaded = " ".join(sentence).split(), _load(model, member)
    found_parse = None if parse is None else _parsed(parse, words)
    tokens = _tokens(loaded, words if found_parse is None else list(found_parse.words))
    if a is None and b is None and at is None:
        pairs = interdependence(loaded, tokens, space=space, allocation=allocation)
        pairs = pairs if found_parse is None else pairs.beside(found_parse)
        if not [path for path in (html, out) if save(pairs, path, force=force)]:
            from espalier.show import coloured_pairs

            console().print(coloured_pairs(pairs))
        return
    found = interdependence(
        loaded, tokens, a=a or [], b=b or [], at=at, space=space, allocation=allocation
    )
    if not [path for path in (html, out) if save(found, path, force=force)]:
        console().print(str(found), highlight=False, markup=False)


def _parsed(file: Path, words: list[str]) -> Parsed:
    """The sentence of a treebank that has these words; the first, where no words are given."""
    from espalier.data import read_conllu
    from espalier.errors import DataError

    for sentence in read_conllu(file):
        if not words or list(sentence.words) == words:
            return sentence
    raise DataError(
        f"no sentence of {file} reads {' '.join(words)!r}; words must be as in the file, with "
        f"punctuation apart"
    )


def _load(model: Path | None, member: str | None) -> LanguageModel:
    from espalier.nets.lstm import load_language_model

    return load_language_model(model, member=member)


def _tokens(model: LanguageModel, words: list[str]) -> list[str] | list[int]:
    """Words as they are; numbers for a model that was saved without words."""
    if model.vocabulary is None and words and all(word.isdecimal() for word in words):
        return [int(word) for word in words]
    return words


def _predicted(parts: Parts, top: int) -> str:
    """The likeliest next words after the last one, with their probabilities."""
    last = parts.probabilities()[-1]
    chosen = last.topk(min(top, len(last)))
    vocabulary = getattr(parts.model, "vocabulary", None)
    names = chosen.indices.tolist()
    words = vocabulary.decode(names) if vocabulary else [str(name) for name in names]
    pairs = zip(words, chosen.values.tolist(), strict=True)
    return "  ".join(f"{word} {value:.2g}" for word, value in pairs)
