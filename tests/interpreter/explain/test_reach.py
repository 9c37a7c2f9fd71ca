"""What heads may select, by columns of offsets, against the definition for every pair."""

import numpy as np
import pytest

import espalier as es
from espalier.interpreter.explain.reach import reach_of
from espalier.language import program_spec, qkv, v_relative, var

LENGTH = 7
OFFSETS = (None, {0}, {-1}, {1, -2}, {9, -7}, set(range(-3, 4)), set(range(-LENGTH, LENGTH)))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
def test_a_reach_is_what_offsets_and_the_causal_mask_allow(offsets, causal):
    reach = reach_of(qkv("q", "k", "v", relative_positions=offsets), LENGTH, causal=causal)
    pairs = {(query, key) for query in range(LENGTH) for key in range(LENGTH)}
    allowed = {
        (query, key)
        for query, key in pairs
        if (offsets is None or key - query in offsets) and (key <= query or not causal)
    }
    found = [
        (int(query), int(reach.keys[query, place])) for query, place in np.argwhere(reach.allowed)
    ]
    assert sorted(found) == sorted(allowed)
    column = np.arange(LENGTH) * 10
    held = np.broadcast_to(reach.at_keys(column), reach.allowed.shape)
    assert (held[reach.allowed] == 10 * reach.keys[reach.allowed]).all()
    asking = np.arange(LENGTH) % 3 == 0
    chosen = np.flatnonzero(reach.chosen(reach.allowed & asking[:, None])).tolist()
    assert chosen == sorted({key for query, key in allowed if query % 3 == 0})


def test_a_head_of_one_offset_costs_one_column():
    reach = reach_of(v_relative("v", -1), 5_000, causal=False)
    assert reach.allowed.shape == (5_000, 1)


@pytest.mark.parametrize("size", [2, 5, 30])
def test_an_explanation_says_how_much_it_holds_without_making_it(size):
    entry = es.zoo.load("parity-sequential-relative")
    why = es.interpret(entry.program, [2, *([1, 0] * size)]).explain(position=2 * size)
    text = str(why)
    assert "used" not in vars(why) or len(why.used) == why.sizes[0]
    assert "guards" not in vars(why)
    assert why.sizes == (len(why.used), len(why.guards))
    assert f"{why.sizes[1]:,} guards" in text


def test_every_pair_that_a_head_selected_is_an_edge():
    """A head that matches, by two offsets in place of all positions: the same history."""

    def program(offsets):
        return program_spec(
            {"a": var(4, input_init_fn=lambda token: token), "b": var(4)},
            {"same": qkv("a", "a", "a", relative_positions=offsets)},
            ffn_fn=lambda z: z.update(b=z["same"]),
            output_name="b",
            input_range=4,
        )

    tokens = [1, 2, 1, 3, 3, 1]
    near, far = {-1, 0}, set(range(-6, 1))
    for offsets in (near, far, None):
        why = es.interpret(program(offsets), tokens, max_layers=2).explain(position=4)
        keys = {edge.source.position for edge in why.edges if edge.kind == "carried"}
        reachable = range(6) if offsets is None else [4 + one for one in offsets if 4 + one >= 0]
        assert keys == {place for place in reachable if tokens[place] == 3}
