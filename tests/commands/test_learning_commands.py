import os
import signal
import subprocess
import sys
import time

import pytest
from cyclopts import App

import espalier as es
from espalier.commands import learnability, learning, training
from espalier.runs import RunFolder
from espalier.training import open_run

ON_CPU = ("--device", "cpu")
PROGRAM = "parity-sequential-relative"
ADAM = ["recipe.optimiser=adam", "recipe.learning_rate=3e-3", "recipe.precision=float32"]
TINY = [*ADAM, "shape.width=8", "shape.hidden=8", "shape.heads=2", "shape.head_width=4"]


@pytest.fixture
def app():
    made = App(name="espalier")
    learnability.register(made)
    training.register(made)
    learning.register(made)
    return lambda *words: made([*words, *ON_CPU], exit_on_error=False, result_action="return_value")


def with_settings(*settings):
    return ["--set", *settings]


def test_an_mlp_learns_a_program_from_inputs_or_from_their_traces(app, tmp_path, capsys):
    words = ["--steps", "200", "--seeds", "2", *with_settings(*ADAM, "hidden=32")]
    strings = ["1", "0", "01", "110", "1011", "0010", "1111"]
    app("train", "traces", PROGRAM, *strings, *words, "--out", str(tmp_path / "run"))
    shown, told = capsys.readouterr()
    head, *rows = (line.split() for line in shown.splitlines())
    assert head[-3:] == ["as", "the", "program"]
    assert [(row[0], row[1], row[-1]) for row in rows] == [("200", "0", "1"), ("200", "1", "1")]
    assert "distinct lessons" in told
    assert "saved in" in told
    assert "step 200/200" in told
    entry = es.zoo.load(PROGRAM)
    assert len(open_run(tmp_path / "run", kinds=[es.TraceRun]).models) == 2

    file = tmp_path / "traces.parquet"
    es.record_traces(entry.program, [entry.encode(text) for text in strings], out=file)
    app("train", "traces", PROGRAM, "--traces", str(file), *words, "--out", str(tmp_path / "two"))
    assert RunFolder(tmp_path / "two").rows() == RunFolder(tmp_path / "run").rows()
    assert "as the program" not in capsys.readouterr().out


def test_traces_that_cannot_be_learnt_from(app, tmp_path):
    file, other = tmp_path / "traces.parquet", es.zoo.load("parity-sum-modulo")
    es.record_traces(other.program, [other.encode("1")], max_layers=1, out=file)
    out = ["--out", str(tmp_path / "run")]
    with pytest.raises(es.FileError, match="are of another program; record them again"):
        app("train", "traces", PROGRAM, "--traces", str(file), *out)
    with pytest.raises(es.DataError, match="either --traces or inputs"):
        app("train", "traces", PROGRAM, "101", "--traces", str(file), *out)
    with pytest.raises(es.ProgramError, match="place 1 of '121' holds '2'"):
        app("train", "traces", PROGRAM, "121", *out)
    assert not (tmp_path / "run").exists()


def test_readable_parity_and_scan_are_trained(app, tmp_path, capsys):
    small = [word for word in TINY if not word.startswith("shape.")]
    read = with_settings(*small, "width=8", "hidden=8", "heads=2", "head_width=4")
    app(
        "train",
        "readable",
        PROGRAM,
        "1",
        "10",
        "--steps",
        "10",
        *read,
        "--out",
        str(tmp_path / "a"),
    )
    words = ["--layers", "1", "--shared", "--positions", "absolute"]
    strings = with_settings(*TINY, "train.per_count=3", "test.per_count=3")
    parity = ["train", "parity", "--length", "3", *words, *strings, "--out", str(tmp_path / "b")]
    app(*parity, "--steps", "10")
    commands = [*with_settings(*TINY, "tests=5"), "--split", "upto:1,2", "--split", "upto:2,3"]
    kept = ["--steps", "10", "--seeds", "2", "--out", str(tmp_path / "c")]
    app("train", "scan", *words, *commands, *kept)
    shown = capsys.readouterr().out
    assert [name in shown for name in ("read", "many_ones", "train_accuracy")] == [True] * 3
    config = RunFolder(tmp_path / "b").manifest()["config"]
    assert (config["train"]["longest"], config["test"]["longest"]) == (3, 6)
    assert config["shape"]["shared"]
    rows = RunFolder(tmp_path / "c").rows()
    members = [(row["split"], row["seed"]) for row in rows[-4:]]
    assert members == [(split, seed) for split in ("upto:1,2", "upto:2,3") for seed in (0, 1)]
    with pytest.raises(es.ConfigError, match=r"holds another run: recipe.steps 10 -> 20"):
        app(*parity, "--steps", "20")


def test_what_was_trained_is_asked(app, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "4000")  # no line is folded
    bits, actions = str(tmp_path / "bits"), str(tmp_path / "actions")
    words = ["--steps", "10", "--seeds", "2", "--layers", "1"]
    strings = with_settings(*TINY, "train.per_count=3", "test.per_count=3")
    app("train", "parity", "--length", "3", *words, *strings, "--out", bits)
    commands = [*with_settings(*TINY, "tests=5"), "--split", "upto:1,2"]
    app("train", "scan", *words, *commands, "--out", actions)
    capsys.readouterr()

    app("ask", bits, "011", "1")
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["input", "member", "right", "answer"]
    found = open_run(bits, kinds=[es.ParityRun]).models.answers(["011", "1"])
    assert rows == [
        [text, f"seed-{n}", "yes" if found[n, m] == m else "no", str(found[n, m])]
        for m, text in enumerate(["011", "1"])
        for n in range(2)
    ]
    app("ask", actions, "walk", "walk walk")
    _, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    one, other = open_run(actions, kinds=[es.ScanRun]).ask(["walk", "walk walk"])
    assert rows == [
        f"walk upto:1,2-0 {'yes' if one[0] == 'I_WALK' else 'no'} {one[0]}".split(),
        f"walk upto:1,2-1 {'yes' if other[0] == 'I_WALK' else 'no'} {other[0]}".split(),
        f"walk walk upto:1,2-0 {one[1]}".split(),  # no command of SCAN: neither right nor wrong
        f"walk walk upto:1,2-1 {other[1]}".split(),
    ]
    with pytest.raises(
        es.ModelError, match="no finished run of kind 'parity' or 'scan': no run is there"
    ):
        app("ask", str(tmp_path), "1")
    with pytest.raises(es.DataError, match="'jmp' is not a word of SCAN"):
        app("ask", actions, "jmp")

    (tmp_path / "bits" / "metrics.parquet").unlink()
    with pytest.warns(UserWarning, match="lacks rows of metrics"):
        app("train", "parity", "--length", "3", *words, *strings, "--out", bits)
    assert "there are no measures to show" in capsys.readouterr().err
    with pytest.raises(es.FileError, match="has lost its measures, which name its 2 models"):
        app("ask", bits, "011")


def test_seeds_are_those_of_the_file_unless_a_flag_says_otherwise(app, tmp_path):
    file = tmp_path / "run.toml"
    file.write_text('seeds = 2\nsplits = ["upto:1,2"]\ntests = 5\n')
    words = ["--config", str(file), "--layers", "1", "--steps", "10", *with_settings(*TINY)]
    for more, members in (([], 2), (["--set", "seeds=3"], 3), (["--seeds", "1"], 1)):
        out = tmp_path / str(members)
        app("train", "scan", *words, *more, "--out", str(out))
        assert RunFolder(out).manifest()["config"]["seeds"] == list(range(members))
        assert len(RunFolder(out).rows()) == 10 * members


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_kill_from_the_shell(tmp_path, sent):
    """The run is saved, and the exit status is that of the signal."""
    out = tmp_path / "run"
    words = ["train", "parity", "--length", "2", "--steps", "100000", "--yes"]
    words += ["--set", "recipe.measures=1000"]
    words += [*with_settings(*TINY), "--out", str(out), "--device", "cpu"]
    code = f"from espalier.cli import main; main({words!r})"
    run = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    rows = out / "metrics.jsonl"
    while not (rows.exists() and rows.read_text()) and run.poll() is None:
        time.sleep(0.1)  # once a row is measured, the run hears of Ctrl-C
    assert run.poll() is None, run.communicate()
    os.kill(run.pid, sent)
    told = run.communicate(timeout=600)[1]
    assert run.returncode == 128 + sent
    assert "the same command resumes from there" in told
    assert RunFolder(out).manifest()["status"] == "interrupted"
    assert (out / "resume.safetensors").exists()


def test_the_verbs_load_without_torch():
    code = "import sys, espalier.cli; assert 'torch' not in sys.modules, 'torch was imported'"
    subprocess.run([sys.executable, "-c", code], check=True)


def parity_words(out, *settings, steps="10"):
    words = ["train", "parity", "--layers", "1", "--length", "3", "--steps", steps]
    named = {one.partition("=")[0]: one for one in (*TINY, "train.per_count=8", *settings)}
    return [*words, *with_settings(*named.values()), "--out", str(out)]


def test_tests_are_as_long_as_they_are_set(app, tmp_path):
    app(*parity_words(tmp_path / "implied"))
    app(*parity_words(tmp_path / "set", "test.longest=9"))
    longest = [
        RunFolder(tmp_path / name).manifest()["config"]["test"]["longest"]
        for name in ("implied", "set")
    ]
    assert longest == [6, 9]


def test_a_loss_that_is_no_number_is_reported(app, tmp_path, capsys):
    app(*parity_words(tmp_path / "wild", "recipe.learning_rate=1e38"))
    shown, told = capsys.readouterr()
    assert "nan" in shown
    assert "1 of 1 have a loss that is no number" in told
    app(*parity_words(tmp_path / "tame"))
    assert "no number" not in capsys.readouterr().err


def test_a_bar_is_where_lines_are_and_results_stay_alone(app, tmp_path, capsys, monkeypatch):
    app(*parity_words(tmp_path / "lines"))
    plain, lines = capsys.readouterr()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    app(*parity_words(tmp_path / "bar"))
    shown, bar = capsys.readouterr()
    assert shown == plain
    assert "step 10/10" in lines
    assert "step 10/10" in bar
