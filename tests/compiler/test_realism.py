"""Less clean networks do what clean ones do, in other directions."""

import copy

import pytest
import torch
from hypothesis import given

import espalier as es
from espalier import zoo
from espalier.compiler import decode, encode
from espalier.interpreter import Machine
from espalier.language import halt_spec, var
from strategies import Case, cases

PARITY = zoo.load("parity-sequential-relative")
INPUTS = [PARITY.encode(bits) for bits in ("1", "01", "110", "0111", "1011011")]


def realistic(name: str = "parity-sequential-relative", **dials) -> es.compiler.CompiledModel:
    return es.compile_program(zoo.load(name).program, realism=es.Realism(**dials))


def test_without_realism_nothing_changes() -> None:
    """The digest of weights compiled before there was such a thing."""
    digest = "3b859cd6bad25c5eb895aacec3d5d666c342116cb0996550d9e1a7d105649750"
    assert es.compile_program(PARITY.program).compiled_digest == digest


@pytest.mark.parametrize("dials", [{}, {"rotation": 3}, {"width": 30, "rotation": 1}])
def test_a_stream_is_read_and_written_through_the_basis(dials) -> None:
    model = realistic(**dials)
    assert model.basis.shape == (len(model.labels), model.weights.token_embedding.shape[1])
    state = Machine(PARITY.program).start(INPUTS)
    z = encode(model.layout, state.columns)
    for name, found in decode(model.layout, z).items():
        assert found.tolist() == state.columns[name].tolist()
    tokens = torch.tensor(INPUTS[-1])
    assert torch.allclose(
        model.encoder.embed(tokens[None])[0],
        encode(model.layout, Machine(PARITY.program).start([INPUTS[-1]]).columns),
        atol=1e-5,
    )


def test_rotated_weights_are_the_clean_ones_in_another_basis() -> None:
    model, clean = realistic(rotation=5), realistic()
    basis = model.basis
    for one, other in zip(model.weights.heads, clean.weights.heads, strict=True):
        for name in ("query", "key", "value"):
            back = getattr(one, name).dense() @ basis.T
            assert torch.allclose(back, getattr(other, name).dense(), atol=1e-3)
        assert torch.allclose(basis @ one.output.dense(), other.output.dense(), atol=1e-5)
    w1 = model.weights.feedforward.w1.dense() @ basis.T
    assert torch.allclose(w1, clean.weights.feedforward.w1.dense(), atol=1e-5)
    assert (basis @ basis.T - torch.eye(len(basis))).abs().max() < 1e-5


def test_saved_copied_hooked_and_moved(tmp_path) -> None:
    model = realistic(rotation=2, distractors=2, width=20)
    model.save(tmp_path / "model.safetensors")
    loaded = es.load(tmp_path / "model.safetensors")
    assert loaded.realism == model.realism
    assert torch.equal(loaded.layout.basis.directions, model.layout.basis.directions)
    assert loaded.is_as_compiled
    wanted = [run.outputs for run in model.run_many(INPUTS)]
    for other in (loaded, copy.deepcopy(model), copy.deepcopy(model).to(torch.float64)):
        assert [run.outputs for run in other.run_many(INPUTS)] == wanted
        assert es.verify(PARITY.program, INPUTS, model=other).ok
    seen = []
    model.encoder.attention.distractor_1.register_forward_hook(lambda *call: seen.append(call[-1]))
    assert [run.outputs for run in model.run_many(INPUTS)] == wanted
    assert any(added.abs().max() > 0.1 for added in seen)
    assert "encoder.halt_direction" in dict(model.named_parameters())
    with torch.no_grad():
        model.encoder.halt_direction.zero_()
    assert not model.is_as_compiled
    assert not model.run(INPUTS[0], max_layers=9).halted


def test_endless_runs_are_noticed() -> None:
    """A rotated state comes back only nearly."""
    program = es.program_spec(
        {"x": var(3), "done": var(2)},
        ffn_fn=lambda z: z.__setitem__("x", (z["x"] + 1) % 3),
        output_name="x",
        input_range=2,
        halt_spec=halt_spec("done"),
    )
    model = es.compile_program(program, realism=es.Realism(rotation=1))
    with torch.no_grad(), pytest.raises(es.ProgramError, match="never halts"):
        model(torch.tensor([[0, 1]]))


@given(cases(strict=True))
def test_every_kind_of_program_can_be_rotated(case: Case) -> None:
    try:
        model = es.compile_program(case.program, realism=es.Realism(rotation=1, distractors=1))
    except es.CompileError:
        return
    found = es.verify(case.program, case.batch, model=model, max_layers=case.max_layers)
    assert found.count == 0, found.disagreements[:3]
