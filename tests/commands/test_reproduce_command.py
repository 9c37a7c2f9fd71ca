import subprocess
import sys

import pytest
from cyclopts import App

from espalier.commands.reproduce import reproduce_command
from espalier.errors import ConfigError


@pytest.fixture
def app():
    made = App(name="espalier")
    made.command(reproduce_command, name="reproduce")
    return lambda *words: made(
        ["reproduce", *words], exit_on_error=False, result_action="return_value"
    )


def test_without_a_name_all_are_listed(app, capsys):
    app()
    shown = capsys.readouterr().out
    for name in ("bottom-up-figure-7", "interdependence-figure-6", "scaffold-claims"):
        assert name in shown


def test_a_figure_from_training_to_picture(app, tmp_path, capsys):
    out = tmp_path / "out"
    where = ["--out", str(out), "--runs", str(tmp_path / "runs"), "--device", "cpu"]
    app("bottom-up-figure-7", "--scale", "smoke", *where)
    said = capsys.readouterr()
    assert "epoch 2.00" in said.err
    assert "out_of_domain" in said.out
    assert "32 rows and the figure are in" in said.out.replace("\n", " ")
    assert (out / "figure.svg").exists()
    app("bottom-up-figure-7", "--scale", "smoke", *where)
    assert "epoch" not in capsys.readouterr().err  # nothing was trained again


def test_misspellings_are_answered_before_anything_is_made(app, tmp_path):
    where = ["--out", str(tmp_path / "out"), "--runs", str(tmp_path / "runs")]
    with pytest.raises(ConfigError, match="did you mean 'bottom-up-figure-7'"):
        app("botom-up-figure-7", *where)
    with pytest.raises(ConfigError, match="did you mean 'smoke'"):
        app("bottom-up-figure-7", "--scale", "smok", *where)
    assert not list(tmp_path.iterdir())


def test_experiments_need_neither_cyclopts_nor_rich():
    code = (
        "import sys; from espalier import experiments; "
        "[experiments.find(name).config('smoke') for name in experiments.names()]; "
        "sys.exit('cyclopts' in sys.modules or 'rich' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
