"""Trained runs on disk: trained when an experiment first needs them, then reused."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import torch

from espalier.data import Examples, ScaffoldConfig, scaffold_corpus
from espalier.errors import ConfigError
from espalier.experiments.experiment import Row
from espalier.experiments.scaffold_models import ScaffoldModels
from espalier.nets.language import read_shape
from espalier.nets.lstm import LSTMShape, StackedWeights
from espalier.runs import (
    HERE,
    AnyWorkers,
    Job,
    Moment,
    Progress,
    RunFolder,
    Workers,
    choose_device,
    on_device,
    run_jobs,
)
from espalier.training import manifest_config, train

Domain = Literal["in_domain", "out_of_domain"]
DOMAINS: tuple[Domain, ...] = ("in_domain", "out_of_domain")


@dataclass(frozen=True)
class Group:
    """Members of one scaffold length, their places in the ensemble, and their test sets."""

    length: int
    index: tuple[int, ...]
    configs: tuple[ScaffoldConfig, ...]
    tests: tuple[dict[Domain, Examples], ...]

    def of(self, weights: StackedWeights) -> StackedWeights:
        """These members' weights among all."""
        return {name: tensor[list(self.index)] for name, tensor in weights.items()}

    def examples(self, domain: Domain) -> list[Examples]:
        """One test set per member."""
        return [test[domain] for test in self.tests]

    def label(self, values: Sequence[Row], **more: int | str) -> list[Row]:
        """One row per member: its length, setting, rules and seed, `more`, and its own values."""
        names = ("length", "setting", "rules", "seed")
        return [
            {name: getattr(config, name) for name in names} | more | value
            for config, value in zip(self.configs, values, strict=True)
        ]


@dataclass(frozen=True)
class TrainedScaffolds:
    """A trained ensemble: its measures, and its weights at the epochs that were saved."""

    models: ScaffoldModels
    folder: RunFolder
    device: torch.device

    def metrics(self) -> list[Row]:
        """One row per member and epoch: the probability of the close symbol in both domains."""
        return self.folder.measured()

    def at(self, epoch: int) -> tuple[StackedWeights, LSTMShape]:
        """All members' weights after an epoch that was saved."""
        if epoch not in self.models.kept:
            raise ConfigError(
                f"epoch {epoch} of {self.folder.path} was not saved; saved: {self.models.kept}"
            )
        kept = self.folder.load_checkpoint(f"epoch-{epoch}")
        weights = {name: tensor.to(self.device) for name, tensor in kept.tensors.items()}
        return weights, read_shape(json.loads(kept.metadata["shape"]))

    @cached_property
    def groups(self) -> list[Group]:
        """Members by scaffold length; of each corpus only the test sets stay in memory."""
        configs = [run.corpus for run in self.models.runs()]
        found = []
        for length in self.models.lengths:
            index = tuple(e for e, config in enumerate(configs) if config.length == length)
            own = tuple(configs[e] for e in index)
            found.append(Group(length, index, own, tuple(map(_tests, own))))
        return found

    def walk(
        self, epochs: tuple[int, ...]
    ) -> Iterator[tuple[int, Group, StackedWeights, LSTMShape]]:
        """Every group after each of these epochs; a checkpoint is read once."""
        for epoch in epochs:
            weights, shape = self.at(epoch)
            for group in self.groups:
                yield epoch, group, group.of(weights), shape


class RunCache:
    """A folder of trained runs. Missing ones are trained, interrupted ones resumed.

    Rows are cached in memory, since several figures, and both papers, show the same quantities.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] = "runs",
        *,
        device: str = "auto",
        progress: Progress | None = None,
        workers: AnyWorkers = HERE,
    ) -> None:
        self.workers = Workers.of(workers)
        there = self.workers.cluster is not None and device != "auto"  # the cluster may have it
        self.path, self.device = Path(path), choose_device(device, elsewhere=there)
        self.progress = progress
        self._trained: dict[ScaffoldModels, TrainedScaffolds] = {}
        self._rows: dict[tuple[Any, Any], list[Row]] = {}

    def trained(self, models: ScaffoldModels) -> TrainedScaffolds:
        """The ensemble of these models, trained to its end."""
        if models not in self._trained:
            folder = RunFolder.create(self.path / models.name)
            if not _finished(folder, models):
                self._train(models, folder)
            self._trained[models] = TrainedScaffolds(models, folder, self.here)
        return self._trained[models]

    @property
    def here(self) -> torch.device:
        """Where this process computes: the device, or its CPU if only the cluster has one."""
        lacks = self.device.type == "cuda" and not torch.cuda.is_available()
        return torch.device("cpu") if lacks else self.device

    def _train(self, models: ScaffoldModels, folder: RunFolder) -> None:
        """Train one ensemble: in this process, or on a worker that has the device it lacks."""
        device = str(self.device)
        if self.here == self.device:
            train(models.runs(), folder.path, device=device, progress=self.progress)
            return
        job = Job(models.name, (models, str(folder.path.resolve()), device), gpu=True)
        for _ in run_jobs(_trained_there, [job], self.workers):
            pass

    def gather(
        self,
        work: Callable[[Any, RunCache], list[Row]],
        items: Sequence[Any],
        label: Callable[[Any], str] | None = None,
    ) -> list[Row]:
        """The rows that `work` finds for every item, in order; on CUDA several items at a time.

        Each worker takes one item at a time: whatever it trains is a run of its own. `label` names
        an item in messages.
        """
        if self.workers != HERE:
            place, device = str(self.path.resolve()), str(self.device)
            jobs = [
                Job(
                    f"{n:04d} {(label or _words_of)(item)}",
                    (work, item, place, device),
                    self.device.type == "cuda",
                )
                for n, item in enumerate(items)
            ]
            done, began = dict[str, list[Row]](), time.monotonic()
            for job, rows in run_jobs(_gathered, jobs, self.workers):
                done[job.name] = rows
                if self.progress is not None:
                    self.progress(_done(job.name, len(done), len(jobs), time.monotonic() - began))
            return [row for name in sorted(done) for row in done[name]]
        found = on_device(lambda item: work(item, self), items, device=self.device)
        return [row for rows in found for row in rows]

    def rows(self, measure: Callable[[Any, RunCache], list[Row]], config: Any) -> list[Row]:
        """The rows of an experiment, computed at the first request."""
        if (measure, config) not in self._rows:
            self._rows[measure, config] = measure(config, self)
        return [dict(row) for row in self._rows[measure, config]]


def _gathered(
    work: Callable[[Any, RunCache], list[Row]], item: Any, path: str, device: str
) -> list[Row]:
    """The rows of one item, by a worker, on one thread."""
    torch.set_num_threads(1)
    return work(item, RunCache(path, device=device))


def _trained_there(models: ScaffoldModels, folder: str, device: str) -> None:
    """Train an ensemble, by a worker."""
    train(models.runs(), folder, device=device)


def _done(name: str, done: int, of: int, seconds: float) -> Moment:
    """The progress report that a worker has finished an item."""
    cell = f"{name.partition(' ')[2]}, {done} of {of}"
    return Moment(done, of, 0, seconds, done, ({},), cell=cell)


def _words_of(item: Any) -> str:
    """The words and numbers that an item consists of, or is named by.

    >>> _words_of(("addition", 3, object()))
    'addition 3'
    """
    parts = item if isinstance(item, tuple) else (item, getattr(item, "name", None))
    return " ".join(str(part) for part in parts if isinstance(part, str | int))


def _finished(folder: RunFolder, models: ScaffoldModels) -> bool:
    """Whether exactly these models were trained there; anything else is for training to judge."""
    manifest = folder.manifest()
    if manifest is None or manifest["status"] != "finished":
        return False
    return bool(manifest["config"] == manifest_config(models.runs()))


def _tests(config: ScaffoldConfig) -> dict[Domain, Examples]:
    corpus = scaffold_corpus(config)
    return {"in_domain": corpus.in_domain, "out_of_domain": corpus.out_of_domain}
