"""The manifest of a run, and whether the run in a folder can be resumed."""

from __future__ import annotations

import hashlib
import json
import platform
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from espalier.errors import ConfigError, FileError
from espalier.files import MANIFEST
from espalier.runs.folder import RunFolder
from espalier.runs.lock import locked
from espalier.runs.loop import Interrupted
from espalier.runs.rows import IDENTITY
from espalier.version import __version__

if TYPE_CHECKING:
    import torch

GROWABLE = "recipe.epochs"  # a finished run, or every member of one, may be trained for more
DESCRIBED = "described"  # the identity of config and data as this version writes them
_MACHINE = ("device", "threads", "versions")


def describe_run(
    kind: str,
    config: dict[str, Any],
    *,
    data: dict[str, Any],
    device: torch.device,
    tables: Sequence[str] = ("metrics",),
) -> dict[str, Any]:
    """The manifest of a run that is about to start or resume; it writes only these tables.

    >>> import torch
    >>> about = describe_run("parity", {"seeds": 1}, data={}, device=torch.device("cpu"))
    >>> about["kind"], about["status"], about["device"]
    ('parity', 'running', 'cpu')
    """
    import numpy as np
    import torch

    on_cuda = device.type == "cuda" and torch.cuda.is_available()
    identity = identity_of(config, data)
    return {
        "kind": kind,
        "status": "running",
        "config": config,
        "data": data,
        "device": torch.cuda.get_device_name(device) if on_cuda else device.type,
        "threads": torch.get_num_threads(),
        "versions": {
            "espalier": __version__,
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
        "began": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "seconds": 0.0,
        "tables": list(tables),
        IDENTITY: identity,
        DESCRIBED: identity,
    }


def identity_of(config: dict[str, Any], data: dict[str, Any]) -> str:
    """A digest of settings and data, without the number of epochs, which may grow.

    >>> identity_of({"seed": 0}, {}) == identity_of({"seed": 1}, {})
    False
    """
    grows = f".{GROWABLE}"
    settings = {name: one for name, one in _flat(config).items() if not f".{name}".endswith(grows)}
    digests = {name: one for name, one in _flat(data).items() if name.endswith("sha256")}
    text = json.dumps([settings, digests], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def with_identity(
    manifest: dict[str, Any], identity: str | None, described: str | None
) -> dict[str, Any]:
    """The manifest of a run whose files carry `identity`, by default what it describes.

    Later versions may describe the same settings in other words, so it has both.
    """
    both = {IDENTITY: identity or described, DESCRIBED: described}
    return manifest | {name: one for name, one in both.items() if one is not None}


@contextmanager
def recorded(folder: RunFolder, manifest: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A block that does the work of a run; the manifest says how it ended and how long it took.

    No other process works on the folder meanwhile. The error of a Ctrl-C names the folder. A
    finished run stays finished if it is refused or stopped before anything was written.

    >>> import tempfile, torch
    >>> about = describe_run("example", {}, data={}, device=torch.device("cpu"))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with recorded(RunFolder.create(place), about):
    ...         pass
    ...     RunFolder.create(place).finished("example")["status"]
    'finished'
    """
    with locked(folder.path):
        old, before = folder.manifest() or {}, _stamps(folder)
        manifest = open_run(folder, manifest)
        began, status = time.monotonic(), "failed"
        try:
            try:
                yield manifest
                status = "finished"
            except KeyboardInterrupt:
                status = "interrupted"
                raise
            finally:
                was_whole = old.get("status") == "finished" and _stamps(folder) == before
                if was_whole and status != "finished":
                    with suppress(FileError):  # the first error is reported
                        folder.write_manifest(old)
                else:
                    close_run(folder, manifest, status=status, seconds=time.monotonic() - began)
                if status != "failed":
                    folder.tidy()
        except Interrupted:
            raise
        except KeyboardInterrupt as stopped:  # before the training loop, after it, or as it closed
            raise Interrupted(
                f"interrupted; saved in {folder.path}: the same command resumes from there"
            ) from stopped


def open_run(folder: RunFolder, manifest: dict[str, Any]) -> dict[str, Any]:
    """Write the manifest; one of the same run that is there is continued, another is refused."""
    old = folder.manifest()
    refuse_foreign_files(folder)
    if old is not None:
        refuse_other_config(folder, {"kind": old["kind"]}, {"kind": manifest["kind"]})
        refuse_other_config(folder, old["config"], manifest["config"])
        refuse_other_data(folder, old["data"], manifest["data"])
        folder.check_own()  # before a finished run is marked as running
        manifest = manifest | {"began": old["began"], "seconds": old["seconds"]}
        manifest |= _machines(old, manifest)
        manifest = with_identity(manifest, old.get(IDENTITY), manifest.get(IDENTITY))
    folder.write_manifest(manifest)
    return manifest


def refuse_edited(folder: RunFolder) -> None:
    """Raise if the settings or data in a manifest are not those that its run was made with.

    Manifests of earlier versions cannot tell.
    """
    manifest = folder.manifest() or {}
    described = manifest.get(DESCRIBED)
    if described is not None and identity_of(manifest["config"], manifest["data"]) != described:
        raise FileError(
            f"{folder.path / MANIFEST} was edited: its config and data are not those of the run; "
            f"put back what was there, or train the run in another folder"
        )


def _stamps(folder: RunFolder) -> dict[str, tuple[int, int]]:
    """When each of a run's files was written last, and how large it is."""
    stats = {name: (folder.path / name).lstat() for name in folder.written()}
    return {name: (one.st_mtime_ns, one.st_size) for name, one in stats.items()}


def _machines(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The machine and versions of a run, and those it had before, if others, as `earlier`.

    A finished run that is not trained further keeps those it was trained with.
    """
    before, now = ({name: one[name] for name in _MACHINE if name in one} for one in (old, new))
    earlier = old.get("earlier")
    earlier = list(earlier) if isinstance(earlier, list) else []
    if old["status"] == "finished" and old["config"] == new["config"]:
        now = before
    elif before != now:
        earlier.append(before)
    return now | ({"earlier": earlier} if earlier else {})


def refuse_foreign_files(folder: RunFolder) -> None:
    """Raise if there are files that a run could overwrite, but no manifest."""
    if folder.manifest() is None and (there := folder.written()):
        raise ConfigError(
            f"{folder.path} holds no run, but {there[0]}, of something else; give another folder"
        )


def close_run(folder: RunFolder, manifest: dict[str, Any], *, status: str, seconds: float) -> None:
    """Write how the run ended and how long this process worked on it.

    If it failed, as on a full disk, an error in writing this does not replace the first one.
    """
    spent = round(manifest["seconds"] + seconds, 3)
    if status == "finished" and (saved := list(folder.checkpoints())):
        manifest = manifest | {"last_checkpoint": saved[-1]}
    with suppress(FileError) if status == "failed" else nullcontext():
        folder.write_manifest(manifest | {"status": status, "seconds": spent})


def refuse_other_config(folder: RunFolder, old: Any, new: Any) -> None:
    """Raise if the run in the folder was started with other settings than these."""
    before, after = _flat(old), _flat(new)
    names = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    grown = [name for name in names if _grown(name, before, after)]
    names = [name for name in names if name not in grown or _falls(name, after)]
    if names:
        shown = ", ".join(f"{n} {before.get(n)!r} -> {after.get(n)!r}" for n in names[:4])
        why = " (its learning rate depends on the number of epochs)" if names == grown else ""
        raise ConfigError(
            f"{folder.path} holds another run: {shown}{why}; give another folder, or remove this "
            f"one"
        )


def refuse_other_data(folder: RunFolder, old: dict[str, Any], new: dict[str, Any]) -> None:
    """Raise if a digest of the run's data has changed."""
    for name in sorted({*old, *new}):
        before, after = old.get(name), new.get(name)
        if name.endswith("sha256") and None not in (before, after) and before != after:
            what = f"another {name.removesuffix('_sha256')}" if "_" in name else "other data"
            raise ConfigError(
                f"{folder.path} was begun on {what} (sha256 {before!s:.12}..., now {after!s:.12}"
                f"...); give another folder"
            )


def _grown(name: str, before: dict[str, Any], after: dict[str, Any]) -> bool:
    new, old = after.get(name), before.get(name)  # the old one may be edited by hand
    return f".{name}".endswith(f".{GROWABLE}") and type(new) is type(old) is int and new >= old


def _falls(name: str, config: dict[str, Any]) -> bool:
    """Whether the learning rate of the run depends on the number of its epochs."""
    recipe = name.removesuffix("epochs")
    adamw = config.get(f"{recipe}optimiser") == "adamw"
    return adamw or bool(config.get(f"{recipe}settle"))


def _flat(config: Any, prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted name."""
    if isinstance(config, dict):
        items: Any = config.items()
    elif isinstance(config, list | tuple):
        items = enumerate(config)
    else:
        return {prefix[:-1]: config}
    return {key: v for name, value in items for key, v in _flat(value, f"{prefix}{name}.").items()}
