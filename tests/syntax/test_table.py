import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings

import espalier as es
from espalier.data import Treebank
from espalier.errors import ModelError
from espalier.nets.lstm import Vocabulary
from espalier.syntax import write_pairs, writing
from espalier.syntax.reading import describe_words
from espalier.syntax.scores import pair_scores
from espalier.syntax.surprisal import surprisals
from treebanks import WORDS, banks

KNOWN = (*WORDS[:4], "<unk>")
COUNTS = (5, 4, 3, 2, 9)


def model(counts=COUNTS):
    words = Vocabulary(KNOWN, counts)
    return es.language_model(vocabulary_size=5, hidden=4, seed=1, words=words).double()


@settings(max_examples=settings().max_examples // 5)
@given(banks(most=6))
def test_scores_are_the_definition_pair_by_pair(bank):
    lm = model()
    scores = pair_scores(lm, bank, workers=2)
    wanted = {"hidden": [], "logits": []}
    for one in bank:
        for l in range(len(one)):
            for r in range(l + 1, len(one)):
                di = es.interdependence(lm, one.words, a=[l], b=[r])
                wanted["hidden"].append(float(di))
                apart, size = (
                    lm.decoder.weight.detach() @ part for part in (di.interaction, di.joint)
                )
                wanted["logits"].append(float(apart.norm() / size.norm()))
    for space, found in wanted.items():
        np.testing.assert_allclose(getattr(scores, space), found, rtol=2e-5)


@settings(max_examples=settings().max_examples // 6)
@given(bank=banks(count=12))
def test_rows_written_in_stretches_are_the_rows_written_at_once(bank, tmp_path_factory):
    folder, lm = tmp_path_factory.mktemp("pairs"), model()
    tables = []
    for size in (7, 10_000):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(writing, "PAIRS_AT_ONCE", size)
            told = []
            file = folder / f"{size}.parquet"
            rows = write_pairs(lm, bank, file, report=told.append)
        assert rows == bank.pairs == told[-1]
        tables.append(pd.read_parquet(file))
    pd.testing.assert_frame_equal(
        tables[0].astype(dict.fromkeys(tables[0].select_dtypes("category"), object)),
        tables[1].astype(dict.fromkeys(tables[1].select_dtypes("category"), object)),
    )
    check_rows(tables[0], lm, bank)
    for side in ("left", "right"):
        places = bank.starts[tables[0]["sentence"]] + tables[0][side]
        np.testing.assert_allclose(
            tables[0][f"{side}_surprisal"], surprisals(lm, bank)[places], rtol=1e-5
        )


def check_rows(rows, lm, bank):
    words = describe_words(lm, bank)
    for row in rows.itertuples():
        one = bank[row.sentence]
        assert (row.left_word, row.right_word) == (one.words[row.left], one.words[row.right])
        assert (row.left_tag, row.right_tag) == (one.tags[row.left], one.tags[row.right])
        assert row.distance == row.right - row.left
        assert row.left_unknown == (row.left_word not in KNOWN)
        wanted = 0 if row.right_unknown else COUNTS[KNOWN.index(row.right_word)]
        assert row.right_frequency == wanted
        assert np.isnan(row.left_surprisal) == (row.left == 0)
    assert len(words.frequency) == len(bank.tags)


def test_a_file_is_row_groups_and_frequencies_may_be_unknown(tmp_path, monkeypatch):
    bank = Treebank.of([Treebank.of([sentence()], "x")[0] for _ in range(6)], "same")
    monkeypatch.setattr(writing, "PAIRS_AT_ONCE", 6)
    write_pairs(model(None), bank, tmp_path / "p.parquet")
    held = parquet.ParquetFile(tmp_path / "p.parquet")
    assert held.num_row_groups == 3
    assert held.metadata.num_rows == 18
    frame = held.read().to_pandas()
    assert frame["left_frequency"].isna().all()
    write_pairs(model(None), bank, tmp_path / "p.parquet", counts={"a": 7})
    again = pd.read_parquet(tmp_path / "p.parquet")
    assert set(again["left_frequency"]) == {0, 7}
    assert list(tmp_path.iterdir()) == [tmp_path / "p.parquet"]


def sentence():
    from espalier.data.treebank import Parsed

    return Parsed(
        "s", ("a", "bee", "sees"), ("DET", "NOUN", "VERB"), (1, 2, -1), ("det", "nsubj", "root")
    )


def test_models_without_words_or_counts_are_refused(tmp_path):
    bank = Treebank.of([sentence()], "one")
    bare = es.language_model(vocabulary_size=5, hidden=4)
    with pytest.raises(ModelError, match="saved without its words"):
        pair_scores(bare, bank)
    with pytest.raises(ModelError, match="without the counts of its words"):
        describe_words(model(None), bank)
    with pytest.raises(ModelError, match="saved without its words"):
        write_pairs(bare, bank, tmp_path / "p.parquet")
    assert not list(tmp_path.iterdir())
