"""Every kind of result, in one table: its text, its HTML, its files, its figure, its repr."""

import inspect
import re
from functools import cache
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.figure import Figure

import espalier as es
from any_networks import WORDS, module
from espalier import (
    data,
    decomposition,
    interpreter,
    language,
    learnability,
    programs,
    training,
    zoo,
)
from espalier.data import ParityConfig, ScaffoldConfig, parity_set
from espalier.decomposition import Occlusion, interaction_baseline, interdependence_corpus
from espalier.errors import EspalierError
from espalier.interpreter import Moment
from espalier.nets.transformer import TransformerShape
from espalier.results import MOST_CHARACTERS, MOST_LINES, Described, Result
from lstm_models import random_model
from treebanks import random_bank

SUFFIXES = ("html", "htm", "png", "svg", "pdf", "csv", "parquet", "json")
FIGURES = {"png", "svg", "pdf"}
# Results that are not pictures: a program, what was dropped of one, single runs, rows of traces.
WITHOUT_FIGURE = {
    "Dropped", "Entry", "Generation", "MinimalProgram", "Program", "Run", "Traces", "Verification",
}  # fmt: skip


@cache
def addition():
    return zoo.load("addition")


@cache
def inputs():
    return [addition().encode(text) for text in ("1+2", "17+25", "999+1")]


@cache
def scratchpad():
    entry = zoo.load("parity-scratchpad")
    return es.generate(entry.program, entry.encode("1101"), max_tokens=6)


def trained():
    shape = TransformerShape(3, 2, width=8, hidden=8, heads=2, head_width=4, layers=1)
    recipe = training.StepRecipe(4, 8, 1e-2, measures=2, precision="float32")
    bits = ParityConfig(3, 4), ParityConfig(6, 4, seed=1)
    return es.train(training.ParityRun(shape, *bits, recipe), seeds=2, device="cpu")


RESULTS = {
    "Trace": lambda: es.interpret(addition().program, inputs()[1]),
    "Explanation": lambda: es.interpret(addition().program, inputs()[0]).explain(3),
    "Circuit": lambda: es.circuit(addition().program, inputs(), position=3),
    "Run": lambda: es.interpret_many(addition().program, inputs())[0],
    "Runs": lambda: es.interpret_many(addition().program, inputs() * 10),
    "Generation": scratchpad,
    "Program": lambda: addition().program,
    "Entry": addition,
    "Verification": lambda: es.verify(addition().program, inputs()),
    "Evaluation": lambda: es.evaluate(
        addition(), [programs.Case("1+2", 3, 1), programs.Case("17+25", 0, 2)]
    ),
    "MinimalProgram": lambda: es.minimal(addition().program, inputs()),
    "Dropped": lambda: es.minimal(addition().program, inputs()).dropped,
    "LocalOptimum": lambda: es.local_optimum(addition().program, inputs()),
    "Traces": lambda: es.record_traces(addition().program, inputs()),
    "Parts": lambda: es.decompose(random_model(), "the <b> sat", focus=[1]),
    "PairMatrix": lambda: interaction_baseline(random_model(), "the cat sat", method=Occlusion()),
    "Pairs": lambda: es.interdependence(random_model(), "the <b> sat on the mat"),
    "NetworkPairs": lambda: es.interdependence(
        es.network(module("gru"), tokenizer=WORDS), "the dog ran"
    ),
    "WordSets": lambda: es.interdependence(
        random_model(), "the <b> sat on", method=decomposition.ShapleyInteraction(order=3)
    ),
    "Dependence": lambda: es.interdependence(random_model(), "the cat sat", a=[0], b=[1]),
    "PairBlock": lambda: next(interdependence_corpus(random_model(), ["the cat sat", "the mat"])),
    "TrainedRun": trained,
    "Treebank": lambda: random_bank(np.random.default_rng(0)),
}


@cache
def result(name: str) -> Result:
    return RESULTS[name]()


def test_no_kind_of_result_is_missing():
    """Every subclass of Result in the faces of the rooms below is in the table above."""
    rooms = (data, decomposition, interpreter, language, learnability, programs, training, zoo)
    values = [getattr(room, name) for room in rooms for name in room.__all__]
    kinds = {kind for kind in values if inspect.isclass(kind)}
    known = {kind.__name__ for kind in kinds if issubclass(kind, Result)}
    assert known == set(RESULTS)
    assert {name: type(result(name)).__name__ for name in RESULTS} == {n: n for n in RESULTS}


@pytest.mark.parametrize("name", RESULTS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_results_save_as_everything_that_makes_sense(tmp_path, name, suffix):
    path = tmp_path / f"result.{suffix}"
    if suffix in FIGURES and name in WITHOUT_FIGURE:
        with pytest.raises(EspalierError, match=rf"cannot save a {name} as '\.{suffix}'.*\.html"):
            result(name).save(path)
        assert not path.exists()
    else:
        result(name).save(path)
        assert path.stat().st_size > 1


@pytest.mark.parametrize("name", RESULTS)
def test_another_suffix_is_refused_by_name(tmp_path, name):
    with pytest.raises(EspalierError, match=rf"cannot save a {name} as '\.doc'"):
        result(name).save(tmp_path / "result.doc")


@pytest.mark.parametrize("name", sorted(set(RESULTS) - WITHOUT_FIGURE))
def test_figures_are_drawn_on_a_given_ax(name):
    figure = Figure(figsize=(8, 4))
    left, right = figure.subplots(1, 2)
    assert result(name).plot(ax=right) is figure
    assert not left.has_data()
    figure.savefig("/dev/null", format="png")
    alone = result(name).plot()
    assert isinstance(alone, Figure)
    assert alone is not figure
    assert alone._repr_png_().startswith(b"\x89PNG")  # a notebook shows it


@pytest.mark.parametrize("name", RESULTS)
def test_html_is_whole_escaped_and_needs_no_network(name):
    page, snippet = result(name).to_html(), result(name)._repr_html_()
    assert page.startswith("<!doctype html>")
    assert "<title></title>" not in page
    assert "<script" not in snippet
    assert "<!doctype" not in snippet
    for text in (page, snippet):
        HTMLParser().feed(text)
        assert not re.search(r"https?:|src=|href=|@import|url\(", text)
    styles = "".join(re.findall(r"<style>(.*?)</style>", snippet, re.DOTALL))
    selectors = [s for rule in re.findall(r"([^{}]+)\{", styles) for s in rule.split(",")]
    assert selectors
    assert all(re.match(r"\s*\.espalier-", selector) for selector in selectors)


@pytest.mark.parametrize("name", RESULTS)
def test_the_table_has_named_columns_and_rows(name):
    frame = result(name).to_frame()
    assert all(isinstance(column, str) for column in frame.columns)
    assert len(frame) > 0 or name in ("Verification", "Dropped")


def large_values():
    scan = zoo.load("scan")
    trace = es.interpret(scan.program, scan.encode("jump around left thrice"))
    minimal = es.minimal(scan.program, [scan.encode("jump")])
    english = es.english_model()
    compiled = es.compile_program(addition().program)
    corpus = es.scaffold_corpus(ScaffoldConfig(tokens=20_000, rules=20, scaffolds=4, copies=5))
    banked = random_bank(np.random.default_rng(0), 2000)
    return [
        scan, scan.program, scan.program.rules, scan.program.rules[0], trace, trace.moments[1],
        es.interpret_many(scan.program, [scan.encode("jump twice")] * 100), minimal,
        minimal.dropped, compiled, compiled.layout, english, english.vocabulary,
        es.interdependence(english, ["the"] * 80), es.decompose(english, ["the"] * 80, focus=[3]),
        banked, banked[0], banked.words, corpus, corpus.config, corpus.in_domain,
        parity_set(ParityConfig()), ParityConfig(), TransformerShape(8, 2),
        data.ScanSplit("grammar", (), tuple(data.generate_examples())),
        data.TextCorpus("t", tuple(map(str, range(10**5))), *[corpus.train] * 3, {"valid": 1}),
    ]  # fmt: skip


@pytest.mark.slow
def test_every_repr_fits_on_a_screen():
    values = [*map(result, RESULTS), *large_values()]
    for value in values:
        shown = repr(value)
        assert len(shown) <= MOST_CHARACTERS, type(value).__name__
        assert len(shown.splitlines()) <= MOST_LINES, type(value).__name__
        assert shown.strip()


def test_described_values_are_named_by_their_fields():
    trace = result("Trace")
    assert repr(trace.moments[0]).startswith("Moment(layer=0, sublayer=")
    assert issubclass(Moment, Described)
