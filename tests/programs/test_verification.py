import dataclasses

import pytest
import torch

import espalier as es
from espalier import zoo
from espalier.compiler import CompiledModel

ENTRY = zoo.load("parity-sequential-relative")
BATCH = [ENTRY.encode(bits) for bits in ("1", "1011", "00")]


def spoiled(**tensors: torch.Tensor) -> CompiledModel:
    """The parity model with some of its weights replaced."""
    model = es.compile_program(ENTRY.program)
    return CompiledModel(model.layout, dataclasses.replace(model.weights, **tensors))


def test_agreement_is_reported_with_its_size() -> None:
    found = es.verify(ENTRY.program, BATCH)
    assert found.ok
    assert found.inputs == 3
    assert found.layers == 1 + 4 + 2
    assert "all agree" in str(found)
    assert found.to_frame().empty


def test_edited_weights_are_said_to_be_so() -> None:
    model = es.compile_program(ENTRY.program)
    assert "edited" not in str(es.verify(ENTRY.program, BATCH, model=model))
    model.encoder.token_embedding.weight.data[1] += 1e-6
    found = es.verify(ENTRY.program, BATCH, model=model)
    assert found.ok
    assert "edited since they were compiled" in str(found)


def test_a_wrong_embedding_is_located() -> None:
    table = es.compile_program(ENTRY.program).weights.token_embedding.clone()
    table[1] = table[0]  # a one is embedded as a zero
    found = es.verify(ENTRY.program, BATCH, model=spoiled(token_embedding=table))
    assert not found.ok
    first = found.disagreements[0]
    assert (first.input, first.layer, first.sublayer) == (1, 0, "embedding")
    assert (first.position, first.variable) == (1, "parity")
    assert (first.interpreter, first.weights) == ("1", "0")
    assert {one.input for one in found.disagreements} == {0, 1}
    assert len(found.to_frame()) == found.count


@pytest.mark.parametrize("dimension", range(9))
def test_no_dimension_can_be_wrong_unnoticed(dimension: int) -> None:
    table = es.compile_program(ENTRY.program).weights.token_embedding.clone()
    table[2, dimension] += 0.4
    assert not es.verify(ENTRY.program, BATCH, model=spoiled(token_embedding=table)).ok


def test_every_weight_of_the_mlp_matters() -> None:
    weights = es.compile_program(ENTRY.program).weights.feedforward
    for place in range(len(weights.w2.values)):
        values = weights.w2.values.clone()
        values[place] = 0
        broken = dataclasses.replace(weights, w2=dataclasses.replace(weights.w2, values=values))
        assert not es.verify(ENTRY.program, BATCH, model=spoiled(feedforward=broken)).ok


def test_a_model_that_halts_late_is_noticed() -> None:
    found = es.verify(ENTRY.program, [ENTRY.encode("1011")], model=spoiled(halt=None), max_layers=9)
    assert not found.ok
    assert {one.variable for one in found.disagreements} == {"layers"}


def test_an_input_that_the_interpreter_refuses_is_an_error_and_the_others_are_compared() -> None:
    found = es.verify(ENTRY.program, [[2, 1], [1, 1], [2, 0, 1]])
    assert not found.ok
    assert list(found.errors) == [1]
    assert "undefined" in found.errors[1]
    assert found.count == 0
    assert es.verify(ENTRY.program, [[1, 1]], strict=False, max_layers=3).ok


def test_saving(tmp_path) -> None:
    es.verify(ENTRY.program, BATCH).save(tmp_path / "found.csv")
    assert (tmp_path / "found.csv").read_text().startswith("input,layer,sublayer")


def test_a_model_of_another_program_is_refused() -> None:
    other = es.compile_program(zoo.load("parity-sum-modulo").program)
    with pytest.raises(es.ProgramError, match="not compiled from this program"):
        es.verify(ENTRY.program, BATCH, model=other)
    with pytest.raises(es.ProgramError, match="a Program is needed"):
        es.verify(None, BATCH)
