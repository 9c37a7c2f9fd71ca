"""A page is filled from rows, those of a machine that has little but torch too."""

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from docs.pages.composition import NUMBERS, composition
from docs.pages.filling import DOCS, fill
from pandas.testing import assert_frame_equal

import espalier as es
from espalier.experiments import find
from espalier.runs import RunFolder

NAMES = [f"bottom-up-figure-{number}" for number in NUMBERS]

# As on a machine that has torch and little else.
SCRIPT = """
import sys
absent = ["cyclopts", "joblib", "matplotlib", "pandas", "pooch", "pyarrow", "rich", "scipy"]
sys.modules |= dict.fromkeys(absent)
import espalier as es
from espalier.errors import ConfigError
out, runs, *names = sys.argv[1:]
for name in names:
    try:
        es.reproduce(name, scale="smoke", out=f"{out}/{name}", runs=runs, device="cpu")
    except ConfigError as error:
        assert "the rows are in" in str(error), error
"""


@pytest.fixture(scope="module")
def carried(cache, tmp_path_factory):
    """Folders of reproductions without tables and figures, from models that tests share."""
    out = tmp_path_factory.mktemp("carried")
    for name in NAMES:
        experiment = find(name)
        cache.rows(experiment.measure, experiment.config("smoke"))
    for table in cache.path.glob("*/metrics.parquet"):
        folder = RunFolder(table.parent)
        folder.write_rows(folder.rows())  # lines, as they would have stayed there
    command = [sys.executable, "-c", SCRIPT, str(out), str(cache.path), *NAMES]
    subprocess.run(command, check=True, capture_output=True)
    return out


def test_rows_are_those_of_a_machine_that_has_everything(carried, cache, tmp_path):
    for name in NAMES:
        files = {file.name for file in (carried / name).iterdir()}
        assert files == {"manifest.json", "rows.jsonl"}
        found = es.experiments.read_reproduction(
            shutil.copytree(carried / name, carried / "c" / name)
        )
        experiment = find(name)
        direct = pd.DataFrame(cache.rows(experiment.measure, experiment.config("smoke")))
        assert_frame_equal(found.rows, direct)
        files = {file.name for file in found.path.iterdir()}
        assert files == {"manifest.json", "rows.parquet", "figure.png", "figure.svg"}


@pytest.mark.usefixtures("unpainted")
def test_the_page_is_filled_from_them_again_and_again(carried, tmp_path):
    data = tmp_path / "results/data/composition"
    data.mkdir(parents=True)
    manifests = {}
    for name in NAMES:
        shutil.copy(carried / name / "rows.jsonl", data / f"{name}.jsonl")
        manifests[name] = json.loads((carried / name / "manifest.json").read_text())
    (data / "manifests-all.json").write_text(json.dumps(manifests))
    page = tmp_path / "results/composition.md"
    shutil.copy(DOCS / "results/composition.md", page)
    filled = composition(tmp_path)
    once = page.read_text()
    assert not list(tmp_path.rglob("*.jsonl"))
    assert composition(tmp_path) == filled
    assert page.read_text() == once
    for name in filled:
        block = re.search(rf"<!-- begin {name} -->(.*)<!-- end {name} -->", once, re.DOTALL)[1]
        assert "|---|" in block
        assert name == "run" or (tmp_path / f"images/composition/{name}.png").exists()
    with pytest.raises(SystemExit, match="the page has 0 places for 'run'"):
        fill("", {"run": "..."})
