import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.data import ScaffoldConfig, count_scaffolds, scaffold_corpus
from espalier.errors import DataError


@st.composite
def configs(draw):
    k = draw(st.integers(1, 9))
    setting = draw(st.sampled_from(["familiar", "unfamiliar"]))
    rules, scaffolds = draw(st.integers(1, 60)), draw(st.integers(1, 12))
    copies = draw(st.integers(0, 15))
    needed = rules * (k + 2) + (scaffolds * copies * k if setting == "familiar" else 0)
    return ScaffoldConfig(
        length=k,
        setting=setting,
        seed=draw(st.integers(0, 99)),
        tokens=needed + draw(st.integers(0, 500)),
        vocabulary=draw(st.integers(12, 40)),
        rules=rules,
        scaffolds=scaffolds,
        copies=copies,
        tests=20,
        test_length=draw(st.integers(k + 2, 35)),
    )


@settings(deadline=None, max_examples=80)
@given(configs())
def test_a_corpus_holds_what_its_config_says(config):
    corpus = scaffold_corpus(config)
    counts = count_scaffolds(corpus)
    assert counts.rules == counts.opens == counts.closes == config.rules
    assert counts.tokens == config.tokens
    share = config.rules / config.scaffolds
    assert int(share) <= counts.fewest_rules_per_scaffold
    assert counts.most_rules_per_scaffold <= -(-config.rules // config.scaffolds)
    assert counts.in_domain_rules == counts.out_of_domain_rules == config.tests
    starts, k = corpus.rule_starts, config.length
    assert (np.diff(starts) >= k + 2).all()
    for examples in (corpus.in_domain, corpus.out_of_domain):
        rows = np.arange(config.tests)
        assert (examples.tokens[rows, examples.open_at] == config.open).all()
        assert (examples.tokens[rows, examples.last + 1] == config.close).all()
        assert examples.tokens.shape == (config.tests, config.test_length)


def test_the_seed_decides_the_corpus():
    config = ScaffoldConfig(tokens=20_000, rules=100)
    assert scaffold_corpus(config).digest == scaffold_corpus(config).digest
    assert scaffold_corpus(config).digest != scaffold_corpus(replace(config, seed=1)).digest


def test_a_million_tokens_are_made_in_well_under_a_second():
    config = ScaffoldConfig(length=8, setting="familiar")
    scaffold_corpus(replace(config, seed=1))
    began = time.process_time()
    corpus = scaffold_corpus(config)
    assert time.process_time() - began < 0.5
    counts = count_scaffolds(corpus)
    assert counts.fewest_rules_per_scaffold == counts.most_rules_per_scaffold == 10
    assert counts.fewest_outside_per_scaffold >= 1_000


def test_a_changed_corpus_is_found_out():
    corpus = scaffold_corpus(ScaffoldConfig(tokens=20_000, rules=100))
    corpus.train[corpus.rule_starts[3]] = 5
    with pytest.raises(DataError, match="opens 99 for 100, rules 99 for 100"):
        count_scaffolds(corpus)


def test_what_cannot_fit_is_refused_with_the_arithmetic():
    arithmetic = (
        r"familiar corpus of scaffold length 12 does not fit: 1,000 rules x \(12 \+ 2\) \+ "
        r"100 scaffolds x 1,000 copies x 12 = 1,214,000 tokens, and there are 1,000,000"
    )
    with pytest.raises(DataError, match=arithmetic):
        ScaffoldConfig(length=12, setting="familiar")
    ScaffoldConfig(length=9, setting="familiar")
    with pytest.raises(DataError, match="make 10 phrases of length 1, fewer than the 100"):
        ScaffoldConfig(length=1, vocabulary=10)
    with pytest.raises(DataError, match=r"34 \+ 2 tokens does not fit into test sequences of 35"):
        ScaffoldConfig(length=34)
    with pytest.raises(DataError, match="10,000,000 tokens are the most"):
        ScaffoldConfig(vocabulary=10**10)
    with pytest.raises(DataError, match="rules is 0"):
        ScaffoldConfig(rules=0)
    with pytest.raises(DataError, match="use 'familiar' or 'unfamiliar'"):
        ScaffoldConfig(setting="known")


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"tokens": 10**11}, "the text of scaffold length 4 would have 100,000,000,000 tokens"),
        ({"tests": 10**9}, "1,000,000,000 tests of scaffold length 4 would have 35,000,000,000"),
        ({"scaffolds": 10**9}, "1,000,000,000 scaffolds of scaffold length 4 would have"),
        ({"test_length": 10**9}, "1,000 tests of scaffold length 4 would have"),
        ({"test_length": "35"}, "test_length is '35', a str"),
    ],
)
def test_sizes_that_no_machine_holds_are_refused_before_they_are_made(sizes, why):
    with pytest.raises(DataError, match=why):
        ScaffoldConfig(**sizes)
