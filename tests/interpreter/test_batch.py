import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.interpreter.batch import Batch, State

lengths = st.lists(st.integers(1, 5), min_size=1, max_size=5)


@given(lengths)
def test_entries_are_laid_end_to_end(sizes):
    batch = Batch.of(sizes)
    expected = [(e, p) for e, size in enumerate(sizes) for p in range(size)]
    assert list(zip(batch.example, batch.position, strict=True)) == expected
    assert batch.lengths.tolist() == sizes
    assert batch.inputs.tolist() == list(range(len(sizes)))
    assert len(batch) == len(sizes)


@given(lengths, st.integers(-7, 7))
def test_shifting_stays_within_a_sequence(sizes, offset):
    batch = Batch.of(sizes)
    places = list(zip(batch.example.tolist(), batch.position.tolist(), strict=True))
    source, inside = batch.shifted(offset)
    for entry, (example, position) in enumerate(places):
        there = (example, position + offset)
        assert inside[entry] == (there in places)
        if inside[entry]:
            assert places[source[entry]] == there


@given(lengths, st.data())
def test_positions_go_on_from_where_a_sequence_starts(sizes, data):
    starts = np.array([data.draw(st.integers(0, 9)) for _ in sizes])
    batch = Batch.of(sizes, starts=starts)
    expected = [starts[e] + p for e, size in enumerate(sizes) for p in range(size)]
    assert batch.position.tolist() == expected
    assert batch.ends.tolist() == [s + n for s, n in zip(starts, sizes, strict=True)]
    offset = data.draw(st.integers(-3, 3))
    assert np.array_equal(batch.shifted(offset)[1], Batch.of(sizes).shifted(offset)[1])


@given(lengths, st.data())
def test_what_is_taken_can_be_put_back(sizes, data):
    state = state_of(sizes)
    size = len(state.batch.example)
    chosen = np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)
    taken = state.take(chosen)
    assert taken.batch.position.tolist() == state.batch.position[chosen].tolist()
    assert state.put(chosen, taken).equal(state, state.columns).all()
    other = State(taken.batch, 3, {name: column + 1 for name, column in taken.columns.items()})
    after = state.put(chosen, other)
    assert np.array_equal(after.columns["a"], state.columns["a"] + chosen)


@given(lengths, st.data())
def test_every_asks_all_positions_of_each_sequence(sizes, data):
    masks = [data.draw(st.lists(st.booleans(), min_size=n, max_size=n)) for n in sizes]
    found = Batch.of(sizes).every(np.concatenate([np.array(mask) for mask in masks]))
    assert found.tolist() == [all(mask) for mask in masks]


def state_of(sizes, layer=3) -> State:
    total = sum(sizes)
    numbers = np.arange(total) / 2
    numbers[::3] = np.nan
    inputs = np.arange(len(sizes)) + 10
    return State(Batch.of(sizes, inputs), layer, {"a": np.arange(total), "b": numbers})


@given(lengths, st.data())
def test_keeping_sequences_keeps_their_values_and_numbers(sizes, data):
    kept = data.draw(st.lists(st.booleans(), min_size=len(sizes), max_size=len(sizes)))
    state = state_of(sizes)
    found = state.keep(np.array(kept))
    chosen = [n for n, keep in enumerate(kept) if keep]
    assert found.batch.inputs.tolist() == [10 + n for n in chosen]
    assert found.batch.lengths.tolist() == [sizes[n] for n in chosen]
    assert found.layer == state.layer
    starts = np.cumsum([0, *sizes])
    entries = [e for n in chosen for e in range(starts[n], starts[n + 1])]
    for name, column in state.columns.items():
        assert np.array_equal(found.columns[name], column[entries], equal_nan=True)


@given(lengths, st.data())
def test_equal_finds_the_sequences_that_differ(sizes, data):
    state = state_of(sizes)
    entry = data.draw(st.integers(0, sum(sizes) - 1))
    name = data.draw(st.sampled_from(["a", "b"]))
    column = state.columns[name].copy()
    column[entry] = 99
    other = State(state.batch, 8, {**state.columns, name: column})
    assert state.equal(state, state.columns).all()
    changed = state.batch.example[entry]
    assert state.equal(other, state.columns).tolist() == [n != changed for n in range(len(sizes))]


@pytest.mark.parametrize(("entry", "place"), [(0, (10, 0)), (2, (10, 2)), (3, (11, 0))])
def test_a_place_is_written_for_errors(entry, place):
    words = state_of([3, 2]).place(entry)
    assert "layer 3" in words
    assert f"input {place[0]}" in words
    assert f"position {place[1]}" in words
