"""Runs for a page: folders with their state, live curves, claims with verdicts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from espalier.errors import EspalierError
from espalier.explorer.session import Session
from espalier.runs import RunFolder, list_runs

Answer = dict[str, Any]

MOST_RUNS = 400
MOST_POINTS = 400  # of one curve
MOST_ROWS = 400  # of a reproduction's table
REPRODUCTION = "reproduction"
HORIZONTAL = ("step", "epoch", "seconds")


def show_runs(session: Session, asked: Answer) -> Answer:
    """Every run of the folder: kind, state, how far it came, and its last measures."""
    if not session.runs or not Path(session.runs).is_dir():
        return {"folder": session.runs, "runs": []}
    found = list_runs(session.runs)
    return {
        "folder": session.runs,
        "left": max(0, len(found) - MOST_RUNS),
        "runs": [
            {
                "name": one.name,
                "kind": one.kind,
                "status": one.status,
                "members": one.members,
                "epoch": round(one.epoch, 3),
                "epochs": one.epochs,
                "measures": {name: _number(value) for name, value in one.measures.items()},
                "trouble": one.trouble,
            }
            for one in found[:MOST_RUNS]
        ],
    }


def show_run(session: Session, asked: Answer) -> Answer:
    """A run's settings and curves; what is wrong with it where it is damaged."""
    folder = RunFolder(session.folder(asked.get("run")))
    about: Answer = {"name": asked["run"], "kind": "?", "status": "damaged"}
    try:
        manifest = folder.manifest()
        if manifest is None:
            return about | {"note": "it has no manifest, so it is no run"}
        settings = manifest.get("config")
        about |= {"kind": str(manifest.get("kind", "?")), "config": dict(_settings(settings, ""))}
        curves = {} if about["kind"] == REPRODUCTION else _curves(folder.rows())
        return about | {"status": str(manifest.get("status", "?"))} | curves
    except (EspalierError, AttributeError, TypeError, ValueError) as error:
        return about | {"note": f"it cannot be read: {error}"}


def _settings(config: Any, name: str) -> Iterator[tuple[str, str]]:
    """Every setting by its path, such as network.hidden."""
    if isinstance(config, dict):
        for key, value in config.items():
            yield from _settings(value, f"{name}.{key}" if name else str(key))
    elif name:
        yield name, str(config)[:80]


def _curves(rows: list[dict[str, Any]]) -> Answer:
    """For each measure one line per member: its epochs (or steps) and values."""
    across = "epoch" if rows and "epoch" in rows[0] else "step"
    names = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in HORIZONTAL and any(isinstance(row.get(name), float) for row in rows)
    ]
    members = list(dict.fromkeys(_member(row) for row in rows))
    lines = {
        name: [{"member": one, "points": _points(rows, across, name, one)} for one in members]
        for name in names
    }
    return {"across": across, "curves": lines}


def _member(row: dict[str, Any]) -> str:
    return str(next((row[name] for name in ("member", "seed", "name") if name in row), ""))


def _points(rows: list[dict[str, Any]], across: str, name: str, member: str) -> list[list[Any]]:
    own = [row for row in rows if _member(row) == member and row.get(name) is not None]
    every = max(1, math.ceil(len(own) / MOST_POINTS))
    some = own[::every] + (own[-1:] if (len(own) - 1) % every else [])
    return [[_number(row.get(across, 0)), _number(row[name])] for row in some]


def show_claims(session: Session, asked: Answer) -> Answer:
    """A reproduction's table: claims with verdicts and intervals, where it has some."""
    from espalier.experiments import read_reproduction  # with torch

    frame = read_reproduction(session.folder(asked.get("run"))).table()
    rows = frame.head(MOST_ROWS).itertuples(index=False)
    return {
        "columns": [str(name) for name in frame.columns],
        "rows": [[_cell(value) for value in row] for row in rows],
        "left": max(0, len(frame) - MOST_ROWS),
    }


def _cell(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    return value if isinstance(value, bool | int | str) else str(value)


def _number(value: Any) -> float | None:
    return float(f"{float(value):.6g}") if math.isfinite(float(value)) else None
