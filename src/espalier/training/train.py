"""`train` trains whatever a config describes.

`train` knows no task. A config is a frozen dataclass that makes its own learner, describes its
data, and turns weights into models; `open_run` reads the result of `train` from a folder.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

import torch

from espalier.errors import LARGEST_SEED, ConfigError, FileError, ModelError
from espalier.nets.lstm import find_checkpoint, member_names
from espalier.results import Result
from espalier.runs import (
    RESUME,
    Learner,
    Plan,
    Progress,
    Row,
    RunFolder,
    Snapshot,
    averages,
    check_progress,
    choose_device,
    describe_run,
    fit,
    latest,
    recorded,
    refuse_edited,
)
from espalier.training.configs import check_seeds
from espalier.training.settings import as_settings, flatten, override

if TYPE_CHECKING:
    import pandas

Also = Callable[[Row], None]  # is called after each measure with its step and epoch


@dataclass(frozen=True)
class Prepared:
    """A learner at its first step, and the entry for its data in the manifest.

    `in_folder` writes other files of the run's folder, and may return a function that records more
    measures, in these `tables`; their rows from after the point to resume from are dropped.
    """

    learner: Learner
    data: dict[str, Any]
    in_folder: Callable[[RunFolder], Also | None] | None = None
    tables: tuple[str, ...] = ()
    needs_folder: str = ""  # the reason, if it needs one


@runtime_checkable
class Trainable(Protocol):
    """A config that `train` can train: mostly settings."""

    kind: ClassVar[str]

    def plan(self) -> Plan:
        """How long to train, and which weights to save."""

    def prepare(self, device: torch.device, beside: Sequence[Self]) -> Prepared:
        """The learner of this config, and of those to be trained with it (`beside`)."""

    def with_seeds(self, seeds: tuple[int, ...]) -> Sequence[Self]:
        """Configs that train a model for each seed."""

    def models(self, weights: Snapshot, device: torch.device) -> Sequence[Any]:
        """The trained models, one per member."""

    def shared(self, device: torch.device) -> str:
        """A key, equal for configs that can be one ensemble on the device; empty if none can."""
        return ""

    def digests(self) -> dict[str, str]:
        """Digests, as in a manifest, of data that the user may change; none of other data."""
        return {}

    def to_dict(self) -> dict[str, Any]:
        """Every setting, nested as it is in the config."""
        return as_settings(self)

    @classmethod
    def read(cls, settings: Mapping[str, Any], folder: RunFolder) -> Self:
        """The config that a run's manifest holds."""
        return override(cls(), flatten(settings))


@dataclass(frozen=True, eq=False, repr=False)
class TrainedRun(Result):
    """A trained run: its config or configs, its measures, its models, its folder if it has one.

    `models` has one model per member, `model` is the only one. `step` is how far it was trained.

    >>> from espalier.training import ScaffoldRun
    >>> TrainedRun(ScaffoldRun(), (), None, {}, torch.device("cpu")).kind
    'scaffold'
    """

    config: Any
    rows: tuple[Row, ...]
    folder: Path | None
    weights: Snapshot = field(repr=False)
    device: torch.device = field(repr=False)

    @property
    def kind(self) -> str:
        """The kind of its config."""
        return str(self._first.kind)

    @property
    def members(self) -> tuple[str, ...]:
        """The models' names."""
        return tuple(str(row["member"]) for row in latest(self.rows))

    @property
    def step(self) -> int:
        """The step of the weights."""
        return int(self.weights.metadata.get("step", latest(self.rows)[0]["step"]))

    @cached_property
    def models(self) -> Any:
        """A sequence with one model per member; some kinds can also run all of them together."""
        return self._first.models(self.weights, self.device)

    @property
    def model(self) -> Any:
        """The model, if there is but one."""
        if len(self.members) > 1:
            names = ", ".join(self.members[:4])
            raise ModelError(f"{len(self.members)} models were trained ({names}, ...): see models")
        return self.models[0]

    def ask(self, inputs: Sequence[str]) -> list[list[str]]:
        """For each member its answers to the inputs, if models of this kind give answers."""
        ask = getattr(self.models, "ask", None)
        if ask is None:
            raise ModelError(f"models of kind {self.kind!r} give no answers; see models")
        found: list[list[str]] = ask(inputs)
        if len(found) != len(self.members):
            raise FileError(
                f"{self.folder} has lost its measures, which name its {len(found)} models; copy "
                f"metrics.parquet back, or train it again in another folder"
            )
        return found

    def to_frame(self) -> pandas.DataFrame:
        """One row per member and measure."""
        import pandas as pd

        return pd.DataFrame(self.rows)

    def __str__(self) -> str:
        count, last = len(self.members), averages(latest(self.rows))
        shown = "  ".join(f"{name} {value:.4g}" for name, value in last.items())
        place = "" if self.folder is None else f", in {self.folder}"
        return f"{self.kind}, {count} trained for {self.step:,} steps{place}\n{shown}"

    @property
    def _first(self) -> Trainable:
        found: Trainable = self.config[0] if isinstance(self.config, tuple) else self.config
        return found


def train(
    config: Trainable | Sequence[Trainable],
    out: str | os.PathLike[str] | None = None,
    *,
    seeds: int | Iterable[int] | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> TrainedRun:
    """Train the model of a config, or those of several configs as one ensemble.

    With `out` the run is saved in that folder, and one that was stopped is resumed.
    `seeds` trains one model per seed: say how many, or which.

    >>> from espalier.training import ParityRun, StepRecipe
    >>> from espalier.data import ParityConfig
    >>> from espalier.nets.transformer import TransformerShape
    >>> shape = TransformerShape(3, 2, width=8, hidden=8, heads=2, head_width=4, layers=1)
    >>> recipe = StepRecipe(20, 8, 1e-2, measures=2, precision="float32")
    >>> run = ParityRun(shape, ParityConfig(3, 4), ParityConfig(6, 4, seed=1), recipe)
    >>> train(run, seeds=3, device="cpu").members
    ('seed-0', 'seed-1', 'seed-2')
    """
    configs = list(config) if isinstance(config, Sequence) else [config]
    for one in configs:
        if not hasattr(one, "prepare"):
            raise ConfigError(
                f"{str(one)[:60]!r} cannot be trained; give a config, such as es.ParityRun()"
            )
    check_progress(progress)
    if seeds is not None:
        chosen = check_seeds(seeds)
        configs = [one for each in configs for one in each.with_seeds(chosen)]
    if not configs:
        raise ConfigError("there is nothing to train: give a config, or several")
    if len({type(one) for one in configs}) > 1:
        kinds = ", ".join(sorted({one.kind for one in configs}))
        raise ConfigError(f"configs of several kinds ({kinds}) cannot be trained as one ensemble")
    where, plan = choose_device(device), configs[0].plan()
    prepared = configs[0].prepare(where, configs[1:])
    if out is None and prepared.needs_folder:
        raise ConfigError(f"{prepared.needs_folder}: say where with out=")
    folder = None if out is None else RunFolder.create(out)
    rows = fit_prepared(prepared, plan, configs, folder=folder, progress=progress)
    return TrainedRun(
        configs[0] if len(configs) == 1 else tuple(configs),
        tuple(rows),
        None if folder is None else folder.path,
        prepared.learner.snapshot(),
        where,
    )


def manifest_config(configs: Sequence[Trainable]) -> dict[str, Any]:
    """The entry for the configs of one run in a manifest, as JSON."""
    several = {"members": [one.to_dict() for one in configs]}
    found: dict[str, Any] = several if len(configs) > 1 else configs[0].to_dict()
    found = json.loads(json.dumps(found))
    return found


def fit_prepared(
    prepared: Prepared,
    plan: Plan,
    configs: Sequence[Trainable],
    *,
    folder: RunFolder | None,
    progress: Progress | None,
) -> list[Row]:
    """Train the learner of these configs to the end, and return every measured row."""
    learner, also = prepared.learner, None
    if folder is None:
        return fit(learner, plan, progress=progress)
    refuse_without_state(folder)
    kind, config = configs[0].kind, manifest_config(configs)
    data, tables = prepared.data, ("metrics", *prepared.tables)
    manifest = describe_run(kind, config, data=data, device=learner.device, tables=tables)
    manifest |= {"epochs": plan.epochs}
    with recorded(folder, manifest):
        if prepared.in_folder is not None:
            also = prepared.in_folder(folder)
        return fit(learner, plan, folder=folder, progress=progress, also=also)


def refuse_without_state(folder: RunFolder) -> None:
    """Raise if a finished run has no point to resume from: it would be trained again."""
    old = folder.manifest()
    if old is not None and old["status"] == "finished" and not (folder.path / RESUME).exists():
        raise FileError(
            f"{folder.path} is finished, and its {RESUME} is missing: it cannot be resumed, and "
            f"its measures would be dropped; copy the file back, read the run by es.load, or "
            f"remove the folder to train it again"
        )


def open_run(
    path: str | os.PathLike[str], *, kinds: Iterable[type[Trainable]], device: str = "auto"
) -> TrainedRun:
    """The result of `train` for a finished run, with the weights of its last checkpoint.

    `kinds` are the types of config that the run may have.
    """
    folder, known = RunFolder(Path(path)), {one.kind: one for one in kinds}
    manifest = folder.finished(*known)
    refuse_edited(folder)
    kind, settings = known[manifest["kind"]], manifest["config"]
    configs = [kind.read(one, folder) for one in settings.get("members", [settings])]
    return TrainedRun(
        configs[0] if len(configs) == 1 else tuple(configs),
        tuple(folder.rows()),
        folder.path,
        folder.last_checkpoint(),
        choose_device(device),
    )


def seed_of(path: str | os.PathLike[str], *, member: str | None = None) -> int | None:
    """The seed of the language model in a run's folder or checkpoint; None if no manifest has it.

    >>> import tempfile
    >>> from espalier.training import ScaffoldRun
    >>> folder = RunFolder.create(tempfile.mkdtemp())
    >>> folder.write_manifest(describe_run("scaffold", ScaffoldRun().with_seeds((3,))[0].to_dict(),
    ...     data={}, device=torch.device("cpu")))
    >>> folder.save_checkpoint("epoch-1", Snapshot({}, {"step": "1"})).name
    'epoch-1.safetensors'
    >>> seed_of(folder.path)
    3
    """
    file = find_checkpoint(path)
    manifest = RunFolder(file.parent).manifest()
    if manifest is None:
        return None
    refuse_edited(RunFolder(file.parent))
    config = manifest["config"]
    if isinstance(several := config.get("members"), list):
        names = member_names(file)
        config = dict(enumerate(several)).get(names.index(member) if member in names else 0)
    found = flatten(config) if isinstance(config, dict) else {}
    seed = found.get("seed", found.get("corpus.seed"))
    return seed if type(seed) is int and abs(seed) <= LARGEST_SEED else None
