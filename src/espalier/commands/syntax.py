"""`espalier pairs` and `probe`: a language model compared with a treebank."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from espalier.commands.methods import How
from espalier.commands.networks import Member, Model
from espalier.commands.output import NAMES, Cluster, Force, Processes, refuse_foreign
from espalier.commands.progress import counting
from espalier.commands.show import console, show_table
from espalier.commands.training import Device
from espalier.errors import DataError

if TYPE_CHECKING:
    from espalier.data import Stretches, Treebank
    from espalier.decomposition import Asked
    from espalier.nets.language import AnyModel
    from espalier.networks import Network
    from espalier.syntax import Scores

BANKS = Parameter(
    name=["--treebank", "-t"],
    negative="",
    consume_multiple=True,
    help="CoNLL-U files, or folders of them.",
)
Banks = Annotated[list[Path], BANKS]
OutPairs = Annotated[
    Path, Parameter(name=NAMES, help="A .parquet file; or a folder, for many files of a part each.")
]
Sample = Annotated[
    int | None, Parameter(help="Draw this many sentences at random; by default all are read.")
]


def register(app: App) -> None:
    """Add the verbs to a command line."""
    app.command(pairs_command, name="pairs")
    app.command(probe_command, name="probe")


def pairs_command(
    *,
    out: OutPairs,
    treebank: Annotated[list[Path] | None, BANKS] = None,
    corpus: Annotated[
        list[Path] | None,
        Parameter(
            negative="",
            consume_multiple=True,
            help="In place of a treebank: plain text of any size, one sentence per line.",
        ),
    ] = None,
    model: Model = None,
    text: Annotated[
        str | None,
        Parameter(help="The text behind the model, where frequencies were not stored with it."),
    ] = None,
    sample: Sample = None,
    how: How = How(),  # noqa: B008 - frozen
    member: Member = None,
    device: Device = "cpu",
    workers: Processes = None,
    cluster: Cluster = None,
    force: Force = False,
) -> None:
    """Every pair of words of a treebank: distances, classes, frequencies, surprisal and DI.

    Plain text has no trees, so its table is without the columns that need one. The same command
    resumes one that was stopped.
    """
    from espalier.data import Treebank, stretches
    from espalier.runs import Workers, choose_device
    from espalier.syntax import PAIRS_AT_ONCE, write_pairs

    refuse_foreign(out, force=force)
    if (treebank is None) == (corpus is None):
        raise DataError("pairs of what? give either a --treebank or a --corpus of plain text")
    if treebank and [file.suffix for file in treebank] == [".npz"]:
        source: Treebank | Stretches = _bank(treebank, sample)
    else:
        format: Literal["conllu", "text"] = "text" if corpus else "conllu"
        source = stretches(corpus or treebank or [], format=format, pairs=PAIRS_AT_ONCE)
        source = source if sample is None else source.sample(sample)
    loaded = _reader(model, member)
    with counting("pairs") as progress:
        rows = write_pairs(
            loaded,
            source,
            out,
            counts=None if text is None else _counts(text),
            asked=_asked(how, loaded),
            device=choose_device(device, elsewhere=cluster is not None),
            workers=Workers(workers or 0, cluster),
            report=lambda done: progress(done, source.pairs),
        )
    count = len(source) if isinstance(source, Treebank) else source.sentences
    console().print(f"wrote {rows:,} pairs of {count:,} sentences to {out}", highlight=False)


def probe_command(
    *,
    treebank: Banks,
    model: Model = None,
    sample: Sample = None,
    how: How = How(),  # noqa: B008 - frozen
    member: Member = None,
) -> None:
    """How much of a treebank's trees is in the tree that interdependence alone suggests (UUAS).

    The model is compared with trees that need none, and with the same network before training.
    """
    from espalier.syntax import SPACES, baseline_rows, pairs_of, probe

    bank, loaded = _bank(treebank, sample), _reader(model, member)
    pairs, rows = pairs_of(bank), [{"model": "none"} | row for row in baseline_rows(bank)]
    if not rows[0]["edges"]:
        raise DataError(f"{bank.name} has no edge to find: no two words but punctuation are linked")
    seed = _seed(model, member)
    for name in ("trained", "untrained"):
        now = loaded if name == "trained" else _untrained(loaded, model, seed or 0)
        scores = _scores(now, bank, how)
        for space in SPACES:
            found = probe(pairs, getattr(scores, space))
            rows += [{"model": name, "space": space} | row for row in found]
    cells = [
        (
            *(row[column] for column in ("model", "space", "weights", "shape")),
            f"{row['uuas']:.3f}",
            f"{row['low']:.3f} to {row['high']:.3f}",
        )
        for row in rows
    ]
    show_table(("model", "space", "tree from", "shape", "UUAS", "95%"), cells)
    console().print(f"{rows[0]['edges']:,} edges of {len(bank):,} sentences, punctuation left out")
    whose = "0: the model's own is not known" if seed is None else f"{seed}, the run's own"
    console().print(f"the untrained network was drawn with seed {whose}", highlight=False)


def _reader(model: Path | None, member: str | None) -> AnyModel | Network:
    """A network that reads words; a compiled program does not."""
    from espalier.errors import ModelError
    from espalier.loading import load_network
    from espalier.nets.language import AnyModel
    from espalier.networks import Network

    found = load_network(model, member=member)
    if not isinstance(found, AnyModel | Network):
        raise ModelError(f"{model} is a compiled program, which reads no treebank's words")
    return found


def _asked(how: How, model: AnyModel | Network) -> Asked:
    from espalier.decomposition import Asked

    return Asked(**how.asked(model))


def _scores(model: AnyModel | Network, bank: Treebank, how: How) -> Scores:
    from espalier.nets.lstm import LanguageModel
    from espalier.syntax import pair_scores, read_treebank

    if isinstance(model, LanguageModel) and how == How():
        return pair_scores(model, bank)
    return read_treebank(model, bank, asked=_asked(how, model))[0]


def _seed(model: Path | None, member: str | None) -> int | None:
    """The seed of the run's first weights, if a run is there."""
    from espalier.loading import TRANSFORMER
    from espalier.networks import is_pretrained
    from espalier.training import seed_of

    if model is None or (str(model) == TRANSFORMER and not model.exists()):
        return None
    return None if is_pretrained(model) else seed_of(model, member=member)


def _untrained(model: AnyModel | Network, path: Path | None, seed: int) -> AnyModel | Network:
    """The same network with fresh weights."""
    from espalier.nets.language import initialise
    from espalier.networks import Network, load_pretrained

    if isinstance(model, Network):
        assert path is not None
        return load_pretrained(path, fresh=seed)
    return initialise(model, seed)


def _bank(files: list[Path], sample: int | None) -> Treebank:
    from espalier.data import treebank

    bank = treebank(files)
    return bank if sample is None else bank.sample(sample)


def _counts(text: str) -> dict[str, int]:
    from espalier.data import text_corpus

    corpus = text_corpus(text)
    return dict(zip(corpus.words, corpus.counts, strict=True))
