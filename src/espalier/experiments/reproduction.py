"""A reproduction is a folder: what was asked for, the rows, and the figure.

manifest.json holds the resolved config, seeds, threads, versions and the hash of the data;
rows.parquet every number; figure.png and figure.svg the picture. An interrupted one goes on when
asked for again: its ensembles resume at their last step, and a finished one is read, not computed.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from espalier.errors import ConfigError, FileError
from espalier.experiments import Experiment, load
from espalier.experiments.languages import Language, languages_in
from espalier.experiments.learners import Learner, digest_of, learners_in, name_of
from espalier.experiments.models import Models, Scale, checked, models_in
from espalier.experiments.moments import digest
from espalier.experiments.shelf import Shelf
from espalier.files import write_frame
from espalier.runs import Interrupted, RunFolder, close_run, describe_run, refuse_other_config

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

KIND, ROWS, PICTURES = "reproduction", "rows.parquet", ("figure.png", "figure.svg")


@dataclass(frozen=True, eq=False)
class Reproduction:
    """One experiment that was run: its folder, its manifest and its rows."""

    experiment: Experiment
    path: Path
    manifest: dict[str, Any]
    rows: pandas.DataFrame

    def to_frame(self) -> pandas.DataFrame:
        """Every number."""
        return self.rows.copy()

    def table(self) -> pandas.DataFrame:
        """What the figure says in the end, with intervals over seeds."""
        return self.experiment.tabulate(self.rows)

    def figure(self) -> Figure:
        """The picture."""
        return self.experiment.draw(self.rows)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows as .csv, .parquet or .json."""
        write_frame(path, self.rows)

    def __repr__(self) -> str:
        head = f"{self.experiment.name} ({self.manifest['scale']}): {len(self.rows):,} rows"
        return f"{head} in {self.path}\n{self.table().to_string(index=False)}"

    def _repr_png_(self) -> bytes:
        return (self.path / PICTURES[0]).read_bytes()


def reproduce(
    name: str,
    *,
    scale: Scale = "small",
    out: str | os.PathLike[str] | None = None,
    shelf: Shelf | None = None,
    config: Any = None,
) -> Reproduction:
    """Run an experiment, or go on with it, and keep it in a folder.

    `out` is by default reproductions/NAME-SCALE. `shelf` holds the ensembles, by default in runs/.
    `config` takes the place of the scale's own.
    """
    experiment = load(name)
    chosen = experiment.config(checked(scale)) if config is None else config
    folder = RunFolder.create(Path("reproductions", f"{name}-{scale}") if out is None else out)
    asked = asked_for(name, scale, chosen)
    old = _same_as_before(folder, asked)
    if old is not None and old["status"] == "finished":
        return read_reproduction(folder.path)
    shelf = Shelf() if shelf is None else shelf
    manifest = describe(asked, chosen, shelf)
    if old is not None:
        manifest |= {"began": old["began"], "seconds": old["seconds"]}
    _compute(experiment, chosen, shelf=shelf, folder=folder, manifest=manifest)
    return read_reproduction(folder.path)


def asked_for(name: str, scale: Scale, config: Any) -> dict[str, Any]:
    """What makes two reproductions the same, as JSON has it."""
    found: dict[str, Any] = {"name": name, "scale": scale, "config": asdict(config)}
    found = json.loads(json.dumps(found))
    return found


def read_reproduction(path: str | os.PathLike[str]) -> Reproduction:
    """A finished reproduction from its folder."""
    import pandas as pd

    folder = RunFolder(Path(path))
    manifest = folder.manifest()
    if manifest is None or manifest.get("kind") != KIND or manifest["status"] != "finished":
        raise ConfigError(f"{folder.path} holds no finished reproduction; make one with reproduce")
    if not (folder.path / ROWS).exists():
        raise FileError(f"{folder.path} lacks {ROWS}; remove the folder to compute it again")
    rows = pd.read_parquet(folder.path / ROWS)
    return Reproduction(load(manifest["name"]), folder.path, manifest, rows)


def _compute(
    experiment: Experiment,
    config: Any,
    *,
    shelf: Shelf,
    folder: RunFolder,
    manifest: dict[str, Any],
) -> None:
    """Train what is missing, compute the rows, draw them; the manifest says how it ended."""
    folder.write_manifest(manifest)
    began, status = time.monotonic(), "failed"
    try:
        rows = shelf.rows(experiment.run, config)
        manifest["data"] = data_read(config, shelf)
        write_frame(folder.path / ROWS, rows)
        draw_into(folder.path, experiment, rows)
        status = "finished"
    except Interrupted:
        status = "interrupted"
        raise
    finally:
        close_run(folder, manifest, status=status, seconds=time.monotonic() - began)


def draw_into(folder: Path, experiment: Experiment, rows: pandas.DataFrame) -> None:
    """Write the figure as PNG and SVG."""
    from espalier.files import write_figure

    figure = experiment.draw(rows)
    for name in PICTURES:
        write_figure(folder / name, figure)


def _same_as_before(folder: RunFolder, asked: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest that is there; one of anything else than what is asked for is refused."""
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


def describe(asked: dict[str, Any], config: Any, shelf: Shelf) -> dict[str, Any]:
    """The manifest of a reproduction that is about to begin."""
    manifest = describe_run(KIND, asked["config"], data={}, device=shelf.device)
    manifest["versions"] |= _versions(("pandas", "matplotlib"))
    behind: list[Models | Language | Learner] = [
        *models_in(config),
        *languages_in(config),
        *learners_in(config),
    ]
    seeds = max(one.seeds for one in behind)
    return manifest | asked | {"seeds": list(range(seeds))}


def data_read(config: Any, shelf: Shelf) -> dict[str, Any]:
    """What is behind a config, each with the hash of its data, and a hash over all."""
    found = {
        models.name: shelf.trained(models).manifest["data"]["sha256"]
        for models in models_in(config)
    } | {language.name: digest(language, shelf) for language in languages_in(config)}
    found |= {name_of(one): digest_of(one, shelf) for one in learners_in(config)}
    whole = hashlib.sha256("".join(found[name] for name in sorted(found)).encode()).hexdigest()
    return {"sha256": whole, "ensembles": found}


def _versions(names: Iterable[str]) -> dict[str, str]:
    """Of the packages that are installed here."""
    from importlib import metadata

    found = {}
    for name in names:
        with suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found
