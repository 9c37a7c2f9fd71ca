from dataclasses import replace

import pytest

from espalier.data.branching import BranchingConfig, branching_corpus
from espalier.data.conllu import treebank
from espalier.data.text import text_corpus
from espalier.errors import DataError

SMALL = BranchingConfig(sentences=40, tests=20, words=12, governed=3)


def test_one_order_is_the_mirror_image_of_the_other():
    left, right = (branching_corpus(replace(SMALL, order=order)) for order in ("left", "right"))
    for one, other in zip(left.bank, right.bank, strict=True):
        last = len(one) - 1
        assert one.words == other.words[::-1]
        assert one.heads == tuple(h if h < 0 else last - h for h in other.heads[::-1])
        assert all(head > place for place, head in enumerate(one.heads) if head >= 0)
        assert all(head < place for place, head in enumerate(other.heads))


def test_every_word_takes_only_what_it_governs():
    taken = {}
    for one in branching_corpus(SMALL).text:
        for place, head in enumerate(one.heads):
            if head >= 0:
                taken.setdefault(one.words[head], set()).add(one.words[place])
    assert max(map(len, taken.values())) <= SMALL.governed


def test_what_is_saved_is_read_by_the_readers_of_any_language(tmp_path):
    corpus = branching_corpus(SMALL)
    corpus.save(tmp_path)
    assert list(treebank(tmp_path / "treebank.conllu")) == list(corpus.bank)
    text = text_corpus(tmp_path / "text.txt")
    assert len(text.train) + len(text.valid) + len(text.test) == len(corpus.text.tags) + 40
    assert branching_corpus(SMALL).text.digest == corpus.text.digest
    assert branching_corpus(replace(SMALL, seed=1)).text.digest != corpus.text.digest


def test_sizes_that_cannot_be_are_refused():
    with pytest.raises(DataError, match="no order 'up'"):
        BranchingConfig(order="up")
    with pytest.raises(DataError, match="tests is 0"):
        BranchingConfig(tests=0)
    with pytest.raises(DataError, match="cannot govern 5 of 3 words"):
        BranchingConfig(words=3)


@pytest.mark.parametrize(
    ("sizes", "why"),
    [
        ({"words": 10**9}, "words is 1000000000; it must be at most 1,000,000"),
        ({"words": 10**5, "governed": 10**4}, "are 1,000,000,000 pairs; 100,000,000 are the most"),
        ({"depth": 10**5}, "depth is 100000; it must be at most 200"),
    ],
)
def test_sizes_that_would_not_end_are_refused(sizes, why):
    with pytest.raises(DataError, match=why):
        BranchingConfig(**sizes)
