"""Lessons are exactly the vectors that the compiled MLP is given, and its outputs."""

import pytest
import torch
from hypothesis import given, settings

import espalier as es
from espalier import zoo
from espalier.compiler.layout import averages
from espalier.learnability import read_traces
from espalier.learnability.lessons import lessons
from espalier.nets.compiled.feedforward import Expansion
from espalier.nets.compiled.mlp import see
from strategies import Case, cases


def rows(tensor):
    return {tuple(row) for row in (tensor.double() * 2**12).round().tolist()}


@settings(max_examples=60)
@given(cases(strict=True))
def test_they_are_what_the_network_goes_through(case: Case) -> None:
    program = case.program
    if any(averages(program, head) for head in program.heads.values()):
        return  # where a head's average is undefined the stream holds a mixture, the trace nothing
    model = es.compile_program(program)
    if not case.max_layers and case.max_layers is not None:
        with pytest.raises(es.DataError, match="run the program for one layer at least"):
            lessons(model, case.batch, max_layers=0)
        return
    taught = lessons(model, case.batch, max_layers=case.max_layers)
    given_, made = set(), set()
    for tokens, run in zip(
        case.batch,
        es.interpret_many(program, case.batch, max_layers=case.max_layers),
        strict=True,
    ):
        encoder = model.fast_encoder()
        z = encoder.embed(torch.tensor([tokens]))
        valid = torch.ones(1, len(tokens), dtype=torch.bool)
        for layer in range(run.layers):
            resting, attended = encoder.resting(z, layer), encoder.attention(z, valid)
            awake = valid[0] if resting is None else ~resting[0]
            z = encoder.update_awake(resting, z, attended.clone())
            given_ |= rows(attended[0, awake])
            made |= rows(torch.cat([attended[0, awake], z[0, awake]], 1))
    width = model.layout.width
    stream = taught.before[:, :width]
    assert rows(stream) == given_
    assert rows(torch.cat([stream, taught.after], 1)) == made
    assert len(taught) == len(made)


@settings(max_examples=30)
@given(case=cases(strict=True))
def test_recorded_traces_teach_the_same(case: Case, tmp_path_factory) -> None:
    """In the same order, so that what is trained on a file is what is trained on the inputs."""
    model = es.compile_program(case.program)
    if case.max_layers == 0:
        return
    wanted = lessons(model, case.batch, max_layers=case.max_layers)
    path = tmp_path_factory.mktemp("traces") / "traces.parquet"
    for distinct in (False, True):
        out = path if distinct else None
        found = es.record_traces(
            case.program, case.batch, max_layers=case.max_layers, distinct=distinct, out=out
        )
        taught = lessons(model, found if out is None else read_traces(out, case.program))
        assert torch.equal(taught.before, wanted.before)
        assert torch.equal(taught.after, wanted.after)


def test_traces_of_another_program_are_refused() -> None:
    entry, other = zoo.load("parity-sequential-relative"), zoo.load("parity-sum-modulo")
    traces = es.record_traces(other.program, [other.encode("101")], max_layers=1)
    model = es.compile_program(entry.program)
    with pytest.raises(es.DataError, match="are of another program than the one to be trained"):
        lessons(model, traces)


def test_numbers_come_with_their_one_hot_features() -> None:
    entry = zoo.load("parity-sum-modulo", buckets=8)
    model = es.compile_program(entry.program)
    taught = lessons(model, [entry.encode("1" * ones) for ones in range(6)], max_layers=1)
    features = taught.before[:, model.layout.width :]
    assert features.sum(1).tolist() == [1.0] * len(taught)
    assert len(features.unique(dim=0)) == 6
    expansion = Expansion(model.weights.feedforward.expansion)
    again = see(taught.before[:, : model.layout.width], expansion)
    assert torch.equal(again, taught.before)


def test_an_empty_training_set_is_refused() -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    with pytest.raises(es.ProgramError, match="the training set is empty"):
        lessons(model, [])
