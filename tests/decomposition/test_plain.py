import pytest
import torch

from espalier.decomposition.plain import Inputs
from espalier.decomposition.shared import Ready
from lstm_models import random_model


@pytest.mark.parametrize("memory", [0, 10**6])
@pytest.mark.parametrize("met", [[], [1, 5, 1], list(range(8))])
def test_inputs_are_the_same_whether_words_were_met_or_fit(memory, met):
    lm = random_model()
    first = Ready.of(lm.layers()[0])
    inputs = Inputs(lm, first, memory=memory)
    inputs.meet(torch.tensor(met, dtype=torch.long))
    inputs.meet(torch.tensor(met[:2], dtype=torch.long))
    tokens = torch.tensor([[1, 5], [2, 1], [7, 0]])
    for some in (tokens, tokens[:1]):
        table, places = inputs.of(some)
        wanted = lm.encoder.weight[some] @ first.layer.from_input.T
        torch.testing.assert_close(table[places], wanted)
