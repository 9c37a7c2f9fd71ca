"""Recorded traces against the reference, and files against memory."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import given, settings

import espalier as es
import reference
from espalier import zoo
from espalier.compiler.encoding import encode
from espalier.compiler.layout import lay_out
from espalier.interpreter.machine import Machine
from espalier.language import Numerical, Program
from espalier.learnability import Traces, read_traces, traces
from espalier.nets.compiled.feedforward import FeedForward
from strategies import Case, cases

Row = tuple[str, int, int, int]


def record(case: Case, **settings) -> Traces:
    return es.record_traces(case.program, case.batch, max_layers=case.max_layers, **settings)


def values(program: Program, columns: dict, row: int) -> reference.Assignment:
    """One recorded row, in the reference's values."""
    return {name: value(spec, columns[name][row]) for name, spec in program.specs.items()}


def value(spec, found):
    if isinstance(spec, Numerical):
        return None if math.isnan(found) else Fraction(float(found))
    return None if found < 0 else spec.values[found]


def recorded(found: Traces, sublayer: str) -> list[tuple[Row, dict, dict]]:
    before, after = (found.states(side, sublayer) for side in ("before", "after"))
    table = found.to_frame()
    table = table[table.sublayer == sublayer]
    places = zip(table.sublayer, table.input, table.layer, table.position, strict=True)
    return [
        (place, values(found.program, before, n), values(found.program, after, n))
        for n, place in enumerate(places)
    ]


def by_definition(case: Case, sublayer: str) -> Iterator[tuple[Row, dict, dict]]:
    for number, tokens in enumerate(case.batch):
        run = reference.run_by_definition(case.program, tokens, max_layers=case.max_layers)
        for layer in range(1, run.layers + 1):
            first, middle, last = run.updated[layer - 1], run.attended[layer], run.updated[layer]
            for position, start in enumerate(first):
                if layer > 1 and reference.has_halted(case.program, start):
                    continue
                sides = (start, middle[position])
                if sublayer == "mlp":
                    sides = (middle[position], last[position])
                yield (sublayer, number, layer, position), *sides


@given(cases(strict=True))
@settings(max_examples=60)
def test_every_position_of_every_sublayer_is_there_as_the_reference_has_it(case: Case) -> None:
    found = record(case)
    for sublayer in ("attention", "mlp"):
        mine = {place: (before, after) for place, before, after in recorded(found, sublayer)}
        wanted = {p: (exact(b), exact(a)) for p, b, a in by_definition(case, sublayer)}
        assert mine == wanted


def exact(state: reference.Assignment) -> reference.Assignment:
    """Means as the floats that the machine has."""
    return {k: Fraction(float(v)) if isinstance(v, Fraction) else v for k, v in state.items()}


@given(cases(strict=True))
@settings(max_examples=60)
def test_distinct_traces_are_the_others_once_and_replay_through_the_rules(case: Case) -> None:
    every, once = record(case), record(case, distinct=True)
    for sublayer in ("attention", "mlp"):
        rows = recorded(once, sublayer)
        pairs = [(before, after) for _, before, after in rows]
        assert all(pair not in pairs[:n] for n, pair in enumerate(pairs))
        all_rows = recorded(every, sublayer)
        assert all((before, after) in pairs for _, before, after in all_rows)
        assert all(row in all_rows for row in rows)  # with the place where it was first seen
    for _, before, after in recorded(once, "mlp"):
        assert reference.apply_rules(case.program.rules, case.program.specs, before) == after


@given(case=cases(strict=True))
@settings(max_examples=25)
def test_a_file_is_what_was_in_memory(case: Case, tmp_path_factory) -> None:
    path = tmp_path_factory.mktemp("traces") / "traces.parquet"
    for distinct in (False, True):
        kept = record(case, distinct=distinct, vectors=True)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(traces, "ROWS", 5)
            written = record(case, distinct=distinct, vectors=True, out=path)
        found = read_traces(path, case.program)
        assert len(found) == len(written) == len(kept) == len(kept.to_frame())
        assert found.distinct == distinct
        assert found.to_frame().equals(kept.to_frame()) or len(kept) == 0
        assert sum(len(part) for part in found.parts()) == len(kept)
        assert_vectors(found)


def assert_vectors(found: Traces) -> None:
    layout = lay_out(found.program)
    for sublayer in ("attention", "mlp"):
        of_sublayer = found.table.filter(pa.compute.equal(found.table["sublayer"], sublayer))
        for side, vectors in zip(("before", "after"), found.vectors(sublayer), strict=True):
            assert torch.equal(vectors, encode(layout, found.states(side, sublayer)))
            stored = torch.tensor(of_sublayer[side].to_pylist()).reshape(vectors.shape)
            assert torch.equal(stored, vectors)


def test_vectors_are_what_a_compiled_model_holds() -> None:
    """Through the compiled MLP, what goes in comes out as recorded."""
    for name, given_, layers in (
        ("parity-sequential-relative", "0110", None),
        ("parity-sum-modulo", "0110", 1),
        ("scan", "jump around left twice", None),
    ):
        entry = zoo.load(name)
        batch = [entry.encode(given_)]
        found = es.record_traces(entry.program, batch, distinct=True, max_layers=layers)
        before, after = found.vectors()
        mlp = FeedForward(es.compile_program(entry.program).weights.feedforward)
        torch.testing.assert_close(mlp(before[None])[0], after)


def test_the_distinct_mlp_inputs_of_parity_are_few() -> None:
    entry = zoo.load("parity-sequential-relative")
    batch = [entry.encode(f"{n:012b}") for n in range(0, 1 << 12, 7)]
    found = es.record_traces(entry.program, batch, distinct=True)
    # START, and all values of parity, done and their left neighbours' that can be.
    assert len(found.states("before")["parity"]) == 13
    assert "distinct traces of 4 variables" in str(found)


def test_traces_of_another_program_are_refused(tmp_path) -> None:
    entry = zoo.load("parity-sequential-relative")
    path = tmp_path / "parity.parquet"
    es.record_traces(entry.program, [entry.encode("101")], out=path)
    assert len(read_traces(path, entry.program)) == 24
    other = replace(entry.program, rules=entry.program.rules[1:])
    with pytest.raises(es.FileError, match="are of another program"):
        read_traces(path, other)
    with pytest.raises(es.FileError, match="there is no file"):
        read_traces(tmp_path / "none.parquet", entry.program)
    pq.write_table(pa.table({"x": [1]}), path)
    with pytest.raises(es.FileError, match="holds no traces"):
        read_traces(path, entry.program)
    pq.write_table(pa.table({"x": [1]}).replace_schema_metadata({b"espalier": b"[]"}), path)
    with pytest.raises(es.FileError, match="holds no traces"):
        read_traces(path, entry.program)
    path.write_text("no table")
    with pytest.raises(es.FileError, match="is not a Parquet file"):
        read_traces(path, entry.program)


def test_tables_that_are_not_as_they_were_recorded_are_refused(tmp_path) -> None:
    entry = zoo.load("parity-sequential-relative")
    path = tmp_path / "parity.parquet"
    es.record_traces(entry.program, [entry.encode("101")], out=path)
    table = pq.read_table(path)
    text = pa.array(["x"] * len(table))
    for changed, name in (
        (table.drop_columns(["before.parity"]), "before.parity"),
        (table.append_column("before.parity", text), "before.parity"),
        (table.set_column(0, "sublayer", pa.array([{"x": 1}] * len(table))), "sublayer"),
        (table.set_column(3, "position", text), "position"),
    ):
        pq.write_table(changed, path)
        with pytest.raises(es.FileError, match=rf"has no column '{name}' of .*; record them again"):
            read_traces(path)
    place = table.column_names.index("before.parity")
    for code in (-2, 2):
        codes = pa.array([code] * len(table), pa.int32())
        pq.write_table(table.set_column(place, "before.parity", codes), path)
        with pytest.raises(
            es.FileError, match=rf"traces hold {code} as before.parity, which is no"
        ):
            read_traces(path).states("before")


def test_a_damaged_file_is_told_as_such(tmp_path) -> None:
    entry = zoo.load("parity-sequential-relative")
    path = tmp_path / "parity.parquet"
    es.record_traces(entry.program, [entry.encode("101")], out=path)
    whole = path.read_bytes()
    path.write_bytes(whole[:4] + bytes(byte ^ 0x5A for byte in whole[4:400]) + whole[400:])
    found = read_traces(path, entry.program)
    with pytest.raises(es.FileError, match=r"parity.parquet is damaged .*; record them again"):
        found.to_frame()
    with pytest.raises(es.FileError, match=r"parity.parquet is damaged .*; record them again"):
        es.train(es.TraceRun(entry.program, found), device="cpu")


def test_interruption_leaves_what_was_there(tmp_path, monkeypatch) -> None:
    entry = zoo.load("parity-sequential-relative")
    path = tmp_path / "parity.parquet"
    es.record_traces(entry.program, [entry.encode("1")], out=path)
    earlier = path.read_bytes()
    update = Machine.update

    def stop(machine, state):
        if state.layer == 4:
            raise KeyboardInterrupt
        return update(machine, state)

    monkeypatch.setattr(Machine, "update", stop)
    monkeypatch.setattr(traces, "ROWS", 3)
    with pytest.raises(KeyboardInterrupt):
        es.record_traces(entry.program, [entry.encode("10110")], out=path)
    assert path.read_bytes() == earlier
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_what_cannot_be_recorded_is_refused(tmp_path) -> None:
    entry = zoo.load("parity-sequential-relative")
    with pytest.raises(es.ProgramError, match="the training set is empty"):
        es.record_traces(entry.program, [], out=tmp_path / "t.parquet")
    with pytest.raises(es.ProgramError, match="input 1: position 0 holds token 9"):
        es.record_traces(entry.program, [[2], [9]], out=tmp_path / "t.parquet")
    # Without START, the first bit has no left neighbour to read.
    with pytest.raises(es.UndefinedError, match="layer 1, input 1, position 0"):
        es.record_traces(entry.program, [[2, 1], [1, 1]], out=tmp_path / "t.parquet")
    with pytest.raises(es.FileError, match=r"the suffix \.parquet"):
        es.record_traces(entry.program, [[2]], out=tmp_path / "t.csv")
    assert not list(tmp_path.iterdir())
    found = es.record_traces(entry.program, [[2, 1]])
    with pytest.raises(es.ProgramError, match="'mpl' is no sub-layer; did you mean 'mlp'"):
        found.states("before", "mpl")
    with pytest.raises(es.ProgramError, match="did you mean 'before'"):
        found.states("befor")
