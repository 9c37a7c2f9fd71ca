"""Benchmarks that are tried with less than all of their cells leave the published tables alone."""

import json
import subprocess
import sys

import pytest
from benchmarks import fault_page, faults, fuzz, harness, scaling, scaling_page

from espalier.errors import EspalierError
from espalier.runs import FolderHeldError, locked


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A published table of each, in a folder of its own; returns what is there now."""
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    for name in ("faults", "fuzz", "scaling"):
        harness.report(name, [{"tried": 10_000}])
    return lambda: {
        file.name: json.loads(file.read_text())["rows"] for file in tmp_path.glob("*.json")
    }


def test_some_cells_are_printed_and_not_published(results, monkeypatch, capsys, tmp_path):
    before = results()
    for module, words in (
        (scaling, ["--only", "layers", "--most", "20", "--workers", "1", "--out", tmp_path / "s"]),
        (fuzz, ["--cases", "2"]),
        (fuzz, ["--formats", "toml", "--cases", "2"]),
        (faults, ["--moments", "1", "--kinds", "evaluate", "--faults", "read-only folder"]),
    ):
        monkeypatch.setattr(sys, "argv", [module.__name__, *map(str, words)])
        monkeypatch.setattr(module, "write_page", lambda *_: pytest.fail("the page is written"))
        capsys.readouterr()
        module.main()
        shown = capsys.readouterr()
        assert module.__name__.rpartition(".")[2] in shown.out
        assert module is not scaling or '{"work": "layers", "step": "' in shown.err
        assert results() == before


def test_a_cell_that_fails_is_told_by_an_error_that_workers_outlive(monkeypatch):
    monkeypatch.setattr(sys, "executable", "false")
    with pytest.raises(EspalierError, match="layers 20: "):
        scaling.cell("layers", 20)


def test_one_process_measures_in_a_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["scaling", "--most", "1", "--out", str(tmp_path)])
    with locked(tmp_path), pytest.raises(FolderHeldError):
        scaling.main()


def test_the_pages_of_faults_and_scaling_are_what_the_commands_write(monkeypatch):
    """From the published rows; a sentence that was added by hand would be lost at the next run."""
    written = {}
    for module in (fault_page, scaling_page):
        monkeypatch.setattr(module, "write_text", lambda path, text: written.update({path: text}))
    monkeypatch.setattr(scaling_page, "write_figure", lambda *_: None)
    fault_page.write_page()
    measured = json.loads((harness.RESULTS / "scaling.json").read_text())
    scaling_page.write_page(measured["rows"], measured["machine"])
    assert [path.name for path in written] == ["faults.md", "scaling.md"]
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text


def test_a_child_whose_output_finds_the_disk_full_ends_there():
    """It went on as its parent, and removed the folder of the whole benchmark."""
    code = (
        "import os, tempfile\n"
        "from benchmarks.forked import Limits, run\n"
        "with tempfile.TemporaryDirectory() as folder:\n"
        "    run(lambda: print('x' * 5_000), Limits(file_bytes=100))\n"
        "    assert os.path.exists(folder)\n"
    )
    root = harness.RESULTS.parents[1]
    assert not subprocess.run([sys.executable, "-c", code], cwd=root, timeout=300).returncode
