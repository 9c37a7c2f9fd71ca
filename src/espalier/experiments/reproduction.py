"""A reproduction is a folder: the settings, the rows, and the figure.

manifest.json holds the resolved config, seeds, threads, versions and the hash of the data;
rows.parquet every number; figure.png and figure.svg the picture. Given again, an interrupted one
resumes: its runs resume at their last step. A finished one is read, not computed. Where pandas or
matplotlib are missing (on a borrowed GPU, say) the rows are saved as rows.jsonl, and reading the
folder where they are installed adds the rest.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import threading
from collections.abc import Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import ConfigError, FileError, is_number
from espalier.experiments.cache import RunCache
from espalier.experiments.deadline import deadline
from espalier.experiments.experiment import Experiment, Scale, check_scale, parts_of
from espalier.experiments.language_checkpoints import digest
from espalier.experiments.languages import Language
from espalier.experiments.minimal_versions import MinimalVersions
from espalier.experiments.parity_models import (
    LEARNERS,
    Learner,
    Learners,
    digest_of,
    label_of,
    name_of,
)
from espalier.experiments.protocols import Protocols
from espalier.experiments.registry import find
from espalier.experiments.scaffold_models import ScaffoldModels
from espalier.files import as_path, write_figure
from espalier.results import Result
from espalier.runs import (
    HERE,
    IDENTITY,
    AnyWorkers,
    Progress,
    RunFolder,
    Workers,
    check_progress,
    describe_run,
    identity_of,
    locked,
    recorded,
    refuse_other_config,
)
from espalier.training import as_settings, check_seeds

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

MOST_SECONDS = threading.TIMEOUT_MAX // 1  # that a timer can wait
KIND, ROWS, PICTURES = "reproduction", "rows", ("figure.png", "figure.svg")


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Result):
    """One experiment that was run: its folder, its manifest and its rows.

    >>> import pandas
    >>> rows = pandas.DataFrame({"claim": ["1"]})
    >>> Reproduction("scaffold-claims", Path("out"), {"scale": "smoke"}, rows).experiment.summary
    "the papers' five claims about scaffolds, decided with numbers"
    """

    name: str
    path: Path
    manifest: dict[str, Any]
    rows: pandas.DataFrame

    @property
    def experiment(self) -> Experiment:
        """What was run."""
        return find(self.name)

    def to_frame(self) -> pandas.DataFrame:
        """Every number."""
        return self.rows.copy()

    def table(self) -> pandas.DataFrame:
        """The final numbers of the figure, with intervals over seeds."""
        return self.experiment.tabulate(self.rows)

    def plot(self, *, ax: Any = None) -> Figure:
        """The paper's figure; it has panels of its own and takes no `ax`."""
        if ax is not None:
            raise ConfigError(f"{self.name} has panels of its own; draw it without ax")
        return self.experiment.draw(self.rows)

    def __str__(self) -> str:
        head = f"{self.name} ({self.manifest['scale']}): {len(self.rows):,} rows"
        return f"{head} in {self.path}\n{self.table().to_string(index=False)}"

    def _repr_png_(self) -> bytes:
        return (self.path / PICTURES[0]).read_bytes()


def reproduce(
    name: str,
    *,
    scale: Scale = "small",
    out: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | RunCache = "runs",
    config: Any = None,
    only: Sequence[str] = (),
    seconds: float | None = None,
    device: str = "auto",
    workers: AnyWorkers = HERE,
    progress: Progress | None = None,
) -> Reproduction:
    """Run an experiment, or resume it, and store it in a folder.

    `out` is by default reproductions/NAME-SCALE; `runs` is where trained models are stored and
    looked up. `config` replaces the scale's own. Of experiments that train several models, `only`
    chooses those whose names have all of these words ("2 layers", "shared"); of the authors'
    protocols, the generator and the reading ("apart", "own step"). Each of the `workers` takes one
    such model. After `seconds`, if given, it stops as by Ctrl-C; the same call resumes it.

    >>> import espalier as es
    >>> folder = getfixture("tmp_path")
    >>> places = {"out": folder / "two", "runs": folder / "runs"}
    >>> found = es.reproduce("alta-table-2", scale="smoke", **places)
    >>> sorted(file.name for file in found.path.iterdir())
    ['figure.png', 'figure.svg', 'manifest.json', 'rows.parquet']
    """
    _refuse_limits(only, seconds)
    check_progress(progress)
    workers = Workers.of(workers)
    if isinstance(runs, RunCache) and (workers != HERE or device != "auto" or progress is not None):
        raise ConfigError(
            "runs= is a RunCache, which has a device, workers and progress of its own; give them "
            "to that"
        )
    experiment = find(name)
    chosen = experiment.config(check_scale(scale)) if config is None else config
    chosen = _narrowed(chosen, only)
    if experiment.drawn and not _named(chosen, experiment.drawn):
        given = f"those with {' and '.join(map(repr, only))}" if only else "those of config="
        raise ConfigError(
            f"{name} shows only models that have {' and '.join(map(repr, experiment.drawn))}, and "
            f"none of {given} has; choose others"
        )
    ending = "-".join([scale, *(word.replace(" ", "-") for word in only)])
    place = Path("reproductions", f"{name}-{ending}") if out is None else as_path(out)
    if (RunFolder(place).manifest() or {}).get("status") != "finished":
        experiment.refuse_lacking(name)
    folder = RunFolder.create(place)
    asked = _asked_for(name, scale, chosen)
    old = _same_as_before(folder, asked)
    if old is None or old["status"] != "finished":
        cache = runs
        if not isinstance(cache, RunCache):
            cache = RunCache(cache, device=device, progress=progress, workers=workers)
        with deadline(seconds), recorded(folder, _describe(asked, chosen, cache)) as manifest:
            rows = cache.rows(experiment.measure, chosen)
            manifest["data"] = _data_read(chosen, cache)
            folder.write_rows(rows, ROWS)
    return read_reproduction(folder.path)


def read_reproduction(path: str | os.PathLike[str]) -> Reproduction:
    """A finished reproduction from its folder; its table and figure are made if they are not yet.

    Where there is no pandas, the rows stay in the folder and a `ConfigError` says so.
    """
    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    if manifest is None or manifest.get("kind") != KIND or manifest["status"] != "finished":
        raise ConfigError(f"{folder.path} holds no finished reproduction; make one with reproduce")
    if importlib.util.find_spec("pandas") is None:
        raise ConfigError(f"the rows are in {folder.path}; a table and a figure need pandas")
    import pandas as pd

    wanted = [folder.path / picture for picture in PICTURES]
    missing = [file for file in wanted if not file.exists()]
    with locked(folder.path) if missing else nullcontext():
        if missing:
            folder.tidy()
        rows = pd.DataFrame(folder.rows(ROWS))
        if rows.empty:
            raise FileError(
                f"{folder.path} lacks {ROWS}.parquet; remove the folder to make it again"
            )
        found = Reproduction(manifest["name"], folder.path, manifest, rows)
        if missing:
            figure = found.plot()
            for picture in missing:
                write_figure(picture, figure)
                figure.set_layout_engine("none")  # laid out once, so that both are one picture
    return found


def _refuse_limits(only: Sequence[str], seconds: float | None) -> None:
    """Raise if `only` is no list of words, or `seconds` no usable limit."""
    listed = isinstance(only, Sequence) and not isinstance(only, str | bytes)
    if not listed or not all(isinstance(word, str) and word.strip() for word in only):
        raise ConfigError(f"only is {only!r}; give a list of words that models' names have")
    if seconds is not None and (not is_number(seconds) or not 0 < seconds <= MOST_SECONDS):
        raise ConfigError(
            f"seconds is {seconds!r}; use a number above 0, up to {MOST_SECONDS:,}, or leave it out"
        )


def _narrowed(config: Any, words: Sequence[str]) -> Any:
    """The config with only those learners or protocols whose labels have all of these words.

    Words are whole: `2 layers` is not in `32 layers`.
    """
    if not words:
        return config
    chosen = _named(config, words)
    if not chosen:
        known = "; ".join(_labels(config).values())
        raise ConfigError(f"nothing here has {' and '.join(map(repr, words))}; there are: {known}")
    return Learners(tuple(chosen)) if isinstance(config, Learners) else config.narrowed(chosen)


def _named(config: Any, words: Sequence[str]) -> list[Any]:
    """The learners or protocols of a config whose labels have all of these words, whole."""
    whole = [re.compile(rf"(?<!\w){re.escape(word)}(?!\w)") for word in words]
    labels = _labels(config).items()
    return [one for one, label in labels if all(word.search(label) for word in whole)]


def _labels(config: Any) -> dict[Any, str]:
    """The learners or protocols that can be chosen, with their labels."""
    if isinstance(config, Learners):
        return {learner: label_of(learner) for learner in config.learners}
    if isinstance(config, Protocols):
        return {cell: ", ".join(cell) for cell in config.cells}
    raise ConfigError("this experiment reads one ensemble; it has no models to choose among")


def _asked_for(name: str, scale: Scale, config: Any) -> dict[str, Any]:
    """The settings that identify a reproduction, as JSON."""
    found: dict[str, Any] = {"name": name, "scale": scale, "config": as_settings(config)}
    found = json.loads(json.dumps(found))
    return found


def _same_as_before(folder: RunFolder, asked: dict[str, Any]) -> dict[str, Any] | None:
    """The existing manifest, if any; one with other settings is refused."""
    old = folder.manifest()
    if old is None:
        return None
    if old.get("kind") != KIND:
        raise ConfigError(
            f"{folder.path} holds a run of kind {old.get('kind')!r}, not a reproduction; "
            f"give another folder"
        )
    held, wanted = (f"{one['name']} ({one['scale']})" for one in (old, asked))
    if held != wanted:
        raise ConfigError(f"{folder.path} holds {held}, not {wanted}; give another folder")
    refuse_other_config(folder, old["config"], asked["config"])
    return old


def _describe(asked: dict[str, Any], config: Any, cache: RunCache) -> dict[str, Any]:
    """The manifest of a new reproduction."""
    manifest = describe_run(KIND, asked["config"], data={}, device=cache.device, tables=(ROWS,))
    manifest["versions"] |= _versions(("pandas", "matplotlib"))
    behind: list[ScaffoldModels | Language | Learner | MinimalVersions] = [
        *parts_of(config, MinimalVersions),
        *parts_of(config, ScaffoldModels),
        *parts_of(config, Language),
        *parts_of(config, LEARNERS),
    ]
    seeds = {seed for one in behind for seed in check_seeds(one.seeds)}
    return manifest | asked | {"seeds": sorted(seeds), IDENTITY: identity_of(asked, {})}


def _data_read(config: Any, cache: RunCache) -> dict[str, Any]:
    """The data hash of each run behind a config, and a hash over all."""
    found = {
        models.name: cache.trained(models).folder.data_sha256()
        for models in parts_of(config, ScaffoldModels)
    } | {language.name: digest(language, cache) for language in parts_of(config, Language)}
    found |= {name_of(one): digest_of(one, cache) for one in parts_of(config, LEARNERS)}
    whole = hashlib.sha256("".join(found[name] for name in sorted(found)).encode()).hexdigest()
    return {"sha256": whole, "runs": found}


def _versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of those packages that are installed."""
    from importlib import metadata

    found = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
