import subprocess
import sys

import pytest
from cyclopts import App

from espalier.commands.training import register
from espalier.errors import ConfigError, FileError
from espalier.runs import RunFolder

SMALL = [
    "corpus.tokens=3000", "corpus.vocabulary=20", "corpus.rules=100", "corpus.scaffolds=10",
    "corpus.copies=20", "corpus.tests=30", "recipe.batch=5", "recipe.window=10",
]  # fmt: skip


@pytest.fixture
def app():
    made = App(name="espalier")
    register(made)
    return lambda *words: made([*words], exit_on_error=False, result_action="return_value")


def small():
    return [word for setting in SMALL for word in ("--set", setting)]


def test_train_scaffold_and_list_it(app, tmp_path, capsys):
    out = tmp_path / "runs" / "k3"
    words = ["train", "scaffold", "--length", "3", "--familiar", "--epochs", "2", "--hidden", "8"]
    app(*words, *small(), "--out", str(out), "--device", "cpu")
    manifest = RunFolder(out).manifest()
    assert manifest["config"]["corpus"]["setting"] == "familiar"
    assert manifest["config"]["recipe"]["epochs"] == 2
    said = capsys.readouterr().err
    assert "epoch 2.00" in said
    assert "in_domain" in said
    app("runs", str(tmp_path / "runs"))
    table = capsys.readouterr().out
    assert "k3" in table
    assert "finished" in table


def test_flags_override_the_file(app, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text("[recipe]\nepochs = 9\nclip = 0.5\n[network]\nhidden = 8\n")
    words = ["train", "scaffold", "--config", str(file), "--epochs", "1"]
    app(*words, *small(), "--out", str(tmp_path / "run"), "--device", "cpu")
    config = RunFolder(tmp_path / "run").manifest()["config"]
    assert config["recipe"]["epochs"] == 1
    assert config["recipe"]["clip"] == 0.5


def test_a_flag_and_a_word_that_contradict_each_other_are_refused(app, tmp_path):
    words = ["train", "scaffold", "--epochs", "1", "--out", str(tmp_path / "run")]
    with pytest.raises(ConfigError, match=r"recipe\.epochs is 1 by its flag and 2 by --set"):
        app(*words, "--set", "recipe.epochs=2")
    assert not (tmp_path / "run").exists()


def test_train_text_from_a_file(app, tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("\n".join(f"a line with word {n % 7}" for n in range(300)))
    words = ["train", "text", "--data", str(text), "--epochs", "2", "--hidden", "8", "--tied"]
    app(*words, "--set", "recipe.batch=4", "--out", str(tmp_path / "run"), "--device", "cpu")
    rows = RunFolder(tmp_path / "run").rows()
    assert rows[-1]["valid_perplexity"] < rows[0]["valid_perplexity"]


def test_a_sweep_from_the_shell(app, tmp_path):
    file = tmp_path / "table.toml"
    lines = [f"{s.split('=')[0]} = {s.split('=')[1]}" for s in SMALL]
    file.write_text(
        f"out = '{tmp_path / 'out'}'\n" + "\n".join(lines)
        + "\nnetwork.hidden = 8\nrecipe.epochs = 1\n[grid]\ncorpus.seed = [0, 1]\n"
    )  # fmt: skip
    app("sweep", str(file), "--device", "cpu")
    assert sorted(f.name for f in (tmp_path / "out").iterdir()) == ["seed=0", "seed=1"]


def test_refusals_reach_the_shell(app, tmp_path):
    with pytest.raises(ConfigError, match=r"did you mean 'recipe\.clip'"):
        app("train", "scaffold", "--out", str(tmp_path / "x"), "--set", "recipe.clap=1")
    with pytest.raises(FileError, match="there is no folder"):
        app("runs", str(tmp_path / "nowhere"))


def test_the_verbs_load_without_torch():
    code = (
        "import sys; from cyclopts import App; from espalier.commands.training import register; "
        "register(App()); assert 'torch' not in sys.modules, 'torch was imported'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
