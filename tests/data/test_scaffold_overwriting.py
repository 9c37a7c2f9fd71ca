"""The authors' layout against plain lists, and the usual layout unchanged to the bit."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.data import ScaffoldConfig, count_scaffolds, scaffold_corpus
from espalier.data.scaffold_overwriting import GrowingText, whole_rules
from espalier.errors import DataError
from espalier.experiments.scaffold_models import familiarity, frequency
from espalier.training import ScaffoldRun, as_settings, manifest_config


@st.composite
def configs(draw):
    k, rules, often = draw(st.integers(1, 9)), draw(st.integers(1, 40)), draw(st.integers(1, 8))
    slots = rules * often + draw(st.integers(0, 60))
    scaffolds = draw(st.sampled_from([n for n in (1, 2, 5, 10) if rules * often % n == 0]))
    return ScaffoldConfig(
        length=k,
        setting=draw(st.sampled_from(["familiar", "unfamiliar"])),
        seed=draw(st.integers(0, 99)),
        tokens=slots * (k + 2) - draw(st.integers(0, k + 1)),
        vocabulary=draw(st.integers(12, 40)),
        rules=rules,
        scaffolds=scaffolds,
        copies=rules * often // scaffolds,
        tests=5,
        layout="overwriting",
    )


@settings(deadline=None, max_examples=80)
@given(st.integers(1, 200), st.integers(0, 2**32), st.data())
def test_a_growing_text_is_a_list_whose_slices_are_assigned(size, seed, data):
    tokens = np.random.default_rng(seed).integers(9, size=size)
    text, wanted = GrowingText(tokens), tokens.tolist()
    for _ in range(data.draw(st.integers(0, 20))):
        start, length = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, 12))
        new = [data.draw(st.integers(10, 20))] * (length + data.draw(st.integers(0, 2)))
        text.replace(start, length, new)
        wanted[start : start + length] = new
        assert text.tokens().tolist() == wanted


def laid_over(config):
    """The authors' layout step by step: a list, and slices of it assigned."""
    rng, k = np.random.default_rng(config.seed), config.length
    corpus = scaffold_corpus(config)
    rng.integers(config.vocabulary, size=corpus.scaffolds.shape, dtype=np.int32)
    tails = rng.integers(config.vocabulary, size=(config.scaffolds, 2), dtype=np.int32)
    text = rng.integers(config.vocabulary, size=config.tokens, dtype=np.int32).tolist()
    often = config.rules and max(1, config.placed_copies // config.rules)
    slots = rng.choice(len(range(0, config.tokens, k + 2)), config.rules * often, replace=False)
    for number, slot in enumerate(slots.tolist()):
        which = number // often % config.scaffolds
        phrase = [*corpus.scaffolds[which].tolist(), *tails[which].tolist()]
        begin = slot * (k + 2)
        if number % often:
            text[begin : begin + k + 1] = phrase
        else:
            text[begin] = config.open
            text[begin + 1 : begin + k + 1] = phrase
            text[begin + k + 1] = config.close
    return text[: config.tokens]


@settings(deadline=None, max_examples=60)
@given(configs())
def test_a_corpus_is_what_assigning_slices_gives(config):
    corpus = scaffold_corpus(config)
    assert len(corpus.train) == config.tokens
    assert corpus.digest == scaffold_corpus(config).digest
    counts = count_scaffolds(corpus)  # refuses what it does not find
    assert counts.rules == len(corpus.rule_starts) <= min(counts.opens, counts.closes)
    assert max(counts.opens, counts.closes) <= config.rules
    known = {tuple(one) for one in corpus.scaffolds.tolist()}
    opens = np.flatnonzero(corpus.train == config.open)
    whole = [
        at
        for at in opens.tolist()
        if tuple(corpus.train[at + 1 : at + 1 + config.length].tolist()) in known
        and corpus.train[at + config.length + 1 :][:1].tolist() == [config.close]
    ]
    assert corpus.rule_starts.tolist() == whole
    redrawn = len(np.unique(corpus.scaffolds, axis=0)) == len(corpus.scaffolds)
    first = np.random.default_rng(config.seed).integers(
        config.vocabulary, size=corpus.scaffolds.shape, dtype=np.int32
    )
    if redrawn and (first == corpus.scaffolds).all():  # no phrase was drawn twice
        assert corpus.train.tolist() == laid_over(config)


@pytest.mark.parametrize(("length", "share"), [(2, 0.70), (8, 0.46)])
def test_a_third_to_a_half_of_the_familiar_rules_are_lost(length, share):
    familiar = ScaffoldConfig(length=length, setting="familiar", layout="overwriting")
    corpus = scaffold_corpus(familiar)
    assert len(corpus.rule_starts) / familiar.rules == pytest.approx(share, abs=0.05)
    unfamiliar = scaffold_corpus(replace(familiar, setting="unfamiliar"))
    assert len(unfamiliar.rule_starts) / familiar.rules > 0.97
    assert (unfamiliar.scaffolds == corpus.scaffolds).all()  # of one seed, in both settings
    usual = scaffold_corpus(replace(familiar, layout="apart"))
    assert (usual.scaffolds == corpus.scaffolds).all()
    assert len(whole_rules(familiar, usual.scaffolds, usual.train)) == familiar.rules


def test_the_usual_layout_and_the_names_of_its_runs_are_what_they_were():
    digests = {
        (2, "familiar"): "7df1e213d3bf",
        (2, "unfamiliar"): "3e5edee2afb9",
        (8, "familiar"): "71c6ae4e0829",
        (8, "unfamiliar"): "9243dc49214e",
    }
    for (length, setting), digest in digests.items():
        corpus = scaffold_corpus(ScaffoldConfig(length=length, setting=setting))
        assert corpus.digest.startswith(digest)
    assert familiarity("paper").name == "scaffolds-ccd6260af7"
    assert frequency("small").name == "scaffolds-a66ae0bdcf"
    assert ScaffoldConfig().name == "k4-unfamiliar-s0"
    assert "layout" not in json.dumps(manifest_config(familiarity("smoke").runs()))


def test_a_run_of_the_overwriting_layout_says_so_and_is_read_back():
    config = ScaffoldConfig(layout="overwriting")
    run = ScaffoldRun(corpus=config)
    assert config.name == "k4-unfamiliar-overwriting-s0"
    assert as_settings(run)["corpus"]["layout"] == "overwriting"
    assert ScaffoldRun.read(run.to_dict(), None) == run
    assert ScaffoldRun.read(ScaffoldRun().to_dict(), None) == ScaffoldRun()


def test_what_cannot_fit_or_is_unknown_is_refused():
    with pytest.raises(DataError, match=r"100 occurrences = 100,000, and there are 90,910"):
        ScaffoldConfig(length=9, setting="familiar", layout="overwriting")
    with pytest.raises(DataError, match="layout is 'over'"):
        ScaffoldConfig(layout="over")
