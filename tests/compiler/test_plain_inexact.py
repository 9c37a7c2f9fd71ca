"""Realistic and edited models are unrolled as they are: the same numbers, or a reason why not."""

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.compiler import CompiledModel
from espalier.errors import CompileError
from strategies import Case, cases

LAYERS = 4
FEW = settings(max_examples=max(25, settings().max_examples // 4))


def difference(model: CompiledModel, batch, *, layers: int = LAYERS) -> float:
    """The most by which a logit of the textbook form differs from the compiled model's."""
    plain = model.unroll(layers, max(map(len, batch)))
    lengths, worst = torch.tensor([len(row) for row in batch]), 0.0
    with torch.no_grad():
        found = plain(plain.pad(batch))
        given = plain.pad(batch) % model.program.input_range
        expected = model(given, lengths, max_layers=layers)
    for row, length in enumerate(lengths.tolist()):
        off = found[row, :length].double() - expected[row, :length].double()
        worst = max(worst, float(off.abs().max()))
    return worst


def is_decided(model: CompiledModel, batch) -> bool:
    """Whether no position is in doubt about having halted, in any layer."""
    encoder, halt = model.encoder, model.weights.halt
    if halt is None:
        return True
    for row in batch:
        z, valid = encoder.embed(torch.tensor([row])), torch.ones(1, len(row), dtype=torch.bool)
        halted = torch.zeros(1, dtype=torch.bool)
        for layer in range(LAYERS):
            z, halted = encoder.step(z, valid, halted, layer)
            amount = z[..., halt.dimension] if halt.direction is None else z @ halt.direction
            if bool(((amount - 0.5).abs() < 0.02).any()):
                return False
    return True


@st.composite
def dials(draw) -> es.Realism:
    return es.Realism(
        sharpness=draw(st.sampled_from((None, 100.0))),
        ramp=draw(st.sampled_from((0.25, 0.5, 1.0))),
        rotation=draw(st.sampled_from((None, 0, 1))),
        distractors=draw(st.integers(0, 2)),
        noise=draw(st.sampled_from((0.0, 1e-3))),
        seed=draw(st.integers(0, 9)),
        positions=8,
        proven=False,
    )


@FEW
@given(cases(), dials())
def test_realistic_models(case: Case, realism: es.Realism) -> None:
    try:
        model = es.compile_program(case.program, dtype=torch.float64, realism=realism)
    except CompileError:
        assume(False)
    assume(is_decided(model, case.batch))
    try:
        assert difference(model, case.batch) < 1e-6
    except CompileError as error:
        assert model.layout.flags, error  # noqa: PT017
        assert "softmax" in str(error)  # noqa: PT017


@FEW
@given(cases(), st.integers(0, 99))
def test_edited_models(case: Case, seed: int) -> None:
    model = es.compile_program(case.program, dtype=torch.float64)
    assume(not model.layout.flags)
    source = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            chosen = torch.rand(parameter.shape, generator=source) < 0.1
            parameter[chosen] *= 0.7 + 0.6 * torch.rand(1, generator=source).double()
    assume(is_decided(model, case.batch))
    assert difference(model, case.batch) < 1e-6


def test_what_is_proven_right_keeps_its_outputs_in_float32() -> None:
    entry = es.zoo.load("histogram")
    batch = [entry.encode(given) for given in entry.samples(30, size=4)]
    realism = es.Realism(rotation=1, distractors=1, positions=8, layers=8)
    model = es.compile_program(entry.program, realism=realism)
    plain = model.unroll(LAYERS, 8)
    found = plain(plain.pad(batch)).argmax(-1)
    for row, run in enumerate(model.run_many(batch, max_layers=LAYERS)):
        assert found[row, : len(batch[row])].tolist() == run.outputs
    assert plain.config.residual_labels[0] == "dimension 0"
    assert "distractor_1" in plain.config.head_labels
    assert plain.config.block_labels[4] == "layer 1: halting"


def test_superposed_meanings_are_followed() -> None:
    entry = es.zoo.load("dyck")
    batch = [entry.encode(given) for given in entry.samples(30, size=4)]
    width = es.compile_program(entry.program).layout.width
    realism = es.Realism(width=width - 8, proven=False)
    model = es.compile_program(entry.program, dtype=torch.float64, realism=realism)
    assert difference(model, batch) < 1e-6


@pytest.mark.parametrize("part", ["first", "second", "query"])
def test_edited_numerical_models_are_followed_in_float64(part: str) -> None:
    entry = es.zoo.load("sort")
    batch = [entry.encode(given) for given in entry.samples(30, size=4)]
    for dtype in (torch.float32, torch.float64):
        model = es.compile_program(entry.program, dtype=dtype)
        mlp, head = model.encoder.mlp, model.encoder.attention.head("rank_share")
        with torch.no_grad():
            matrix = head.query if part == "query" else getattr(mlp, part)
            matrix.values[::5] *= 0.9
        if dtype == torch.float64:
            assert difference(model, batch) < 1e-6
        else:
            with pytest.raises(CompileError, match=r"edited.*dtype=torch.float64"):
                model.unroll(LAYERS)


def test_means_that_a_softmax_does_not_follow_are_refused() -> None:
    program = es.zoo.load("sort").program
    wide = {"dtype": torch.float64}
    soft = es.Realism(sharpness=30.0, proven=False)
    with pytest.raises(CompileError, match="sharpness of 80 or more"):
        es.compile_program(program, realism=soft, **wide).unroll(2, 8)
    noisy = es.compile_program(program, realism=es.Realism(noise=1e-3, proven=False), **wide)
    with pytest.raises(CompileError, match="counts each as 1"):
        noisy.unroll(2, 8)
    unproven = es.compile_program(program, realism=es.Realism(rotation=0, proven=False))
    with pytest.raises(CompileError, match="not proven right"):
        unproven.unroll(2, 8)
    edited = es.compile_program(program, **wide)
    with torch.no_grad():
        edited.encoder.token_embedding.weight.mul_(0.9)
    with pytest.raises(CompileError, match="counts each as 1"):
        edited.unroll(2, 8)
