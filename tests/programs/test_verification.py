import dataclasses
import importlib

import pytest
import torch

import espalier as es
from espalier import zoo
from espalier.compiler import CompiledModel
from espalier.interventions import Set
from espalier.language import Program, halt_spec, program_spec, var
from espalier.programs import Verification, agreement, ask, generation
from espalier.runs import by_parts

verification = importlib.import_module("espalier.programs.verification")

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
    assert (first.input, first.layer, first.sublayer) == (0, 0, "embedding")
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


def told(found: Verification) -> tuple[object, ...]:
    """All that a verification says, whichever came first."""
    where = sorted(found.disagreements, key=str)
    return found.inputs, found.layers, found.values, found.count, where, found.errors, found.edited


@pytest.mark.parametrize("size", [1, 2, 5])
def test_parts_are_joined_to_what_the_whole_says(size: int) -> None:
    table = es.compile_program(ENTRY.program).weights.token_embedding.clone()
    table[1] = table[0]
    model = spoiled(token_embedding=table)
    batch = [*BATCH, [1, 1], *BATCH, [2, 0, 1], [1, 1], *BATCH]  # two are refused
    whole = es.verify(ENTRY.program, batch, model=model)
    assert list(whole.errors) == [3, 8]
    given = (ENTRY.program, model, None, True)
    numbered = list(enumerate(map(tuple, batch)))
    found = by_parts(verification._verify_part, numbered, given, size=size)
    assert told(Verification.of(found, edited=whole.edited)) == told(whole)


def test_no_more_disagreements_are_stored_of_parts_than_of_all_inputs(monkeypatch) -> None:
    table = es.compile_program(ENTRY.program).weights.token_embedding.clone()
    table[1] = table[0]
    found = es.verify(ENTRY.program, BATCH, model=spoiled(token_embedding=table))
    monkeypatch.setattr(agreement, "KEPT", found.count + 1)
    twice = Verification.of([found, found], edited=True)
    assert twice.count == 2 * found.count
    assert len(twice.disagreements) == found.count + 1


def test_it_is_the_same_by_processes(monkeypatch) -> None:
    for module in (verification, generation):
        monkeypatch.setattr(module, "PART", 4)
    inputs = ENTRY.samples(10, size=6, seed=0)
    batch = [ENTRY.encode(text) for text in inputs]
    steps: list[tuple[int, int]] = []
    found = es.verify(ENTRY.program, batch, workers=2, progress=lambda *some: steps.append(some))
    assert told(found) == told(es.verify(ENTRY.program, batch))
    assert len(steps) == 3
    assert steps[-1] == (10, 10)
    assert ask(ENTRY, inputs, workers=2) == ask(ENTRY, inputs)
    model = es.compile_program(ENTRY.program)
    assert ask(ENTRY, inputs, model=model, workers=2) == ask(ENTRY, inputs)


def test_interventions_are_compared_by_one_process() -> None:
    change = [Set("parity", layer=1, position=1, value=0)]
    with pytest.raises(es.ConfigError, match="give no workers"):
        es.verify(ENTRY.program, BATCH, interventions=change, workers=2)
    with pytest.raises(es.ConfigError, match="workers = -1"):
        es.verify(ENTRY.program, BATCH, workers=-1)
    assert es.verify(ENTRY.program, [], workers=2).ok


def stretched(halts: bool) -> Program:
    """Counts its layers, modulo 3, and halts when there are as many as its token says; or never."""

    def step(z: dict[str, int]) -> None:
        z["layer"] = (z["layer"] + 1) % 8
        z["count"] = ((z["layer"] + 1) % 8) % 3
        if halts and z["layer"] + 1 == z["wanted"]:
            z["done"] = 1

    variables = {
        "wanted": var(8, input_init_fn=lambda token: token),
        "layer": var(8),
        "count": var(3),
        "done": var(2),
    }
    return program_spec(
        variables=variables,
        heads={},
        ffn_fn=step,
        output_name="count",
        input_range=8,
        halt_spec=halt_spec("done"),
    )


@pytest.mark.parametrize("kept", [5, 1000])
def test_what_is_said_of_an_input_does_not_depend_on_the_others(monkeypatch, kept) -> None:
    """Also where the weights never halt, and disagree more often than is stored."""
    monkeypatch.setattr(agreement, "KEPT", kept)
    monkeypatch.setattr(verification, "PART", 4)
    by_parts = verification.by_parts
    monkeypatch.setattr(
        verification, "by_parts", lambda *some, workers, **more: by_parts(*some, **more)
    )
    model = es.compile_program(stretched(halts=False))
    batch = [(2 + (7 * n) % 5,) for n in range(30)]
    whole, parts = (
        es.verify(stretched(halts=True), batch, model=model, workers=workers) for workers in (0, 1)
    )
    assert whole.count > 30
    assert whole == parts
    assert [one.input for one in whole.disagreements] == sorted(
        one.input for one in whole.disagreements
    )
    alone = [es.verify(stretched(halts=True), [one], model=model).count for one in batch]
    assert whole.count == sum(alone)
