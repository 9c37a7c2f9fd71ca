"""Units that are looked up are the units that the matrices turn on."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.compiler import CompiledModel
from espalier.language import Rule, program_spec, var
from espalier.nets.compiled import feedforward, lookup
from espalier.nets.compiled.feedforward import FeedForward
from espalier.nets.compiled.lookup import look_up
from rule_sets import rule_sets
from strategies import Case, cases


@pytest.fixture(autouse=True)
def _always_look_up(monkeypatch) -> None:
    monkeypatch.setattr(lookup, "FEWEST", 1)
    monkeypatch.setattr(feedforward, "LITTLE", 0)


def both(program, dtype=torch.float32) -> tuple[FeedForward, FeedForward, CompiledModel]:
    model = es.compile_program(program, dtype=dtype)
    weights = model.weights.feedforward
    return FeedForward(weights, model.layout.groups), FeedForward(weights), model


def assert_same(case: Case, seed: int) -> None:
    """On every stream of a run, and beside positions that hold anything."""
    found, computed, model = both(case.program)
    encoder = model.fast_encoder()
    for tokens in case.batch:
        z = encoder.embed(torch.tensor([tokens]))
        valid = torch.ones(1, len(tokens), dtype=torch.bool)
        for layer in range(4):
            z = encoder.attention(z, valid)
            after = computed(z)
            assert torch.equal(found(z), after)
            mixed = z.clone()
            source = torch.Generator().manual_seed(seed + layer)
            mixed[0, ::2] += torch.rand(mixed[0, ::2].shape, generator=source).round(decimals=1)
            torch.testing.assert_close(found(mixed), computed(mixed))
            z = after


@pytest.mark.parametrize("merged", [False, True])
@given(case=cases(), seed=st.integers(0, 99))
@settings(max_examples=20)
def test_on_random_programs(merged: bool, case: Case, seed: int) -> None:
    program = case.program.merged() if merged else case.program
    assert_same(Case(program, case.batch, case.max_layers), seed)


@given(case=rule_sets(), seed=st.integers(0, 99))
def test_on_random_rule_sets(case: Case, seed: int) -> None:
    assert_same(case, seed)


def test_all_units_of_a_wide_program_are_looked_up() -> None:
    sizes = {"a": 5, "b": 6, "c": 7}
    every = itertools.product(*map(range, sizes.values()))
    rules = [Rule(dict(zip(sizes, v, strict=True)), "out", 0, sum(v) % 3 + 1) for v in every]
    rules += [Rule({"out": n}, "c", c, (c + n) % 7) for n in range(1, 4) for c in range(7)]
    program = program_spec(
        {n: var(s, input_init_fn=lambda t, s=s: t % s) for n, s in sizes.items()} | {"out": var(4)},
        rules=rules,
        output_name="out",
        input_range=210,
    )
    found, computed, model = both(program)
    assert len(found.others.first.rows) == 0
    assert found.lookup is not None
    z = model.fast_encoder().embed(torch.arange(210)[None])
    for _ in range(3):
        after = computed(z)
        assert torch.equal(found(z), after)
        z = after
    batch = [list(range(n, n + 9)) for n in range(200)]
    assert model.run_many(batch, max_layers=3) == es.interpret_many(program, batch, max_layers=3)


def test_without_groups_or_units_nothing_is_looked_up() -> None:
    program = program_spec({"a": var(2)}, rules=[], output_name="a", input_range=1)
    model = es.compile_program(program)
    assert look_up(model.weights.feedforward, model.layout.groups)[0] is None
    assert look_up(model.weights.feedforward, ())[0] is None
