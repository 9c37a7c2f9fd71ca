import json

import pandas as pd
import pytest

from espalier.errors import FileError
from espalier.interpreter import interpret_many
from espalier.language import Run, Runs, program_spec, var

RUNS = Runs([Run([0, 1], 3), Run([2], 1, halted=False), Run([1, 1, 1], 2)])


def test_runs_are_a_sequence_in_the_order_of_the_inputs():
    assert len(RUNS) == 3
    assert RUNS[1] == Run([2], 1, halted=False)
    assert list(RUNS[1:]) == [RUNS[1], RUNS[2]]
    assert isinstance(RUNS[1:], Runs)
    assert RUNS.outputs == [[0, 1], [2], [1, 1, 1]]
    assert RUNS.layers == [3, 1, 2]


def test_runs_are_equal_when_every_run_is():
    assert Runs(list(RUNS)) == RUNS
    assert hash(Runs(list(RUNS))) == hash(RUNS)
    assert Runs(RUNS[:2]) != RUNS
    assert Runs([RUNS[0], Run([2], 1), RUNS[2]]) != RUNS
    assert Run([0, 1], 3) != Run([0, 1], 4)


def test_runs_of_a_batch_keep_its_order():
    program = program_spec(
        {"x": var(5, input_init_fn=int)}, rules=[], output_name="x", input_range=5
    )
    batch = [[4, 3], [0], [1, 2, 3, 4]]
    runs = interpret_many(program, batch, max_layers=2)
    assert runs.outputs == batch
    assert {type(token) for outputs in runs.outputs for token in outputs} == {int}


def test_runs_show_themselves():
    shown = repr(RUNS)
    assert "3 runs" in shown
    assert "3 layers: 0 1" in shown
    assert len(repr(Runs([Run([0], 1)] * 1000)).splitlines()) < 20


@pytest.mark.parametrize(
    ("suffix", "read"),
    [
        (".csv", lambda path: pd.read_csv(path, dtype={"outputs": str})),
        (".parquet", pd.read_parquet),
        (".json", lambda path: pd.DataFrame(json.loads(path.read_text()))),
    ],
)
def test_a_saved_table_reads_back(tmp_path, suffix, read):
    path = tmp_path / f"runs{suffix}"
    RUNS.save(path)
    found = read(path)
    assert found.layers.tolist() == RUNS.layers
    assert found.halted.tolist() == [True, False, True]
    assert [list(map(int, row.split())) for row in found.outputs] == RUNS.outputs


def test_a_table_of_an_unknown_kind_is_refused(tmp_path):
    with pytest.raises(FileError, match="txt"):
        RUNS.save(tmp_path / "runs.txt")
