import torch
from hypothesis import given, settings

import espalier as es
import transformer
from espalier.nets.compiled import feedforward, sparse
from espalier.nets.compiled.feedforward import FeedForward
from strategies import Case, cases


@given(cases(strict=None))
@settings(max_examples=40)
def test_the_mlp_equals_the_textbook_on_any_stream(case: Case) -> None:
    weights = es.compile_program(case.program, dtype=torch.float64).weights
    z = torch.rand(11, weights.token_embedding.shape[1], dtype=torch.float64)
    expected = z + transformer.feed_forward(weights.feedforward, z)
    torch.testing.assert_close(FeedForward(weights.feedforward)(z[None])[0], expected)
    block, small = feedforward.BLOCK, sparse.SMALL
    try:
        # In blocks of few positions, and never densely.
        feedforward.BLOCK, sparse.SMALL, sparse.DENSE = 3 * len(weights.feedforward.b1), 0, 2.0
        pieces = FeedForward(weights.feedforward)
        torch.testing.assert_close(pieces(z[None])[0], expected)
    finally:
        feedforward.BLOCK, sparse.SMALL, sparse.DENSE = block, small, 0.25
