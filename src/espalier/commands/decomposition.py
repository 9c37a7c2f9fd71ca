"""`espalier decompose` and `interdependence`: a network and a sentence in, a picture out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter, validators

from espalier.commands.methods import How
from espalier.commands.networks import Member, Model, places, read_input
from espalier.commands.output import Force, OutFile, check_page, save
from espalier.commands.show import console

if TYPE_CHECKING:
    from espalier.data import Parsed
    from espalier.decomposition import Parts

Words = Annotated[str, Parameter(help="The sentence, as one argument or many.")]
_PLACES = Parameter(
    negative="",
    consume_multiple=True,
    help="Words, by number from 0, as they are, or by characters as in 4:7.",
)
Focus = Annotated[list[str], _PLACES]
Places = Annotated[list[str] | None, _PLACES]
Space = Annotated[
    Literal["hidden", "logits"],
    Parameter(help="Decompose hidden states, or logits as the earlier paper does."),
]
Depth = Annotated[
    int | None, Parameter(help="Layers of a compiled program; by default until it halts.")
]


def register(app: App) -> None:
    """Add the verbs to a command line."""
    app.command(decompose_command, name="decompose")
    app.command(interdependence_command, name="interdependence")


def decompose_command(
    *sentence: Words,
    model: Model = None,
    focus: Focus,
    space: Space = "hidden",
    how: How = How(),  # noqa: B008 - frozen
    depth: Depth = None,
    top: Annotated[int, Parameter(validator=validators.Number(gte=0))] = 5,
    member: Member = None,
    out: OutFile = None,
    force: Force = False,
) -> None:
    """Split the state after each word into what the words in focus contribute, and the rest.

    Parameters
    ----------
    top
        How many of the next words that the focus alone predicts are shown.
    """
    from espalier.decomposition import decompose
    from espalier.loading import load_network

    net, tokens = read_input(load_network(model, member=member), sentence, depth)
    parts = decompose(net, tokens, focus=places(focus) or [], space=space, **how.asked(net))
    if save(parts, out, force=force):
        return
    console().print(str(parts), highlight=False, markup=False)
    found = _predicted(parts, top) if top > 0 and how.layer == -1 else None
    if found is not None:
        console().print(f"predicted by the focus alone: {found}", highlight=False, markup=False)


def interdependence_command(
    *sentence: Words,
    model: Model = None,
    a: Places = None,
    b: Places = None,
    at: int | None = None,
    space: Space = "hidden",
    how: How = How(),  # noqa: B008 - frozen
    depth: Depth = None,
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
    """
    from espalier.decomposition import interdependence
    from espalier.loading import load_network

    check_page(html)
    found_parse = None if parse is None else _parsed(parse, " ".join(sentence).split())
    given = sentence if found_parse is None else found_parse.words
    net, tokens = read_input(load_network(model, member=member), given, depth)
    asked = {"space": space} | how.asked(net)
    if a is None and b is None and at is None:
        pairs = interdependence(net, tokens, **asked)
        pairs = pairs if found_parse is None else pairs.beside(found_parse)
        if not [path for path in (html, out) if save(pairs, path, force=force)]:
            from espalier.show import coloured_pairs

            console().print(coloured_pairs(pairs))
        return
    found = interdependence(net, tokens, a=places(a) or [], b=places(b) or [], at=at, **asked)
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


def _predicted(parts: Parts, top: int) -> str | None:
    """The likeliest next words after the last one; None of a network that predicts none."""
    from espalier.networks import Network

    net = parts.model
    if isinstance(net, Network):
        predicts = net.causal and net.outputs == net.vocabulary_size
        if not predicts or (len(net.head) > 1 and parts.space == "hidden"):
            return None
    last = parts.probabilities()[-1]
    chosen = last.topk(min(top, len(last)))
    ids = chosen.indices.tolist()
    if isinstance(net, Network):
        words = list(net.read(ids).words)
    else:
        known = net.vocabulary
        words = known.decode(ids) if known else [str(number) for number in ids]
    pairs = zip(words, chosen.values.tolist(), strict=True)
    return "  ".join(f"{word} {value:.2g}" for word, value in pairs)
