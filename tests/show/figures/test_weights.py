import pytest

import espalier as es
from espalier import zoo
from espalier.show.figures import draw_weights


def test_every_weight_that_is_not_zero_is_written_in() -> None:
    model = es.compile_program(zoo.load("parity-sequential-relative").program)
    figure = draw_weights(model)
    weights = model.weights.feedforward
    bias = int((weights.b1 != 0).sum())
    texts = [len(panel.texts) for panel in figure.axes]
    assert texts == [len(weights.w1.values), bias, len(weights.w2.values)]


def test_more_than_can_be_read_is_refused() -> None:
    model = es.compile_program(zoo.load("parity-sum-modulo").program)
    with pytest.raises(es.ProgramError, match="legible"):
        draw_weights(model)
