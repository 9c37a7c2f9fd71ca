"""The command line as a user runs it: its output and its exit status."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from espalier import cli
from espalier.cli import main
from espalier.runs import RunFolder
from espalier.show.demo import PROGRAMS


def espalier(*arguments: str, cwd=".") -> subprocess.CompletedProcess[str]:
    """What the command does; in this process, since most of them would wait for torch."""
    out, errors, status = io.StringIO(), io.StringIO(), 0
    with (
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(errors),
    ):
        try:
            main(list(arguments))
        except SystemExit as stopped:
            status = stopped.code or 0
    return subprocess.CompletedProcess(arguments, status, out.getvalue(), errors.getvalue())


def in_own_process(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "espalier", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)


def test_help_names_every_command() -> None:
    found = in_own_process("--help")
    assert found.returncode == 0
    for command in ("programs", "run", "trace", "compile", "verify", "minimal", "demo", "doctor"):
        assert re.search(rf"\b{command}\b", found.stdout)


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        (["ask"], "Usage: espalier ask [OPTIONS] RUN [INPUTS...]"),
        (["runs"], "Usage: espalier runs [FOLDER]"),
        (
            ["train", "traces"],
            "Usage: espalier train traces --out PATH [OPTIONS] TARGET [INPUTS...]",
        ),
        (["train"], "Usage: espalier train COMMAND"),
    ],
)
def test_a_usage_line_names_every_argument(command, usage) -> None:
    assert usage in espalier(*command, "--help").stdout


def test_help_does_not_wait_for_torch() -> None:
    code = "import espalier.cli, sys; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_programs_are_listed() -> None:
    assert "parity-sequential-relative" in espalier("programs").stdout


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_run_gives_the_answer(engine: str) -> None:
    found = espalier("run", "parity-sequential-relative", "1", "0", "1", "--engine", engine)
    assert re.search(r"answer\s+0\n", found.stdout)
    assert re.search(r"layers\s+3\n", found.stdout)
    assert re.search(r"answer\s+1\n", espalier("run", "parity-sum-modulo", "10").stdout)


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["addition", "34+56"], "90"),
        (["subleq", "9 11 3 11 10 6 11 11 -1 7 5 0"], "9 11 3 11 10 6 11 11 -1 7 12 0"),
        (["subleq", "3", "3", "-1", "5"], "3 3 -1 0"),
        (["sort", "3", "1", "2"], "1 2 3"),
        (["reverse", "live"], "evil"),
        (["dyck", "([)]"], "False"),
    ],
)
def test_programs_answer_as_people_write(words: list[str], answer: str) -> None:
    found = espalier("run", *words)
    assert re.search(rf"answer\s+{re.escape(answer)}\n", found.stdout), found.stderr


@pytest.mark.parametrize("engine", ["interpreter", "compiled"])
def test_a_program_that_writes_is_run_by_letting_it_write(engine: str) -> None:
    found = espalier("run", "addition-scratchpad", "34+56", "--engine", engine)
    assert re.search(r"answer\s+90\n", found.stdout)
    assert re.search(r"written\s+0 9 END\n", found.stdout)
    assert re.search(r"layers\s+7 8 10\n", found.stdout)
    cut = espalier("run", "addition-scratchpad", "34+56", "--max-tokens", "1")
    assert re.search(r"written\s+0 \(cut off\)\n", cut.stdout)


def test_a_program_that_writes_is_traced_with_what_it_wrote() -> None:
    shown = espalier("trace", "addition-scratchpad", "34", "+", "56").stdout
    assert shown.startswith("START 3 4 + 5 6 = 0 9  ->  0 9   (halted")


def test_a_program_that_writes_is_verified_with_what_it_wrote(tmp_path) -> None:
    found = espalier("verify", "parity-scratchpad", "--cases", "20", "--size", "9")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "20 of 20 answers are right" in found.stdout
    path = str(tmp_path / "parity.safetensors")
    assert espalier("compile", "parity-scratchpad", "-o", path).returncode == 0
    prompt = ["START", "1", "0", "1", "=", "--max-tokens", "9", "--stop", "END"]
    ran = espalier("run", path, *prompt, "--engine", "compiled")
    assert re.search(r"written\s+1 1 0 END\n", ran.stdout)
    refused = espalier("run", "parity-sum-modulo", "1", "--max-tokens", "3")
    assert refused.returncode == 2
    assert "not causal" in refused.stderr


def test_trace_shows_itself_and_writes_every_kind_of_file(tmp_path) -> None:
    shown = espalier("trace", "parity-sequential-relative", "1", "0", "1")
    assert "layer 3, after MLP" in shown.stdout
    changed = espalier("trace", "parity-sequential-relative", "101", "--set", "parity@1,2=null")
    assert changed.stdout.startswith("START 1 0 1  ->  0 1 ∅ 1")
    page = tmp_path / "trace.html"
    assert (
        espalier("trace", "parity-sequential-relative", "101", "--html", str(page)).returncode == 0
    )
    assert page.read_text().startswith("<!doctype html>")
    for suffix in ("png", "svg", "csv", "json", "parquet"):
        path = tmp_path / f"trace.{suffix}"
        assert espalier("trace", "parity-sum-modulo", "11", "-o", str(path)).returncode == 0
        assert path.stat().st_size > 100


def test_a_compiled_file_runs_and_verifies(tmp_path) -> None:
    path = str(tmp_path / "parity.safetensors")
    made = espalier("compile", "parity-sequential-relative", "-o", path)
    assert re.search(r"MLP width\s+7\n", made.stdout)
    ran = espalier("run", path, "START", "1", "1", "--engine", "compiled")
    assert re.search(r"outputs\s+0 1 0\n", ran.stdout)
    # Random tokens, not random bit strings: many lack START, and the interpreter refuses them.
    assert espalier("verify", path, "--cases", "5").returncode == 1


def test_verify_says_so_and_exits_zero() -> None:
    found = in_own_process("verify", "parity-sequential-relative", "--cases", "20", "--size", "9")
    assert found.returncode == 0, found.stdout + found.stderr
    assert "all agree" in found.stdout
    assert "20 of 20 answers are right" in found.stdout


def test_a_program_of_ones_own(tmp_path) -> None:
    (tmp_path / "mine.py").write_text(
        "from espalier.language import *\n"
        "program = program_spec({'x': var(3, input_init_fn=lambda t: t)},\n"
        "    ffn_fn=lambda z: z.__setitem__('x', (z['x'] + 1) % 3),\n"
        "    output_name='x', input_range=3)\n"
    )
    found = espalier("run", "mine.py:program", "0", "1", "2", "--max-layers", "1", cwd=tmp_path)
    assert re.search(r"outputs\s+1 2 0\n", found.stdout)
    found = espalier("verify", "mine.py:program", "--max-layers", "4", cwd=tmp_path)
    assert found.returncode == 0
    found = espalier("run", "mine.py:progam", "0", cwd=tmp_path)
    assert found.returncode == 2
    assert "did you mean 'program'" in found.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "parity-sequential-relativ", "1"], "did you mean 'parity-sequential-relative'"),
        (["run", "parity-sequential-relative", "3"], "holds '3'"),
        (["run", "nothing.safetensors", "1"], "there is no file"),
        (["trace", "parity-sum-modulo", "1", "--html", "x.png"], "suffix .html"),
        (["trace", "parity-sum-modulo", "1", "-o", "x.doc"], ".doc"),
        (["trace", "parity-sum-modulo", "1", "--set", "ones@1"], "VARIABLE@LAYER,POSITION=VALUE"),
        (
            ["trace", "parity-sum-modulo", "1", "--set", "ones@" + "9" * 5000 + ",1=0"],
            "VARIABLE@LAYER",
        ),
        (["trace", "parity-sum-modulo", "1", "--set", "ones@1,1={[1]}"], "'{[1]}' is no value"),
        (
            ["trace", "parity-sum-modulo", "1", "--set", "ones@9,1=1"],
            "ones = 1 at position 1 of layer 9, after MLP",
        ),
        (["ask", "runs/nope", "1"], "train one first: `espalier train parity --out runs/nope`"),
        (["ask", "runs/\x1b[31mnope", "1"], "runs/\\x1b[31mnope holds no finished run"),
        (["trace", "parity-sum-modulo", "1", "-o", "nowhere/x.html"], "does not exist"),
        (["compile", "parity-sum-modulo", "-o", "."], "call it model.safetensors"),
        (["runs", "x" * 3000], "x...: File name too long"),
        (["train", "scaffold", "--out", "run", "--seed", "-1"], "seed is -1; use a whole number"),
        (["data", "branching", "--out", "x", "--seed", "-1"], "seed is -1; use a whole number"),
        (["explore", "--port", "-1"], "port -1 cannot be used (ports are 0 to 65535)"),
        (["train", "scaffold", "--out", "run", "--set"], "--set is given without a setting"),
    ],
)
def test_what_is_refused_is_one_line_without_a_traceback(arguments, message, tmp_path) -> None:
    found = espalier(*arguments, cwd=tmp_path)
    assert found.returncode == 2
    assert message in found.stderr
    assert "Traceback" not in found.stderr
    assert found.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes.\nat"),
        RuntimeError("CUDA out of memory. Tried to allocate 9 GiB"),
    ],
)
def test_want_of_memory_is_one_line(error, monkeypatch, capsys) -> None:
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as ended:
        cli.main(["programs"])
    assert ended.value.code == 2
    told = capsys.readouterr().err
    assert told.startswith("espalier: there is not enough memory")
    assert told.count("\n") == 1


def test_demo_writes_a_page_made_by_running_it(tmp_path) -> None:
    found = espalier("demo", "-o", str(tmp_path / "demo.html"))
    assert found.returncode == 0, found.stderr
    page = (tmp_path / "demo.html").read_text()
    assert page.count("<section>") == len(PROGRAMS)
    assert "2,110 of 2,110" in page
    assert "http" not in re.sub(r'xmlns(:\w+)?="[^"]*"|<!DOCTYPE[^>]*>', "", page)


def test_a_process_is_refused_with_one_line_and_status_2() -> None:
    found = in_own_process("run", "parity-sequential-relativ", "1")
    assert found.returncode == 2
    assert found.stderr.startswith("espalier: there is no program")
    assert found.stderr.count("\n") == 1


def test_doctor_is_well() -> None:
    found = espalier("doctor")
    assert found.returncode == 0, found.stdout
    assert "all is well" in found.stdout


def test_the_pipe_may_be_closed_early() -> None:
    command = (
        f"{sys.executable} -m espalier.cli trace parity-sequential-relative {'1' * 60} | head -1"
    )
    found = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert "Traceback" not in found.stderr


@pytest.mark.parametrize(
    "words",
    [
        "train scaffold --out",
        "compile histogram -o",
        "trace histogram abc --html",
        "pairs --out x.parquet --treebank a",
        "reproduce alta-table-2 --runs",
        "runs",
    ],
)
def test_an_empty_path_is_not_the_folder_one_is_in(tmp_path, words) -> None:
    found = espalier(*words.split(), "", cwd=tmp_path)
    assert found.returncode == 2
    assert "is empty; give a name, or . for the folder you are in" in found.stderr
    assert not list(tmp_path.iterdir())


def test_an_empty_input_is_one(tmp_path) -> None:
    assert "the input has 0 tokens" in espalier("run", "histogram", "").stderr
    named = espalier("train", "text", "--data", "", "--out", "a", cwd=tmp_path)
    assert "the path is empty" in named.stderr


def in_shell(words: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    command = f"{sys.executable} -m espalier {words}"
    held = {**os.environ, **environment}
    return subprocess.run(command, shell=True, capture_output=True, check=False, env=held)


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_without_utf_8_is_shown_what_it_can(encoding: str) -> None:
    found = in_shell("trace addition 34+56", PYTHONIOENCODING=encoding)
    assert (found.returncode, found.stderr) == (0, b"")
    assert b"?" in found.stdout


def test_closed_streams_change_nothing_but_what_is_shown() -> None:
    assert in_shell("programs >&-").returncode == 0
    assert in_shell("run histogram hello 2>&-").stdout
    assert in_shell("run nonsense hello 2>&-").returncode == 2


@pytest.mark.parametrize("stderr", ["2>&-", "2</dev/null", "2>/dev/full"])
def test_messages_that_cannot_be_written_fail_nothing(tmp_path, stderr: str) -> None:
    """`timeout` and other tools open a closed stderr for reading: then writing to it fails."""
    if not Path("/dev/full").exists():
        pytest.skip("this system has no full device")
    small = "vocabulary=20 rules=50 scaffolds=10 copies=20 tests=20 tokens=1500"
    settings = " ".join(f"corpus.{one}" for one in small.split())
    words = f"--length 2 --epochs 2 --hidden 8 --device cpu --set {settings} recipe.batch=5"
    assert in_shell(f"train scaffold --out {tmp_path}/a {words} {stderr}").returncode == 0
    assert json.loads((tmp_path / "a" / "manifest.json").read_text())["status"] == "finished"
    assert in_shell(f"zzz {stderr}").returncode == 2


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
@pytest.mark.parametrize(
    ("stdout", "why"),
    [(">/dev/full", b"No space left on device"), ("1</dev/null", b"Bad file descriptor")],
)
def test_output_that_cannot_be_written_is_an_error_of_one_line(stdout: str, why: bytes) -> None:
    found = in_shell(f"run histogram hello {stdout}")
    assert found.returncode == 2
    assert found.stderr == b"espalier: cannot use the output: " + why + b"\n"


@pytest.mark.parametrize(
    ("words", "finding"),
    [
        ("scan --device cuda", "--device and --dtype are those of weights; add --engine compiled"),
        ("scan --dtype float64", "--device and --dtype are those of weights"),
        ("minimal histogram abc --cases 5", "--cases is for drawn inputs, and inputs are given"),
        ("minimal histogram --workers 2 --cluster tcp://a:1", "a cluster has workers of its own"),
        ("sweep a.toml --workers 2 --cluster tcp://a:1", "a cluster has workers of its own"),
        ("train traces dyck --traces a.parquet --seed 4 --out b", "give either --traces or inputs"),
        ("interdependence the cat --html a.csv", "--html writes a page; give a.csv the suffix"),
        ("decompose the cat --focus 0 --top -1", "Must be >= 0"),
        ("decompose the cat --focus 0 --member x", "model of English is one; leave out member='x'"),
    ],
)
def test_options_that_would_be_ignored_are_refused(tmp_path, words: str, finding: str) -> None:
    (tmp_path / "a.toml").write_text("[grid]\ncorpus.length = [2, 4]\n")
    found = espalier(*words.split(), cwd=tmp_path)
    assert found.returncode == 2
    assert finding in found.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["a.toml"]


def test_brackets_of_names_are_shown_as_they_are(tmp_path) -> None:
    page = espalier("trace", "histogram", "hello", "-o", "[red]x.html", cwd=tmp_path)
    assert page.stdout == "wrote [red]x.html\n"
    (tmp_path / "[bold]").mkdir()
    assert "no runs in [bold]" in espalier("runs", "[bold]", cwd=tmp_path).stdout
    (tmp_path / "runs" / "[" / "x]").mkdir(parents=True)
    (tmp_path / "runs" / "[" / "x]" / "manifest.json").write_text("nothing")
    assert "[/x]" in espalier("runs", cwd=tmp_path).stdout


def test_no_word_of_a_file_is_a_command_to_the_terminal(tmp_path) -> None:
    folder = RunFolder.create(tmp_path / "runs" / "red")
    folder.write_manifest(
        {"kind": "\x1b[31mred\x07", "status": "\x9b2Jfinished", "config": {}, "data": {}}
        | {"began": "today", "seconds": 1.0}
    )
    shown = espalier("runs", cwd=tmp_path).stdout
    assert "\\x1b[31mred\\x07" in shown
    assert not {"\x1b", "\x07", "\x9b"} & set(shown)


def commands_below(one, path=()):
    """Every command with its words, those of `train` and `data` too."""
    for name in one:
        if not name.startswith("-"):
            yield from commands_below(one[name], (*path, name))
    if one.default_command is not None:
        yield " ".join(path), one


def test_every_word_of_every_command_says_what_it_does() -> None:
    from espalier.cli import app

    silent, empty = [], []
    for command, one in commands_below(app):
        for argument in one.assemble_argument_collection(parse_docstring=True):
            flags = argument.parameter.name or ()
            if argument.show and not argument.parameter.help:
                silent.append(f"{command}: {argument.name}")
            empty += [f"{command}: {flag}" for flag in argument.names if "--empty-" in flag]
            assert flags
    assert silent == []
    assert empty == []


def test_outputs_are_written_as_the_author_writes_them() -> None:
    assert "outputs  PAD PAD PAD PAD 9 0 PAD\n" in espalier("run", "addition", "34+56").stdout
