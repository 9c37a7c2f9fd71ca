import pytest
from cyclopts import App

import espalier as es
from espalier import zoo
from espalier.commands import learnability, progress
from espalier.learnability import read_traces


@pytest.fixture
def app():
    made = App(name="espalier")
    learnability.register(made)
    return lambda *words: made(list(words), exit_on_error=False, result_action="return_value")


def test_what_a_training_set_needs(app, tmp_path, capsys) -> None:
    table = tmp_path / "dropped.csv"
    app("minimal", "parity-sequential-relative", "1011", "--constraints", "-o", str(table))
    said = " ".join(capsys.readouterr().out.split())
    assert "rules 7 of 7" in said
    assert "parity_left = 1 of [parity: 0 -> 1" in said
    assert table.read_text().count("\n") == 2


def test_how_far_it_is_is_told_on_stderr(app, monkeypatch, capsys) -> None:
    monkeypatch.setattr(progress, "EVERY", 0.0)
    app("minimal", "parity-sum-modulo", "1", "10")
    assert capsys.readouterr().err == "2 of 2 inputs\n"


def test_inputs_come_from_a_file_or_by_chance(app, tmp_path, capsys) -> None:
    file = tmp_path / "inputs.txt"
    file.write_text("1\n11\n")
    app("minimal", "parity-sum-modulo", "--file", str(file))
    said = capsys.readouterr().out
    assert "inputs            2\n" in said
    assert "1 token never seen" in said
    assert "rules that clash  none\n" in said
    app("minimal", "parity-sum-modulo", "--cases", "5", "--size", "3")
    assert "inputs            5\n" in capsys.readouterr().out
    with pytest.raises(es.DataError, match="given twice"):
        app("minimal", "parity-sum-modulo", "1", "--file", str(file))
    file.write_text("")
    with pytest.raises(es.DataError, match="is empty"):
        app("minimal", "parity-sum-modulo", "--file", str(file))
    file.write_bytes(b"\xff\xfe1")
    with pytest.raises(es.DataError, match="is not text in UTF-8"):
        app("minimal", "parity-sum-modulo", "--file", str(file))
    with pytest.raises(es.FileError, match="there is no file"):
        app("minimal", "parity-sum-modulo", "--file", str(tmp_path / "none.txt"))


def test_whether_it_is_an_optimum_is_the_exit_status(app, tmp_path, capsys) -> None:
    table = tmp_path / "derivatives.parquet"
    with pytest.raises(SystemExit) as status:
        app("optimum", "parity-sum-modulo", "1", "10", "-o", str(table))
    assert status.value.code == 1
    assert "not a strict coordinate-wise local optimum" in capsys.readouterr().out
    assert table.exists()
    app("optimum", "parity-sum-modulo", "1", "10", "", "--reduce", "constraints")
    assert capsys.readouterr().out.startswith("a strict coordinate-wise local optimum")


def test_traces_are_written_for_this_program(app, tmp_path, capsys) -> None:
    path = tmp_path / "traces.parquet"
    app("traces", "parity-scratchpad", "101", "--distinct", "--vectors", "-o", str(path))
    assert "distinct traces of 11 variables" in capsys.readouterr().out
    entry = zoo.load("parity-scratchpad")
    found = read_traces(path, entry.program)
    assert found.distinct
    assert (
        found.vectors()[0].tolist()
        == found.table.filter([value == "mlp" for value in found.table["sublayer"].to_pylist()])[
            "before"
        ].to_pylist()
    )
