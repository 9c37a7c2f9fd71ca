"""English at paper scale on one CUDA device: train, take apart, and pack what is to be taken away.

    python -m benchmarks.syntax prepare --data DIR --into gpu-data     where the treebank is
    ESPALIER_DATA=gpu-data python -m benchmarks.syntax run --out DIR   where the device is
    python -m benchmarks.syntax unpack DIR TARGET                      back home
    python -m benchmarks.syntax again DIR TARGET --data DATA           there, if a table is added

`run` trains the papers' model of WikiText-2, keeping it at several moments of its training, and
the small one that the package brings along; computes the interdependence of every pair of the
treebank at each of those moments; and writes rows, both models and the last moment's values. It
needs torch, numpy, safetensors and jaxtyping only. Files written are at most 15 MiB each.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch

from benchmarks.accelerator import Members, pack, test_loss, timed
from espalier.data.batches import fold
from espalier.data.text import TextCorpus, text_corpus
from espalier.data.treebank import Treebank, load_treebank
from espalier.nets.lstm import Vocabulary, language_model, load_language_model, save_language_model
from espalier.runs import AtSteps, EveryEpoch, Plan, RunFolder, choose_device
from espalier.syntax.effects import Words
from espalier.syntax.pairs import pairs_of
from espalier.syntax.reading import describe_words
from espalier.syntax.scores import Scores, pair_scores
from espalier.syntax.summary import baseline_rows, summarise
from espalier.training.ensembles import Ensemble, Member
from espalier.training.kept import keep_run
from espalier.training.measures import TextLoss
from espalier.training.recipe import Recipe

BANK = "ud-english-ewt"
EARLY = (0, 100, 300, 1000)  # steps: what is learnt within the first epoch
EPOCHS = (1, 2, 3, 5, 8, 12, 16, 24, 32)


def prepare(args: argparse.Namespace) -> None:
    """Everything that `run` reads, in one folder: the treebank as arrays, the text as it is."""
    from espalier.data.conllu import treebank

    args.into.mkdir(parents=True, exist_ok=True)
    bank = treebank(args.data / BANK, name=BANK)
    bank.save(args.into / f"{BANK}.npz")
    shutil.copytree(
        args.data / "wikitext-2",
        args.into / "wikitext-2",
        dirs_exist_ok=True,
        copy_function=shutil.copyfile,
    )
    print(f"{len(bank):,} sentences, {bank.pairs:,} pairs in {args.into}")


def run(args: argparse.Namespace) -> None:
    began, device = time.monotonic(), choose_device(args.device)
    args.out.mkdir(parents=True, exist_ok=True)
    bank = load_treebank(args.bank)
    if args.sentences:
        bank = bank.sample(args.sentences)
    with ProcessPoolExecutor(args.workers, mp_context=get_context("spawn")) as pool:
        analysis = Analysis(pool, bank, device)
        paper = Training("wikitext", args, device, vocabulary=args.words, hidden=args.hidden)
        best = paper.train(args.dropouts, args.seconds)
        for file in paper.moments(best):
            analysis.add("wikitext", file, best["member"], keep=file == paper.file(best))
        small = Training("english", args, device, vocabulary=args.small_words, hidden=args.small)
        chosen = small.train(args.small_dropouts, args.small_seconds)
        for file in (small.folder.path / "step-0.safetensors", small.file(chosen)):
            analysis.add("english", file, chosen["member"])
        agreement = analysis.agreement(paper.file(best), best["member"])
        rows = analysis.rows() + [{"model": "none"} | row for row in baseline_rows(bank)]
    write_lines(args.out / "syntax.jsonl", rows)
    write_lines(args.out / "training.jsonl", paper.rows + small.rows)
    np.savez(args.out / "interdependence.npz", **analysis.kept)
    pack(paper.file(best), args.out / "wikitext.safetensors", [best["member"]])
    model = load_language_model(small.file(chosen), member=chosen["member"])
    save_language_model(model, args.out / "english.safetensors", dtype=torch.float16)
    facts = {"wikitext": paper.facts(best), "english": small.facts(chosen)}
    facts |= {
        "against_cpu": agreement,
        "treebank": bank.digest,
        "sentences": len(bank),
        "pairs": bank.pairs,
    }
    facts |= {"device": name_of(device), "torch": torch.__version__}
    facts |= {"seconds": round(time.monotonic() - began, 1)}
    (args.out / "manifest.json").write_text(json.dumps(facts, indent=1) + "\n")
    print(json.dumps(facts, indent=1))


class Training:
    """One ensemble of dropout rates on WikiText-2, kept in a folder."""

    def __init__(
        self,
        name: str,
        args: argparse.Namespace,
        device: torch.device,
        *,
        vocabulary: int | None,
        hidden: int,
    ) -> None:
        self.name, self.device, self.hidden = name, device, hidden
        self.corpus = shortened(text_corpus("wikitext-2", vocabulary=vocabulary), args.tokens)
        self.folder = RunFolder.create(Path(args.work) / name)
        self.most = args.epochs

    def train(self, dropouts: list[float], seconds: float) -> dict:
        """The row of the best epoch of the best member."""
        recipe = Recipe(learning_rate=20.0, anneal=4.0)
        probe = self._learner(dropouts, recipe)
        ms = timed(probe, 50 if self.device.type == "cuda" else 2)
        fitting = int(seconds * 0.95e3 / (ms * probe.steps_per_epoch * 1.05))
        epochs = max(2, min(self.most, fitting))
        print(f"{self.name}: {ms:.3f} ms a step, {probe.steps_per_epoch} steps: {epochs} epochs")
        del probe
        recipe = replace(recipe, epochs=epochs, settle=epochs // 3)
        learner, began = self._learner(dropouts, recipe), time.monotonic()
        config = {"recipe": recipe.to_dict(), "network": learner.shape.to_dict()}
        config |= {"dropout": dropouts, "data": "wikitext-2", "words": len(self.corpus.words)}
        about = ("text", config, {"sha256": self.corpus.digest})
        plan = Plan(epochs, (EveryEpoch(), AtSteps(EARLY)), save_seconds=3600)
        keep_run(learner, plan, folder=self.folder, about=about, progress=Members(sys.stdout))
        self.config = config | {"seconds": round(time.monotonic() - began, 1)}
        self.rows = [{"model": self.name} | row for row in self.folder.rows()]
        whole = [row for row in self.rows if row["epoch"] == int(row["epoch"])]
        return min(whole, key=lambda row: row["valid_loss"])

    def _learner(self, dropouts: list[float], recipe: Recipe) -> Ensemble:
        words = Vocabulary(self.corpus.words, self.corpus.counts)
        size = {"vocabulary_size": len(words), "hidden": self.hidden, "tied": True}
        team = [
            Member(f"dropout-{rate:g}", language_model(**size, dropout=rate, words=words))
            for rate in dropouts
        ]
        stream = torch.from_numpy(fold(self.corpus.train, batch=recipe.batch, window=recipe.window))
        streams = stream.expand(len(team), -1, -1).contiguous()
        tests = TextLoss.of(self.corpus.valid, self.device)
        return Ensemble(team, streams, recipe, measure=tests, device=self.device)

    def file(self, row: dict) -> Path:
        return self.folder.path / f"epoch-{round(row['epoch'])}.safetensors"

    def moments(self, best: dict) -> list[Path]:
        """The checkpoints that are taken apart, in the order of training."""
        names = [f"step-{step}" for step in EARLY]
        names += [
            f"epoch-{e}" for e in sorted({*EPOCHS, round(best["epoch"])}) if e <= best["epoch"]
        ]
        files = [self.folder.path / f"{name}.safetensors" for name in names]
        return [file for file in files if file.exists()]

    def facts(self, best: dict) -> dict:
        test = test_loss(self.file(best), best["member"], self.corpus, self.device)
        return self.config | {"best": best | test}


class Analysis:
    """Interdependence on the device, everything after it in processes beside it."""

    def __init__(self, pool: ProcessPoolExecutor, bank: Treebank, device: torch.device) -> None:
        self.pool, self.bank, self.device = pool, bank, device
        self.waiting: list[tuple[dict, Future]] = []
        self.kept: dict[str, np.ndarray] = {}

    def add(self, name: str, file: Path, member: str, *, keep: bool = False) -> None:
        began = time.monotonic()
        model = load_language_model(file, member=member)
        words = describe_words(model, self.bank)
        scores = pair_scores(model.to(self.device), self.bank)
        took = time.monotonic() - began
        print(f"{name} {file.stem}: {len(scores.hidden):,} pairs in {took:.1f} s", flush=True)
        if keep:
            for space in ("hidden", "logits"):
                self.kept[space] = getattr(scores, space).astype(np.float16)
        kind, _, number = file.stem.partition("-")
        moment = {"model": name, "checkpoint": file.stem, kind: int(number), "di_seconds": took}
        self.waiting.append((moment, self.pool.submit(analyse, self.bank, scores, words)))

    def agreement(self, file: Path, member: str, *, sentences: int = 40) -> dict[str, float]:
        """The largest difference from the same values computed on the CPU, on a sample."""
        some = self.bank.sample(sentences, seed=1)
        model = load_language_model(file, member=member)
        here = pair_scores(model, some)
        there = pair_scores(model.to(self.device), some)
        return {
            space: float(np.nanmax(np.abs(getattr(here, space) - getattr(there, space))))
            for space in ("hidden", "logits")
        }

    def rows(self) -> list[dict]:
        return [moment | row for moment, future in self.waiting for row in future.result()]


def analyse(bank: Treebank, scores: Scores, words: Words) -> list[dict]:
    torch.set_num_threads(1)
    return summarise(pairs_of(bank), scores, words)


def shortened(corpus: TextCorpus, tokens: int | None) -> TextCorpus:
    """For trials: the beginning of every part."""
    parts = {part: getattr(corpus, part)[:tokens] for part in ("train", "valid", "test")}
    return replace(corpus, **parts)


def name_of(device: torch.device) -> str:
    return torch.cuda.get_device_name() if device.type == "cuda" else str(device)


def write_lines(path: Path, rows: list[dict]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def unpack(args: argparse.Namespace) -> None:
    """Parts joined, lines as Parquet."""
    import pandas as pd

    from benchmarks.unpack import join_parts

    args.target.mkdir(parents=True, exist_ok=True)
    join_parts(args.packed, args.target)
    for lines in sorted(args.packed.glob("*.jsonl")):
        rows = pd.read_json(lines, lines=True)
        rows.to_parquet(args.target / f"{lines.stem}.parquet", index=False)
    for file in [*args.packed.glob("*.json"), *args.packed.glob("*.npz")]:
        shutil.copyfile(file, args.target / file.name)


def again(args: argparse.Namespace) -> None:
    """The last moment's rows anew, from the values kept of it, which are rounded to float16."""
    import pandas as pd

    from espalier.data.conllu import treebank

    bank, file = treebank(args.data / BANK, name=BANK), args.target / "syntax.parquet"
    facts = json.loads((args.target / "manifest.json").read_text())
    assert bank.digest == facts["treebank"], "another release of the treebank"
    kept = np.load(args.packed / "interdependence.npz")
    scores = Scores(*(kept[space].astype(np.float32) for space in ("hidden", "logits")))
    words = describe_words(load_language_model(args.packed / "wikitext.safetensors"), bank)
    rows = pd.read_parquet(file)
    old = (rows["model"] == "wikitext") & (rows["epoch"] == facts["wikitext"]["best"]["epoch"])
    same = ["model", "checkpoint", "step", "epoch", "di_seconds"]
    new = pd.DataFrame(summarise(pairs_of(bank), scores, words)).assign(
        **{name: rows.loc[old, name].iloc[0] for name in same}
    )
    place = int(np.flatnonzero(old)[0])
    parts = [rows[:place][~old[:place]], new[rows.columns], rows[place:][~old[place:]]]
    pd.concat(parts, ignore_index=True).to_parquet(file, index=False)
    print(f"{len(new):,} rows in the place of {old.sum():,}")


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    one = verbs.add_parser("prepare")
    one.add_argument("--data", type=Path, required=True, help="wikitext-2/ and ud-english-ewt/")
    one.add_argument("--into", type=Path, default=Path("gpu-data"))
    one = verbs.add_parser("unpack")
    one.add_argument("packed", type=Path)
    one.add_argument("target", type=Path)
    one = verbs.add_parser("again")
    one.add_argument("packed", type=Path, help="where unpack was told to write, models and all")
    one.add_argument("target", type=Path)
    one.add_argument("--data", type=Path, required=True, help="ud-english-ewt/")
    one = verbs.add_parser("run")
    one.add_argument("--out", type=Path, required=True)
    one.add_argument("--bank", type=Path, default=Path("gpu-data") / f"{BANK}.npz")
    one.add_argument("--work", default="runs/syntax", help="where whole runs are kept")
    one.add_argument("--device", default="auto")
    one.add_argument("--workers", type=int, default=10)
    one.add_argument("--epochs", type=int, default=40, help="at most")
    one.add_argument("--hidden", type=int, default=400)
    one.add_argument("--words", type=int, help="the whole vocabulary by default")
    one.add_argument("--dropouts", type=float, nargs="+", default=[0.5])
    one.add_argument("--seconds", type=float, default=210.0)
    one.add_argument("--small", type=int, default=300)
    one.add_argument("--small-words", type=int, default=10_000)
    one.add_argument("--small-dropouts", type=float, nargs="+", default=[0.3, 0.45])
    one.add_argument("--small-seconds", type=float, default=110.0)
    one.add_argument("--sentences", type=int, help="for trials: a sample of the treebank")
    one.add_argument("--tokens", type=int, help="for trials: the beginning of the text")
    return parser.parse_args()


def main() -> None:
    args = parse()
    {"prepare": prepare, "run": run, "unpack": unpack, "again": again}[args.verb](args)


if __name__ == "__main__":
    main()
