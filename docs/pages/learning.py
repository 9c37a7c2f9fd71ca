"""docs/results/learning.md from committed rows: `python -m docs.pages learning`.

Reads docs/results/data/learning, where the files that `python -m benchmarks.learn` wrote are put as
they are, and paces in speed-, attention- and layers-h200.json; draws docs/images/learning.
Transformers: see parity.py, scan.py, length.py, seeds.py and readable.py; their manifests: runs.py.
The small scale: small.py.
"""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
from benchmarks.attention import SIZES

from docs.pages.filling import DOCS, fill, join_rows, markdown, read_manifests, read_rows
from docs.pages.length import at_small_scale, length_at_paper_scale, length_blocks
from docs.pages.parity import KINDS, TABLE_2, beyond, draw_parity, fitting, table_3, trained
from docs.pages.readable import readable_blocks
from docs.pages.runs import of_kind, until_fitted
from docs.pages.scan import (
    MODEL,
    after_as_many,
    draw_scan,
    left_out,
    steps_in_words,
    table_6,
    taught,
    twice,
)
from docs.pages.seeds import seeds_blocks
from docs.pages.small import small_blocks
from espalier import experiments
from espalier.experiments import PROGRAMS
from espalier.files import write_figure, write_text


def learning(docs: Path = DOCS) -> list[str]:
    """Fill the page; return the names of the blocks filled."""
    data, pictures = docs / "results/data/learning", docs / "images/learning"
    pictures.mkdir(parents=True, exist_ok=True)
    rows = read_rows(data, "alta-figure-4")
    figure = experiments.find("alta-figure-4").draw(rows)
    write_figure(pictures / "alta-figure-4.png", figure)
    ends = join_rows(data, "alta-table-3", KINDS)
    draw_parity(ends, rows, pictures)
    speed = json.loads((data / "speed-h200.json").read_text(encoding="utf-8"))
    ways = (data / "attention-h200.json").read_text(encoding="utf-8")
    layered = (data / "layers-h200.json").read_text(encoding="utf-8")
    take_in_manifests(data)
    told = read_manifests(data)
    manifests = {name: one for name, one in told.items() if not until_fitted(one)}
    singles = {"alta-table-2": rows, "alta-table-3": ends}
    blocks = {
        "run": markdown(described(of_kind(manifests, "traces"))),
        "alta-table-2": markdown(table_2(rows)),
        "run-parity": markdown(trained(of_kind(manifests, "parity"))),
        "alta-table-3": markdown(table_3(ends)),
        "fitting": markdown(fitting(join_rows(data, "curves", ["learner", "seed"]))),
        "beyond": markdown(beyond(ends)),
        "speed": markdown(pace(speed["calls"])),
        "attention": markdown(attending(json.loads(ways))),
        "layers": markdown(layers(json.loads(layered))),
    }
    if any(data.glob("alta-table-3-biases.*")):
        blocks["biases"] = markdown(beyond(join_rows(data, "alta-table-3-biases", KINDS)))
    if any(data.glob("alta-table-6.*")):
        steps = join_rows(data, "alta-table-6", MODEL)
        singles["alta-table-6"] = steps
        draw_scan(steps, pictures)
        blocks |= {
            "run-scan": markdown(taught(of_kind(manifests, "scan"))),
            "alta-table-6": markdown(table_6(steps)),
            "fewer-steps": steps_in_words(steps),
            "after-as-many": markdown(after_as_many(steps)),
            "twice": markdown(twice(steps, read_rows(data, "alta-table-6-earlier"))),
            "left-out": left_out(steps),
        }
    if any(data.glob("alta-length-split.*")):
        split = join_rows(data, "alta-length-split", ["variant", "seed"])
        drawn = experiments.find("alta-length-split").draw(split)
        write_figure(pictures / "alta-length-split.png", drawn)
        variants = of_kind(manifests, "scan-variant")
        small = {name: one for name, one in variants.items() if at_small_scale(one)}
        others = {name: one for name, one in variants.items() if name not in small}
        blocks |= length_blocks(split, small, scale="small")
        blocks["length-paper"] = length_at_paper_scale(data, others, pictures)
    fitted = {name: one for name, one in told.items() if until_fitted(one)}
    blocks |= seeds_blocks(data, fitted, singles=singles, pictures=pictures)
    blocks |= readable_blocks(data, manifests)
    blocks |= small_blocks(data, pictures)
    page = docs / "results/learning.md"
    write_text(page, fill(page.read_text(encoding="utf-8"), blocks))
    return list(blocks)


def take_in_manifests(data: Path) -> None:
    """Put what a call of the script says of its runs to what others said: a file a kind."""
    carried = data / "manifests.json"
    if not carried.exists():
        return
    new = json.loads(carried.read_text(encoding="utf-8"))
    for kind in {one["kind"] for one in new.values()}:
        file = data / f"manifests-{kind}.json"
        old = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        write_text(file, json.dumps(old | of_kind(new, kind)) + "\n")
    carried.unlink()


def described(manifests: dict[str, dict]) -> pd.DataFrame:
    """What was trained, where, and for how long."""
    found = []
    for name, one in manifests.items():
        recipe = one["config"]["settings"]["recipe"]
        found.append(
            {
                "run": name.rpartition("-")[0],
                "seeds": len(one["config"]["seeds"]),
                "distinct lessons": one["config"]["lessons"],
                "steps": f"{recipe['steps']:,}",
                "products": recipe["precision"],
                "device": one["device"],
                "torch": one["versions"]["torch"],
                "seconds": round(one["seconds"]),
                "data": one["data"]["sha256"][:12],
            }
        )
    return pd.DataFrame(found)


def table_2(rows: pd.DataFrame) -> pd.DataFrame:
    """The paper's numbers beside ours."""
    table = experiments.find("alta-figure-4").tabulate(rows)
    slices = [name for name in table if name not in ("program", "version")]
    found = []
    for program, printed in TABLE_2.items():
        own = table[table["program"] == program].set_index("version")
        paper = dict(zip(slices, printed, strict=True))
        found.append({"program": PROGRAMS[program], "version": "trained, paper"} | paper)
        for version, title in VERSIONS.items():
            here = {name: f"{own.loc[version, name]:.1%}" for name in slices}
            found.append({"program": PROGRAMS[program], "version": title} | here)
    return pd.DataFrame(found)


VERSIONS = {
    "traces": "trained, here",
    "minimal": "minimal version",
    "original": "compiled",
}


def pace(calls: list[dict]) -> pd.DataFrame:
    """Steps a second alone and, where that was measured in the same call, beside others."""
    found = []
    for call in calls:
        groups = {key.partition(" ")[0]: call[key] for key in call if key.endswith("at once")}
        beside = {row["learner"]: (row, count) for count, group in groups.items() for row in group}
        for row in call["alone"]:
            other, count = beside.get(row["learner"], ({}, "-"))
            found.append(
                {
                    "learner": row["learner"],
                    "code": call["code"],
                    "steps/s alone": row["steps_per_second"],
                    "TFLOP/s": row["tflops"],
                    "share of the product's peak": f"{row['share_of_peak']:.1%}",
                    "steps/s beside others": other.get("steps_per_second", "-"),
                    "at once": count,
                }
            )
    return pd.DataFrame(found)


def attending(rows: list[dict]) -> pd.DataFrame:
    """Microseconds and errors of the ways to attend, a line a size; a dash for what failed."""
    sizes = {size.name: size for size in SIZES}
    found: dict[str, dict] = {}
    for row in rows:
        size = sizes[row["size"]]
        line = found.setdefault(
            size.name,
            {
                "attention": size.name,
                "heads in all": size.members * size.rows * size.heads,
                "of width": size.width,
                "positions": f"{size.asking} see {size.asked}",
            },
        )
        none = row["error"] is None
        line[f"{row['way']}, us"] = "-" if none else row["microseconds"]
        line[f"{row['way']}, error"] = "-" if none else f"{row['error']:.1e}"
    return pd.DataFrame(found.values())


def layers(found: dict) -> pd.DataFrame:
    """Paces and errors of layers one by one and as kernels."""
    return pd.DataFrame(
        {
            "on": {"scan": "SCAN", "parity": "parity"}[row["learner"].split()[0]],
            "layers": int(row["learner"].split()[1]),
            "shared": {"shared": "yes", "own": "no"}[row["learner"].split()[2]],
            "way": row["way"],
            "rows of cells": f"{row['rows']} of {row['cells']}",
            "steps/s": round(row["steps_per_second"]),
            "times as fast": f"{row['times_as_fast']:.2f}",
            "error of logits": f"{row['error_logits_norm']:.2%}",
            "of gradients": f"{row['error_gradients_norm']:.2%}",
        }
        for row in found["rows"]
    )
