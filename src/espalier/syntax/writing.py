"""All word pairs of a treebank or a text of any size as Parquet, for use in other tools.

Sentences are processed a stretch at a time, each by any free worker, and a stretch is a part of the
table: memory does not grow with the text. Each stretch is read separately, so its rows are
bit-identical whichever worker reads it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float

from espalier.data import Stretch, Stretches, Treebank, pair_starts
from espalier.decomposition import AllPairs, Asked, check_model, one_thread_each
from espalier.errors import FileError
from espalier.files import marked, onto_disk
from espalier.nets.language import AnyModel
from espalier.nets.lstm import (
    LanguageModel,
    Vocabulary,
    load_language_model,
    save_language_model,
)
from espalier.networks import Linear, Network, plain
from espalier.runs import (
    HERE,
    LOCK,
    MANIFEST,
    AnyWorkers,
    Job,
    RunFolder,
    Workers,
    choose_device,
    describe_run,
    fill_table,
    locked,
    recorded,
)
from espalier.syntax.networks import read_treebank
from espalier.syntax.pairs import TreePairs, pairs_of
from espalier.syntax.reading import counts_of, describe_words, threads_for, vocabulary_of
from espalier.syntax.scores import SPACES, PairReader, Scores
from espalier.syntax.surprisal import SurprisalReader
from espalier.syntax.table import Described, tabulate

if TYPE_CHECKING:
    import pyarrow

PAIRS_AT_ONCE = 400_000
TABLE, MODEL = "pairs", "model.safetensors"
Source = Treebank | Stretches


def write_pairs(
    model: AnyModel | Network,
    source: Source,
    out: str | os.PathLike[str],
    *,
    counts: Mapping[str, int] | None = None,
    asked: Asked | None = None,
    device: torch.device | None = None,
    workers: AnyWorkers = HERE,
    report: Callable[[int], None] = lambda pairs: None,
) -> int:
    """Write the table and return its number of rows; `report` is called with the number so far.

    A `.parquet` file is one table; any other name is a folder: a run with a part for each stretch
    of sentences, in pairs/. If stopped, either resumes from there. `counts` are those of the text
    behind the model, by default the ones stored with it; without any, frequencies are null. `asked`
    names a layer or another method than DI. `device` is where workers compute, by default where the
    model is; other networks stay where they are.
    """
    path = Path(out)
    if path.suffix not in (".parquet", ".pq", ""):
        raise FileError(
            f"cannot write {path}: pairs are written as Parquet; name a .parquet file, or a folder"
        )
    asked, workers = asked or Asked(), Workers.of(workers)
    if isinstance(model, LanguageModel):
        model, counts = _counted(check_model(model), counts), None
    elif not isinstance(model, Network):
        vocabulary_of(model)
    if device is None or isinstance(model, Network):
        device = model.device if isinstance(model, Network) else next(model.parameters()).device
    reader = PartReader(model, asked, counts, where=str(device))
    if not path.suffix:
        return _fill(reader, source, RunFolder.create(path), workers, report)
    if path.is_dir() or not path.parent.is_dir():
        raise FileError(f"cannot write {path}: name a file in a folder that is there")
    parts = RunFolder.create(path.with_name(f".{path.name}.parts"))
    rows = _fill(reader, source, parts, workers, report)
    with locked(parts.path):  # a second command, which finds all parts there, would join them too
        _join(parts.path, path)
        _clear(parts.path)
    with suppress(OSError):  # a command that starts now begins from scratch
        parts.path.rmdir()
    return rows


def _counted(model: LanguageModel, counts: Mapping[str, int] | None) -> LanguageModel:
    """The model with these counts of its words."""
    vocabulary = vocabulary_of(model)
    if counts is None:
        return model
    known = Vocabulary(vocabulary.words, tuple(counts.get(word, 0) for word in vocabulary.words))
    fresh = LanguageModel(model.shape, vocabulary=known).to(model.encoder.weight)
    fresh.load_state_dict(model.state_dict())
    return fresh.eval()


def _fill(
    reader: PartReader,
    source: Source,
    folder: RunFolder,
    workers: Workers,
    report: Callable[[int], None],
) -> int:
    """Fill the folder's table, or what is missing of it; its number of rows."""
    device, digest, written = torch.device(reader.where), reader.digest(), 0
    in_memory = isinstance(source, Treebank)
    config = {
        "model_sha256": digest,
        "asked": repr(reader.asked),
        "sentences": len(source) if isinstance(source, Treebank) else source.sentences,
        "at_once": PAIRS_AT_ONCE if in_memory else None,
    }
    sha256 = source.digest if isinstance(source, Treebank) else source.sha256
    data = {"sha256": sha256, "pairs": source.pairs}
    about = describe_run("pairs", config, data=data, device=device, tables=(TABLE,))
    with recorded(folder, about):
        words = len(source.tags) if isinstance(source, Treebank) else source.words
        reader = replace(reader, key=f"{digest} {device} {words}", words=words)
        if isinstance(reader.model, LanguageModel):
            # By its file, not with every job: it may be large.
            save_language_model(reader.model, folder.path / MODEL)
            reader = replace(reader, model=str((folder.path / MODEL).resolve()))
        jobs = (Job(f"{n:07d}", given, device.type == "cuda") for n, given in _parts(source))
        for part in fill_table(folder.path / TABLE, reader, jobs, workers):
            written += part.rows
            report(written)
    return written


def _parts(source: Source) -> Iterator[tuple[int, tuple[Treebank | Stretch, int]]]:
    """Numbered stretches, each with the number of its first sentence."""
    if isinstance(source, Stretches):
        yield from enumerate((part, part.first) for part in source.parts)
        return
    parts = pair_starts(source.lengths)[:-1] // PAIRS_AT_ONCE
    firsts = np.flatnonzero(np.diff(parts, prepend=-1))
    stops = [*firsts[1:], len(source)]
    for number, (first, stop) in enumerate(zip(firsts.tolist(), stops, strict=True)):
        yield number, (source.select(np.arange(first, stop)), first)


# A process reads many stretches with one model, which is prepared once.
_ready: dict[str, AllPairs] = {}


@dataclass(frozen=True)
class PartReader:
    """Reads stretches with a model, or with that of a file; travels to other processes as data."""

    model: AnyModel | Network | str
    asked: Asked
    counts: Mapping[str, int] | None  # of words, if not the model's own
    where: str = "cpu"  # the device
    key: str = ""  # the same for the same model and texts
    words: int = 0  # of all stretches: they decide what is worth preparing

    def digest(self) -> str:
        """SHA-256 of the model's weights, words and counts; of others, of what they compute."""
        model, whole = self.model, hashlib.sha256()
        if isinstance(model, Network):
            ids = torch.arange(model.vocabulary_size, device=model.device)
            ends = [part.weight for part in model.head if isinstance(part, Linear)]
            some = model.embed(ids[:8][None]).detach().to(model.dtype)
            tensors = {
                "embed": model.embed(ids[:, None]),  # there may be fewer positions than tokens
                "decoder": ends[0],
                "states": plain.run(model, some)[-1],
            }
        else:
            assert not isinstance(model, str)
            tensors, vocabulary = model.state_dict(), vocabulary_of(model)
            whole.update("\n".join(map(str, (*vocabulary.words, vocabulary.counts))).encode())
        for name, tensor in sorted(tensors.items()):
            whole.update(name.encode() + tensor.detach().cpu().contiguous().numpy().tobytes())
        whole.update(repr(sorted((self.counts or {}).items())).encode())
        return whole.hexdigest()

    def __call__(self, part: Treebank | Stretch, first: int) -> pyarrow.Table:
        """The table of one stretch, whose first sentence has this number."""
        bank = part.read() if isinstance(part, Stretch) else part
        model = self._loaded()
        if isinstance(model, LanguageModel) and self.asked == Asked():
            pairs, scores, surprisal = self._read(model, bank)
        else:
            pairs, (scores, surprisal) = (
                pairs_of(bank),
                read_treebank(model, bank, asked=self.asked),
            )
        counts = counts_of(model) if self.counts is None else self.counts
        words = describe_words(model, bank, counts or {})
        trees = not isinstance(part, Stretch) or part.format == "conllu"
        return tabulate(
            Described(first, pairs, scores, surprisal, words, counts is not None, trees)
        )

    def _loaded(self) -> AnyModel | Network:
        if isinstance(self.model, Network):
            return self.model
        if not isinstance(self.model, str):
            return self.model.to(choose_device(self.where))
        if self.key in _ready:
            return _ready[self.key].model
        return load_language_model(self.model).to(choose_device(self.where))

    def _read(
        self, model: LanguageModel, bank: Treebank
    ) -> tuple[TreePairs, Scores, Float[np.ndarray, " W"]]:
        """Pairs, DI and surprisals, by one pass for both."""
        with one_thread_each(threads_for(model)) as pool:
            all_pairs = pool.submit(self._prepared, model).result()
            expected = SurprisalReader(model, pool).expect(bank)
            read = PairReader(all_pairs, pool).begin(bank, hear=expected.hear)
            return pairs_of(bank), read.scores(), expected.surprisals()

    def _prepared(self, model: LanguageModel) -> AllPairs:
        """Prepared on one thread, as everywhere."""
        if self.key not in _ready:
            _ready.clear()
            _ready[self.key] = AllPairs(model, spaces=SPACES)
            _ready[self.key].expect(words=self.words)
        return _ready[self.key]


def _clear(folder: Path) -> None:
    """Remove all of a run but its lock; the manifest last, which a killed run is resumed from."""
    for one in sorted(folder.iterdir(), key=lambda one: one.name == MANIFEST):
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        elif one.name != LOCK:
            one.unlink()


def _join(parts: Path, path: Path) -> None:
    """Join all parts into one file, a part at a time; it is written among them, then moved away.

    What a kill leaves there is removed with the parts.
    """
    import pyarrow.parquet as parquet

    files, whole = sorted((parts / TABLE).glob("part-*.parquet")), parts / "whole.parquet"
    schema = marked(parquet.read_table(files[0]).replace_schema_metadata()).schema
    with onto_disk(path):
        with parquet.ParquetWriter(
            whole, schema, compression="zstd", write_page_checksum=True
        ) as writer:
            for file in files:
                writer.write_table(parquet.read_table(file, page_checksum_verification=True))
        whole.replace(path)
