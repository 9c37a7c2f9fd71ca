"""What `accelerator.py` packed, made whole: parts joined, lines as Parquet, tables in Markdown.

python benchmarks/unpack.py PACKED_DIR TARGET_DIR
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pandas as pd

from espalier.files import write_figure
from espalier.show.figures import draw_learning

LEARNT = 0.5  # a rule counts as learnt once its close symbol has this probability


def join_parts(packed: Path, target: Path) -> list[Path]:
    """Weights copied, those that came in parts put together again."""
    whole: dict[str, list[Path]] = {}
    for file in packed.glob("*.safetensors*"):
        whole.setdefault(re.sub(r"\.part-\d+$", "", file.name), []).append(file)
    for name, files in whole.items():
        files.sort(key=lambda file: int(file.name.rpartition("-")[2]) if "part" in file.name else 0)
        (target / name).write_bytes(b"".join(file.read_bytes() for file in files))
    return [target / name for name in whole]


def tabulate_scaffold(rows: pd.DataFrame) -> pd.DataFrame:
    """By length and setting: when the rule was learnt, and how well it is known at the end."""
    found = []
    for (length, setting), some in rows.groupby(["length", "setting"]):
        last = some[some["step"] == some["step"].max()]
        first = some[some["in_domain"] >= LEARNT].groupby("seed")["epoch"].min()
        row = {"length": length, "setting": setting, "seeds": last["seed"].nunique()}
        row |= {"learnt by": len(first), "median epoch learnt": first.median()}
        for name in ("in_domain", "out_of_domain"):
            values = last[name]
            row[name] = f"{values.mean():.3f} ({values.min():.3f} to {values.max():.3f})"
        highest = some.groupby("seed")["out_of_domain"].max()
        found.append(row | {"highest out_of_domain": f"{highest.mean():.3f}"})
    return pd.DataFrame(found)


def tabulate_text(rows: pd.DataFrame) -> pd.DataFrame:
    """By member: its best validation perplexity and when it was reached."""
    best = rows.loc[rows.groupby("member")["valid_loss"].idxmin()]
    return best[["member", "epoch", "train_loss", "valid_loss", "valid_perplexity"]]


def markdown(table: pd.DataFrame) -> str:
    lines = ["| " + " | ".join(table.columns) + " |", "|" + "---|" * len(table.columns)]
    for row in table.itertuples(index=False):
        cells = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in row)
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    packed, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    for file in join_parts(packed, target):
        print(f"{file} {file.stat().st_size / 2**20:.1f} MiB")
    for lines in sorted(packed.glob("*.jsonl")):
        rows = pd.read_json(lines, lines=True)
        rows.to_parquet(target / f"{lines.name.removesuffix('.jsonl')}.parquet", index=False)
        if "kind" in rows:  # gradients: a table to draw from, not to print
            continue
        tabulate = tabulate_scaffold if "in_domain" in rows else tabulate_text
        print(f"\n{lines.name}\n\n{markdown(tabulate(rows))}")
        if "in_domain" in rows:
            write_figure(target / "scaffold-learning.png", draw_learning(rows))
    for file in packed.glob("*.json"):
        (target / file.name).write_bytes(file.read_bytes())


if __name__ == "__main__":
    main()
