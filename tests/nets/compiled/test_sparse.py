import torch
from hypothesis import given
from hypothesis import strategies as st

from espalier.nets.compiled import sparse
from espalier.nets.compiled.sparse import SparseLinear, as_slice
from espalier.nets.compiled.weights import Sparse


@st.composite
def matrices(draw) -> Sparse:
    shape = (draw(st.integers(1, 7)), draw(st.integers(1, 7)))
    places = st.tuples(st.integers(0, shape[0] - 1), st.integers(0, shape[1] - 1))
    chosen = draw(st.lists(places, max_size=12, unique=True))
    values = draw(st.lists(st.sampled_from([1.0, -1.0, 2.5]), min_size=12, max_size=12))
    if draw(st.booleans()):
        values = [1.0] * 12
    entries = [(*place, value) for place, value in zip(chosen, values, strict=False)]
    return Sparse.of(shape, entries, torch.float64)


@given(matrices(), st.booleans(), st.booleans())
def test_every_way_of_multiplying_gives_the_product(matrix, with_bias, never_dense) -> None:
    bias = torch.randn(matrix.shape[0], dtype=torch.float64) if with_bias else None
    small = sparse.SMALL
    try:
        if never_dense:
            sparse.SMALL, sparse.DENSE = 0, 2.0
        layer = SparseLinear(matrix, bias)
    finally:
        sparse.SMALL, sparse.DENSE = small, 0.25
    x = torch.randn(2, 3, matrix.shape[1], dtype=torch.float64)
    expected = x @ matrix.dense().T + (0 if bias is None else bias)
    torch.testing.assert_close(layer(x), expected)
    torch.testing.assert_close(layer.compact(x), expected[..., layer.rows])
    base = torch.randn(2, 3, matrix.shape[0], dtype=torch.float64)
    torch.testing.assert_close(layer.add_to(base.clone(), layer.compact(x)), base + expected)


@given(matrices())
def test_entries_and_matrix_are_the_same_thing(matrix: Sparse) -> None:
    assert int((matrix.dense() != 0).sum()) == len(matrix.values)
    assert matrix.same_as(matrix)
    assert matrix.density <= 1


def test_places_that_follow_each_other_are_a_slice() -> None:
    assert as_slice(torch.tensor([3, 4, 5])) == slice(3, 6)
    assert as_slice(torch.tensor([3, 5])) is None
    assert as_slice(torch.tensor([4, 3])) is None
    assert as_slice(torch.tensor([], dtype=torch.long)) == slice(0, 0)
