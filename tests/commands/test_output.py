"""Commands write where their common flag says, and never over someone else's file."""

import os

import pytest

from espalier.cli import app, main
from espalier.commands.output import NAMES

TRACE = ["trace", "parity-sum-modulo", "11", "--out"]


def status(*words: object) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(word) for word in words])
    return stopped.value.code or 0


def commands(found=app, path=()):
    """Every command with the names of each of its flags."""
    for name in found:
        if name.startswith("-"):
            continue
        inner = found[name]
        if inner.default_command is None:
            yield from commands(inner, (*path, name))
        else:
            flags = inner.assemble_argument_collection()
            yield " ".join((*path, name)), [argument.names for argument in flags]


def test_out_has_the_same_names_everywhere():
    writing = {}
    for name, flags in commands():
        if found := [names for names in flags if {"--out", "-o", "--output"} & set(names)]:
            writing[name] = found
    assert len(writing) > 15
    assert {name for name, found in writing.items() if found != [NAMES]} == set()


def test_whatever_writes_files_can_be_forced():
    forced = {name for name, flags in commands() if any("--force" in names for names in flags)}
    wanted = "trace compile demo minimal optimum traces decompose interdependence pairs"
    assert forced >= {*wanted.split(), "data branching"}


@pytest.mark.parametrize("suffix", ["html", "png", "svg", "pdf", "csv", "json", "parquet"])
def test_what_espalier_wrote_is_written_again_and_nothing_else(suffix, tmp_path, capsys):
    path = tmp_path / f"trace.{suffix}"
    assert status(*TRACE, path) == 0
    assert status(*TRACE, path) == 0
    theirs = b"my,own\n1,2\n" + b"written by me, about espalier\n" * 9_000
    path.write_bytes(theirs)
    capsys.readouterr()
    assert status(*TRACE, path) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert "--force" in said
    assert path.read_bytes() == theirs
    assert status(*TRACE, path, "--force") == 0
    assert path.read_bytes() != theirs
    assert status(*TRACE, path) == 0


def test_a_table_of_another_kind_is_someone_elses(tmp_path):
    path = tmp_path / "table.csv"
    assert status(*TRACE, path) == 0
    assert status("interdependence", "the cat sat", "-o", path) == 2
    path.write_text('[1, "not a table"]')
    assert status(*TRACE, path.rename(tmp_path / "table.json")) == 2


def test_weights_and_parquet_tables_are_known_too(tmp_path):
    weights, traces = tmp_path / "parity.safetensors", tmp_path / "traces.parquet"
    for words in (["compile", "parity-sum-modulo"], ["traces", "parity-sum-modulo", "11"]):
        path = weights if words[0] == "compile" else traces
        assert status(*words, "-o", path) == 0
        assert status(*words, "--out", path) == 0
        path.write_bytes(b"something of mine")
        assert status(*words, "--output", path) == 2
        assert path.read_bytes() == b"something of mine"
        assert status(*words, "--output", path, "--force") == 0


@pytest.mark.parametrize("force", [[], ["--force"]])
def test_a_pipe_is_refused_before_any_work(tmp_path, capsys, force):
    pipe = tmp_path / "traces.parquet"
    os.mkfifo(pipe)
    assert status("traces", "parity-sum-modulo", "not a bit string", "-o", pipe, *force) == 2
    assert "it is a pipe; give the name of a file" in capsys.readouterr().err
    assert status(*TRACE, pipe.rename(tmp_path / "trace.csv"), *force) == 2
    assert "it is a pipe; give the name of a file" in capsys.readouterr().err


def test_a_made_up_language_does_not_replace_a_text(tmp_path):
    (tmp_path / "text.txt").write_text("a novel")
    words = ["data", "branching", "--sentences", 3, "--tests", 2, "-o", tmp_path]
    assert status(*words) == 2
    assert (tmp_path / "text.txt").read_text() == "a novel"
    assert status(*words, "--force") == 0


@pytest.mark.parametrize(
    "words",
    ["run", "nonsense", "run addition 1+1 --engin x", "run addition --engine foo 1",
     "decompose a --top x", "train text", "train txt", "runs a b"],
)  # fmt: skip
def test_a_misread_command_is_one_line_and_status_2(words, capsys):
    assert status(*words.split()) == 2
    said = capsys.readouterr().err
    assert said.startswith("espalier: ")
    assert said.endswith("--help\n")
    assert said.count("\n") == 1
