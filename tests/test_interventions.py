"""Interpreter and weights under interventions: one meaning, and zero differences."""

import os

import numpy as np
import pytest
import torch
from hypothesis import given, settings

import espalier as es
from changes import changed_inputs, run_changed
from strategies import cases

# As many pairs of a program and interventions, at least.
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
pairs = settings(max_examples=1000 if DEEP else 40)
few = settings(max_examples=200 if DEEP else 15)


@pairs
@given(changed_inputs())
def test_symbols_and_weights_agree_on_everything(case) -> None:
    program, inputs, layers = case
    model = es.compile_program(program)
    for tokens, changes in inputs:
        options = {"max_layers": layers, "interventions": changes}
        why = refused(lambda: es.interpret(program, tokens, **options))  # noqa: B023
        assert why == refused(lambda: model.run(tokens, **options))  # noqa: B023
        if why:
            continue
        trace = es.interpret(program, tokens, max_layers=layers, interventions=changes)
        run = model.run(tokens, max_layers=layers, interventions=changes, cache=True)
        assert_same(program, trace, run)


def refused(work) -> str:
    """Why something is refused, or nothing."""
    try:
        work()
    except es.ProgramError as error:
        return str(error)
    return ""


def assert_same(program, trace, run) -> None:
    assert (run.outputs, run.layers, run.halted) == (trace.outputs, trace.layers, trace.halted)
    assert run.idle == trace.idle
    for name in program.specs:
        for sublayer in ("attention", "mlp"):
            ours, theirs = (c.variable(name, sublayer) for c in (trace.cache, run.cache))
            assert ours.shape == theirs.shape
            for one, other in zip(ours.flat, theirs.flat, strict=True):
                assert one == (pytest.approx(other, abs=1e-6) if type(one) is float else other)
    for head in program.heads:
        ours, theirs = (cache.attention(head) for cache in (trace.cache, run.cache))
        np.testing.assert_allclose(theirs, ours, atol=1e-6)
    np.testing.assert_allclose(run.cache.units.dense(), trace.cache.units.dense(), atol=1e-6)


@few
@given(changed_inputs())
def test_a_batch_is_its_members_and_verifies(case) -> None:
    program, inputs, layers = case
    kept = []
    for tokens, changes in inputs:
        try:
            es.interpret(program, tokens, max_layers=layers, interventions=changes)
            kept.append((tokens, changes))
        except es.ProgramError:
            pass
    if kept:
        batch, nested = [list(some) for some in zip(*kept, strict=True)]
        model, options = es.compile_program(program), {"max_layers": layers}
        together = es.interpret_many(program, batch, interventions=nested, **options)
        assert together == model.run_many(batch, interventions=nested, **options)
        for run, tokens, changes in zip(together, batch, nested, strict=True):
            alone = es.interpret(program, tokens, interventions=changes, **options)
            assert (run.outputs, run.layers, run.idle) == (alone.outputs, alone.layers, alone.idle)
        found = es.verify(program, batch, model=model, interventions=nested, **options)
        assert found.ok, str(found)
        assert found.values


@few
@given(changed_inputs(causal=True))
def test_what_is_written_is_what_the_whole_text_answers(case) -> None:
    program, inputs, layers = case
    if program.output.size > program.input_range or program.position_range is not None:
        return
    model = es.compile_program(program)
    for tokens, changes in inputs:
        text, expected = list(tokens), None
        while len(text) < len(tokens) + 3:
            expected = run_changed(program, text, changes, layers)
            if expected.outputs[-1] is None:
                return
            text.append(expected.outputs[-1])
        for machine in (program, model):
            options = {"max_tokens": 3, "max_layers": layers, "interventions": changes}
            why = refused(lambda: es.generate(machine, tokens, **options))  # noqa: B023
            assert "not reached" in why or "never" in why or not why
            if not why:
                assert list(es.generate(machine, tokens, **options).sequence) == text


def test_a_cache_holds_what_hooks_hear() -> None:
    entry = es.zoo.load("parity-scratchpad")
    model, heard = es.compile_program(entry.program), {"attention": [], "mlp": []}
    for name, kept in heard.items():
        model.encoder.get_submodule(name).register_forward_hook(
            lambda module, given, added, kept=kept: kept.append(added[0])
        )
    run = model.run(entry.encode("101"), cache=True)
    assert len(heard["attention"]) == len(heard["mlp"]) == run.layers
    for layer in range(1, run.layers + 1):
        before, middle, after = (
            run.cache.residual(*place)
            for place in ((layer - 1, "mlp"), (layer, "attention"), (layer, "mlp"))
        )
        done = run.cache.variable("done")[layer - 1] == 1
        awake = torch.tensor((~done if layer > 1 else np.ones_like(done)).astype(bool))
        assert torch.equal(middle, before + heard["attention"][layer - 1] * awake[:, None])
        assert torch.equal(after, middle + heard["mlp"][layer - 1] * awake[:, None])


@few
@given(cases())
def test_looking_changes_nothing(case) -> None:
    model = es.compile_program(case.program)
    layers = 3 if case.max_layers is None else case.max_layers
    seen = model.run_many(case.batch, max_layers=layers, cache=True)
    assert seen == model.run_many(case.batch, max_layers=layers)
    for tokens, run in zip(case.batch, seen, strict=True):
        try:
            trace = es.interpret(case.program, tokens, max_layers=layers)
        except es.UndefinedError:
            continue
        assert_same(case.program, trace, run)
