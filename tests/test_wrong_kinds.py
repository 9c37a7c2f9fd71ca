"""Public functions that are given something of another kind say so, by name."""

import pytest

import espalier as es
from espalier.programs import Case

HISTOGRAM = es.zoo.load("histogram")
WORDS = ["the", "cat"]
LONG = "x" * 5_000


@pytest.mark.parametrize("call", [es.load, es.list_runs, es.text_corpus, es.treebank])
@pytest.mark.parametrize("path", [None, 3, b"x", "", "a\0b", LONG, 1.5])
def test_what_is_no_path_is_refused(call, path):
    with pytest.raises(es.EspalierError, match=r"is no path|path is empty|cannot use x"):
        call(path)


@pytest.mark.parametrize("out", [3, b"x", "", "a\0b", LONG])
def test_what_is_no_folder_for_a_run_is_refused(out):
    with pytest.raises(es.FileError, match=r"is no path|path is empty|cannot use x"):
        es.evaluate(HISTOGRAM, [Case("ab", "1 1", 2)], out=out)


@pytest.mark.parametrize(
    ("call", "finding"),
    [
        (lambda: es.train(None), "'None' is nothing to train; give a config"),
        (lambda: es.train(es.ParityRun(), device=None), "None is not a device"),
        (lambda: es.ParityRun(3), "shape is 3, of type int; TransformerShape is expected"),
        (lambda: es.ScaffoldRun("x"), "corpus is x, of type str; ScaffoldConfig is expected"),
        (lambda: es.ScaffoldRun(keep=3).plan(), "keep is 3, of type int; str is expected"),
        (lambda: es.ScanRun(splits=3), "splits are 3; give a tuple of names"),
        (lambda: es.ScanRun(splits="length"), "splits are 'length'; give a tuple of names"),
        (lambda: es.scaffold_corpus(None), "config is None, of type NoneType"),
        (lambda: es.evaluate(None, [1]), "entry is None, of type NoneType; Entry is expected"),
        (lambda: es.evaluate(HISTOGRAM, 3), "cases is 3, of type int"),
        (lambda: es.evaluate(HISTOGRAM, ["abc"]), "a case is abc, of type str; Case is expected"),
        (lambda: es.decompose(es.english_model(), WORDS, focus=None), "focus is None; name words"),
        (
            lambda: es.decompose(es.english_model(), WORDS, focus=[0], layer=None),
            "layer is None, of type NoneType; int is expected",
        ),
        (
            lambda: es.language_model(vocabulary_size=9, hidden=4, dropout=None),
            "dropout is None; it must be at least 0",
        ),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(call, finding):
    with pytest.raises(es.EspalierError, match=finding):
        call()
