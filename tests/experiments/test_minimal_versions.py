"""Minimal versions as training sets grow, held against the interpreter."""

import pandas as pd
import pytest

import espalier as es
from espalier.errors import EspalierError
from espalier.experiments.minimal_figures import tabulate
from espalier.experiments.minimal_versions import MinimalVersions, answers_of, rows_of

CONFIG = MinimalVersions(("addition",), inputs=(1, 4, 16), tests=12, size=4, seeds=2)


def on_symbols(entry, small, given, layers):
    """The answer of the interpreter, by other code than the weights'; None where there is none."""
    try:
        run = es.interpret(small, entry.encode(given), max_layers=layers)
        return entry.decode(run.outputs)
    except EspalierError:
        return None


@pytest.mark.parametrize("name", ["addition", "reverse", "parity-sum-modulo", "parity-scratchpad"])
def test_rules_only_grow_and_training_is_answered(name):
    entry = es.zoo.load(name)
    rows = rows_of(entry, 3, CONFIG)
    assert [row["inputs"] for row in rows] == [1, 4, 16]
    kept = [row["rules"] for row in rows]
    assert kept == sorted(kept)
    assert all(0 <= row["right"] <= row["tested"] <= 12 for row in rows)
    drawn = entry.samples(16, size=4, seed=6)
    read = [answer.read for answer in es.programs.ask(entry, drawn)]
    small = es.minimal(entry.program, read, max_layers=entry.max_layers)
    model = es.compile_program(small)
    assert answers_of(entry, model, drawn, entry.max_layers or 40) == [
        entry.expected(given) for given in drawn
    ]


def test_right_answers_are_those_of_the_interpreter():
    entry = es.zoo.load("addition")
    drawn = [entry.encode(given) for given in entry.samples(16, size=4, seed=0)]
    tests = [
        given for given in entry.samples(120, size=4, seed=1) if entry.encode(given) not in drawn
    ][:12]
    layers = 1 + max(es.interpret(entry.program, entry.encode(given)).layers for given in tests)
    for row in rows_of(entry, 0, CONFIG):
        small = es.minimal(entry.program, drawn[: row["inputs"]])
        found = [on_symbols(entry, small, given, layers) for given in tests]
        right = sum(one == entry.expected(given) for one, given in zip(found, tests, strict=True))
        assert row["right"] == right


def test_the_table_has_a_row_a_program_and_size():
    rows = pd.DataFrame(
        row for seed in (0, 1) for row in rows_of(es.zoo.load("dyck"), seed, CONFIG)
    )
    table = tabulate(rows)
    assert table["inputs"].tolist() == [1, 4, 16]
    assert set(table["of"]) == {129}
    assert (table["seeds"] == 2).all()
