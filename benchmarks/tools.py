"""Every program of the zoo in every tool: equal outputs on 100 inputs, or not.

python -m benchmarks.tools [--programs NAME ...] [--anew] writes results/tools.json and the page
docs/results/tools.md. Results are saved: started again, it resumes with the missing programs, as
long as versions and settings are the same.
"""

from __future__ import annotations

import argparse
import gc
import json
import tempfile
import time
import warnings
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch
from docs.pages.tools import tools as fill_page

import espalier as es
from benchmarks.harness import RESULTS, machine
from benchmarks.tool_cells import TOOLS, Case
from espalier.files import write_text

INPUTS, SIZE, SEED = 100, 4, 0
# A machine of 32 cells has 6,691 units in each of its dense blocks.
SETTINGS: dict[str, dict[str, Any]] = {
    "scan": {"outputs": 24},
    "subleq": {"lowest": -8, "highest": 7, "memory": 8},
}
PACKAGES = {
    "torch": "torch",
    "ONNX": "onnx",
    "onnxruntime": "onnxruntime",
    "transformers": "transformers",
    "TransformerLens": "transformer-lens",
    "nnsight": "nnsight",
    "pyvene": "pyvene",
    "captum": "captum",
}


def load(name: str) -> Case:
    """The program, and as many layers as the longest of its inputs needs."""
    entry = es.zoo.load(name, **SETTINGS.get(name, {}))
    model = es.compile_program(entry.program)
    batch = [entry.encode(given) for given in entry.samples(INPUTS, size=SIZE, seed=SEED)]
    runs = model.run_many(batch, max_layers=entry.max_layers)
    depths = [run.layers for run in runs]
    plain = model.unroll(max(depths), max(map(len, batch))).eval()
    outputs = [run.outputs for run in runs]
    return Case(model, plain, batch, plain.pad(batch), max(depths), min(depths), outputs)


def measure(name: str) -> dict[str, Any]:
    case = load(name)
    config = case.plain.config
    row: dict[str, Any] = {
        "program": name,
        "settings": SETTINGS.get(name, {}),
        "layers": case.layers,
        "blocks": len(config.plan),
        "width": config.d_model,
        "units": config.d_mlp,
        "longest": case.tokens.shape[1],
    }
    for tool, work in TOOLS.items():
        began = time.process_time()
        torch.manual_seed(SEED)
        with tempfile.TemporaryDirectory() as folder, torch.no_grad():
            try:
                row[tool] = work(case, Path(folder))
            except ImportError as error:
                row[tool] = f"not installed ({error.name})"
            except Exception as error:
                row[tool] = f"{type(error).__name__}: {str(error)[:80]}"
        print(f"{name}, {tool}: {row[tool]} ({time.process_time() - began:.1f} s)", flush=True)
        gc.collect()
    return row | {"exchanges that change an output": case.changed}


def conditions() -> dict[str, Any]:
    """What must be the same for a row to be reused."""
    versions = {}
    for name, package in PACKAGES.items():
        try:
            versions[name] = version(package)
        except PackageNotFoundError:
            versions[name] = "not installed"
    return {
        "machine": machine(),
        "versions": versions,
        "inputs": INPUTS,
        "size": SIZE,
        "seed": SEED,
        "tools": list(TOOLS),
    }


def kept(now: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The rows of an earlier run under the same conditions."""
    path = RESULTS / "tools.json"
    found = json.loads(path.read_text()) if path.exists() else {}
    if {name: value for name, value in found.items() if name != "rows"} != now:
        return {}
    rows = {row["program"]: row for row in found["rows"]}
    return {n: row for n, row in rows.items() if row["settings"] == SETTINGS.get(n, {})}


def write(now: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    RESULTS.mkdir(exist_ok=True)
    write_text(RESULTS / "tools.json", json.dumps(now | {"rows": rows}, indent=1))
    fill_page()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", nargs="*", default=list(es.zoo.names()))
    parser.add_argument("--anew", action="store_true", help="ignore the results of an earlier run")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    now = conditions()
    rows = {} if given.anew else kept(now)
    for name in given.programs:
        if name not in rows:
            rows[name] = measure(name)
        write(now, [rows[known] for known in es.zoo.names() if known in rows])


if __name__ == "__main__":
    main()
