"""The scripts by which results are made: rows without the command line, and a page of them."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from benchmarks import reproduce, results
from pandas.testing import assert_frame_equal

from espalier.experiments import load
from espalier.runs import RunFolder

DOCS = Path(__file__).parents[2] / "docs"


# As on a machine that has torch and little else.
SCRIPT = """
import runpy, sys
sys.modules |= dict.fromkeys(["cyclopts", "rich", "pandas", "pyarrow", "matplotlib"])
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def carried(shelf, tmp_path_factory):
    """What the script leaves at the smallest scale, with the ensembles that tests share."""
    for name in reproduce.NAMES:
        experiment = load(name)
        shelf.rows(experiment.run, experiment.config("smoke"))
    for folder in map(RunFolder, shelf.path.iterdir()):
        folder.write_rows(folder.rows())  # lines, as they would have stayed there
    out = tmp_path_factory.mktemp("carried")
    words = ["--scale", "smoke", "--out", str(out), "--runs", str(shelf.path), "--device", "cpu"]
    command = [sys.executable, "-c", SCRIPT, reproduce.__file__, *words]
    subprocess.run(command, check=True, capture_output=True)
    return out


def test_rows_and_manifests_are_few_small_files(carried, shelf):
    files = sorted(file.name for file in carried.iterdir())
    assert len(files) == 7
    assert sum(file.stat().st_size for file in carried.iterdir()) < 2**20
    for name in reproduce.NAMES:
        experiment = load(name)
        direct = shelf.rows(experiment.run, experiment.config("smoke"))
        lines = (carried / f"{name}.jsonl").read_text().splitlines()
        assert_frame_equal(pd.DataFrame(map(json.loads, lines)), direct)
    manifests = json.loads((carried / "manifests-bottom-up-figure-7.json").read_text())
    assert manifests.keys() == {*reproduce.NAMES, "ensembles"}
    assert manifests["bottom-up-figure-11"]["data"]["ensembles"].keys() == (
        manifests["ensembles"].keys()
    )


def test_the_page_is_filled_from_them_again_and_again(carried, tmp_path):
    shutil.copytree(carried, tmp_path / "results/data/composition")
    page = tmp_path / "results/composition.md"
    shutil.copy(DOCS / "results/composition.md", page)
    filled = results.composition(tmp_path)
    once = page.read_text()
    assert not list(tmp_path.rglob("*.jsonl"))
    for name in reproduce.NAMES:
        kept = pd.read_parquet(tmp_path / f"results/data/composition/{name}.parquet")
        carried_rows = pd.read_json(carried / f"{name}.jsonl", lines=True)
        assert_frame_equal(kept, carried_rows)
    for name in filled:
        block = re.search(rf"<!-- begin {name} -->(.*)<!-- end {name} -->", once, re.DOTALL)[1]
        assert "|---|" in block
        assert name == "run" or (tmp_path / f"images/composition/{name}.png").stat().st_size > 1000
    assert results.fill(once, {"run": "new"}).count("|---|") < once.count("|---|")
    with pytest.raises(SystemExit, match="the page has 0 places for 'run'"):
        results.fill("", {"run": "..."})
