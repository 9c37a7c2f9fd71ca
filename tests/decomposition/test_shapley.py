"""The index of sets of words: our exact one, its definition, and shapiq's."""

from itertools import chain, combinations
from math import factorial

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from any_networks import WORDS, module
from espalier.decomposition import ShapleyInteraction, WordSets
from espalier.decomposition.shapley import exact_index, shapley_index
from espalier.errors import ConfigError
from lstm_models import random_model


def random_game(seed, players):
    worth = np.random.default_rng(seed).normal(size=2**players)
    return lambda some: worth[np.asarray(some, int) @ (1 << np.arange(players))]


def subsets(of):
    return chain.from_iterable(combinations(of, size) for size in range(len(of) + 1))


def by_definition(game, players, some):
    """Weighted discrete derivatives, as Grabisch and Roubens define the index."""

    def worth(coalition):
        row = np.zeros((1, players), dtype=bool)
        row[0, list(coalition)] = True
        return float(game(row)[0])

    total, rest = 0.0, [p for p in range(players) if p not in some]
    for beside in subsets(rest):
        weight = factorial(len(beside)) * factorial(len(rest) - len(beside))
        change = sum(
            (-1) ** (len(some) - len(part)) * worth((*beside, *part)) for part in subsets(some)
        )
        total += weight / factorial(len(rest) + 1) * change
    return total


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 5), st.integers(2, 5))
def test_the_exact_index_is_that_of_its_definition(seed, players, order):
    game = random_game(seed, players)
    found = exact_index(game, players, min(order, players))
    for some, value in found.items():
        assert value == pytest.approx(by_definition(game, players, some), abs=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**31), st.integers(2, 7), st.integers(2, 4))
def test_shapiq_computes_the_same(seed, players, order):
    shapiq = pytest.importorskip("shapiq", reason="the baselines extra is not installed")
    game = random_game(seed, players)
    order = min(order, players)
    wanted = shapiq.ExactComputer(game, n_players=players)("SII", order)
    for some, value in exact_index(game, players, order).items():
        assert value == pytest.approx(float(wanted[some]), abs=1e-9)


def test_estimates_of_shapiq_come_near_the_exact_index():
    pytest.importorskip("shapiq", reason="the baselines extra is not installed")
    net = es.network(module("gru"), tokenizer=WORDS)
    text = "the dog chased the cat . It ran a dog"
    exact, near, far = (
        es.interdependence(net, text, method=ShapleyInteraction(budget=budget, order=3))
        for budget in (1 << 10, 512, 100)
    )
    assert near.passes < exact.passes
    wanted = np.array([*exact.values.values()])
    off = [
        np.linalg.norm([found.values[some] for some in exact.values] - wanted)
        / np.linalg.norm(wanted)
        for found in (near, far)
    ]
    assert off[0] < off[1]
    assert off[0] < 0.25


@pytest.mark.parametrize("kind", ["gru", "bert", "lm"])
def test_pairs_are_those_of_the_matrix_and_triples_beside_them(kind):
    net = random_model(dtype=torch.float64) if kind == "lm" else es.network(module(kind))
    tokens = [1, 2, 3, 4, 1]
    pairs = es.interdependence(net, tokens, method="shapley")
    sets = es.interdependence(net, [tokens, tokens[:3]], method=ShapleyInteraction(order=3))
    assert all(isinstance(one, WordSets) for one in sets)
    assert len(sets[0].values) == 10 + 10
    for l, r in combinations(range(5), 2):
        assert abs(sets[0].values[l, r]) == pytest.approx(pairs.values[l, r], rel=1e-4, abs=1e-7)
    table = sets[0].to_frame()
    assert list(table["order"]) == [2] * 10 + [3] * 10
    assert table["places"].iloc[-1] == "2 3 4"
    assert "20 sets of 2 to 3 words" in str(sets[0])


def test_what_cannot_be_asked():
    with pytest.raises(ConfigError, match="order is 1; sets have 2 words or more"):
        ShapleyInteraction(order=1)
    assert set(shapley_index(random_game(0, 2), 2, ShapleyInteraction(order=5))) == {
        (0,), (1,), (0, 1),
    }  # fmt: skip
