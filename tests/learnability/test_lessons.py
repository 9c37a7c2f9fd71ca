"""Lessons are exactly the vectors that the compiled MLP is given, and what it makes of them."""

import pytest
import torch
from hypothesis import given, settings

import espalier as es
from espalier import zoo
from espalier.compiler.layout import averages
from espalier.learnability.lessons import lessons
from espalier.nets.feedforward import Expansion
from espalier.nets.mlp import see
from strategies import Case, cases


def rows(tensor):
    return {tuple(row) for row in (tensor.double() * 2**12).round().tolist()}


@settings(max_examples=40)
@given(cases(strict=True))
def test_they_are_what_the_network_goes_through(case: Case) -> None:
    program = case.program
    if any(averages(program, head) for head in program.heads.values()):
        return  # where a head's average is undefined the stream holds a mixture, the trace nothing
    model = es.compile_program(program)
    taught = lessons(model, case.batch, max_layers=case.max_layers)
    given_, made, total = set(), set(), 0
    for tokens, run in zip(
        case.batch,
        es.interpret_many(program, case.batch, max_layers=case.max_layers),
        strict=True,
    ):
        z = model.encoder.embed(torch.tensor([tokens]))
        valid = torch.ones(1, len(tokens), dtype=torch.bool)
        for _ in range(run.layers):
            attended = model.encoder.attention(z, valid)
            z = model.encoder.update_(attended.clone())
            given_ |= rows(attended[0])
            made |= rows(torch.cat([attended[0], z[0]], 1))
            total += len(tokens)
    width = model.layout.width
    stream = taught.before[:, :width]
    assert rows(stream) == given_
    assert rows(torch.cat([stream, taught.after], 1)) == made
    assert len(taught) == len(made)
    assert int(taught.counts.sum()) == total


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
    with pytest.raises(es.DataError, match="traces need at least one input; found none"):
        lessons(model, [])
