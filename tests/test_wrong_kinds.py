"""Public functions refuse values of another kind, and name the argument."""

import numpy as np
import pytest
import torch

import espalier as es
from espalier.data import BranchingConfig, ScaffoldConfig
from espalier.decomposition import IntegratedGradients, Occlusion, interdependence_corpus
from espalier.interventions import KnockOut, Set
from espalier.programs import Case
from espalier.runs import Workers
from espalier.training import Recipe
from espalier.training.configs import check_seeds

HISTOGRAM = es.zoo.load("histogram")
WORDS = ["the", "cat"]
LONG = "x" * 5_000
BANK = "none.conllu"
CASES = [Case("ab", "1 1", 2)]
COMPILED = es.compile_program(HISTOGRAM.program)


def model(**more):
    return es.language_model(vocabulary_size=2, hidden=4, **more)


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
        (lambda: es.train(None), "'None' cannot be trained; give a config"),
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
        (lambda: es.english_model([]), r"the package brings no '\[\]' of English; known: 'lstm'"),
        (lambda: model(architecture={}), r"architecture is '\{\}'; known: 'gru', 'lstm'"),
        (lambda: model(words=3), "words is 3; give a list of words"),
        (lambda: model(words=[1, 2]), "one of the words is 1, of type int; str is expected"),
        (lambda: es.network(es.english_model(), device=[]), r"'\[\]' is not a device; use 'cpu'"),
        (lambda: es.treebank(BANK, name=np.arange(3)), r"name is \[0 1 2\], of type ndarray"),
        (lambda: es.margins(HISTOGRAM.program, [[1]], realism=3), "realism is 3, of type int"),
        (
            lambda: es.minimal(HISTOGRAM.program, [[1]], workers=[]),
            r"workers is \[\], of type list",
        ),
        (lambda: Workers("2"), "workers is 2, of type str; int is expected"),
        (lambda: es.evaluate(HISTOGRAM, CASES, engine="compiled"), r"give Interpreter\(\) or Comp"),
        (lambda: es.evaluate(HISTOGRAM, CASES, progress=True), "progress is True, which is no fun"),
        (lambda: es.train(es.ParityRun(), progress=True), "progress is True, which is no function"),
        (lambda: es.reproduce("alta-table-2", only=None), "only is None; give a list of words"),
        (lambda: es.reproduce("alta-table-2", workers=2.5), "workers is 2.5, of type float; int"),
        (lambda: es.to_onnx(COMPILED, None, layers=2), "None is no path"),
        *[
            (lambda name=name: es.train(es.ParityRun(), device=name), f"on device '{name}'; use")
            for name in ("meta", "mps", "vulkan")
        ],
        (
            lambda: es.language_model(vocabulary_size=9, hidden=4, dropout=None),
            "dropout is None; it must be at least 0",
        ),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(call, finding):
    with pytest.raises(es.EspalierError, match=finding):
        call()


HUGE = 10**30
WRITER = es.zoo.load("parity-scratchpad")
ENDLESS = es.program_spec(
    {"x": es.language.var(2)}, {}, ffn_fn=lambda z: None, output_name="x", input_range=2
)


@pytest.mark.parametrize(
    ("call", "finding"),
    [
        (lambda: es.interpret(ENDLESS, [1], max_layers=HUGE), "max_layers is 1000.*no halt_spec"),
        (lambda: es.verify(ENDLESS, [[1]], max_layers=HUGE), "max_layers is 1000.*no halt_spec"),
        (
            lambda: es.generate(WRITER.program, WRITER.encode("1"), max_tokens=HUGE),
            "max_tokens is 1000.*, and nothing stops it sooner",
        ),
        (lambda: es.decompose(model(), [0, 1], focus=range(HUGE)), "focus names word 2, which is"),
        (
            lambda: es.decompose(es.network(model()), [0, 1], focus=range(HUGE)),
            r"focus names token 2; there are 0\.\.1",
        ),
        (
            lambda: es.interdependence(model(), [0, 1], a=range(HUGE), b=[0]),
            "a names word 2, which is outside",
        ),
        (
            lambda: IntegratedGradients(HUGE),
            "steps is 1000.*; use a whole number from 1 to 1,000,000",
        ),
        (
            lambda: es.decompose(es.network(model()), [0, 1], focus=[0], method=Occlusion(HUGE)),
            "token is 1000.*; use a whole number from 0 to 1",
        ),
        (
            lambda: model(architecture="transformer", heads=2, longest=10**11),
            "takes 1,600 GB of memory at least",
        ),
        (lambda: COMPILED.unroll(HUGE, 4), r"a network of 1,000.* layers and 4 pos.* GB of memory"),
        (lambda: COMPILED.unroll(2, HUGE), r"positions takes .* GB of memory|positions is 1000"),
        (
            lambda: es.compile_program(HISTOGRAM.program, realism=es.Realism(width=10**11)),
            "width 100,000,000,000.* GB of memory at least",
        ),
        (
            lambda: es.compile_program(HISTOGRAM.program, realism=es.Realism(distractors=10**11)),
            "100,000,000,0.* dimensions takes .* GB of memory at least",
        ),
        (lambda: es.parity_split(each=HUGE), "per_count is 1000.*; it must be at most 1,000"),
        (lambda: es.parity_split(each=10**11), "100,000,000,000 strings for every number of ones"),
        (lambda: ScaffoldConfig(tests=HUGE), "tests is 1000.*; it must be at most 1,000"),
        (lambda: BranchingConfig(sentences=HUGE), "sentences is 1000.*; it must be at most 100,00"),
    ],
)
def test_numbers_beyond_reason_are_refused_by_name(call, finding):
    with pytest.raises(es.EspalierError, match=finding):
        call()


def test_a_limit_that_halting_never_meets_may_be_any():
    entry = es.zoo.load("parity-sequential-relative")
    batch = [entry.encode("101")]
    assert es.interpret(entry.program, batch[0], max_layers=HUGE).layers == 3
    assert str(es.margins(entry.program, batch, max_layers=HUGE)) == str(
        es.margins(entry.program, batch)
    )
    found = es.generate(
        WRITER.program, WRITER.encode("101"), max_tokens=HUGE, stop=WRITER.writing.stop
    )
    assert found.stopped


SEVERAL = [np.array([1, 2]), torch.tensor([1.5, 2.0])]


@pytest.mark.parametrize("given", SEVERAL, ids=["numpy", "torch"])
@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("strict", lambda x: es.verify(WRITER.program, [[1]], strict=x)),
        ("constraints", lambda x: es.minimal(HISTOGRAM.program, [[1]], constraints=x)),
        ("distinct", lambda x: es.record_traces(HISTOGRAM.program, [[1]], distinct=x)),
        ("vectors", lambda x: es.record_traces(HISTOGRAM.program, [[1]], vectors=x)),
        ("cache", lambda x: COMPILED.run([1], cache=x)),
        ("tied", lambda x: model(tied=x)),
        ("clip", lambda x: Recipe(clip=x)),
        ("copies", lambda x: ScaffoldConfig(copies=x)),
        ("setting", lambda x: ScaffoldConfig(setting=x)),
        ("order", lambda x: BranchingConfig(order=x)),
        ("scale", lambda x: es.reproduce("alta-table-2", scale=x)),
        ("penalty", lambda x: es.local_optimum(HISTOGRAM.program, [[1]], penalty=x)),
        ("split", es.scan_split),
        ("device", lambda x: es.train(es.ParityRun(), device=x)),
        ("out_of_range", lambda x: es.language.var(2, out_of_range=x)),
        ("sublayer", lambda x: changed(Set("count", layer=1, position=0, value=0, sublayer=x))),
        ("unit", lambda x: changed(KnockOut(unit=x))),
        ("space", lambda x: es.decompose(model(), [0, 1], focus=[0], space=x)),
        ("layer", lambda x: es.decompose(model(), [0, 1], focus=[0], layer=x)),
        ("at", lambda x: es.interdependence(es.network(model()), [0, 1], a=[0], b=[1], at=x)),
        ("steps", IntegratedGradients),
        ("memory", lambda x: list(interdependence_corpus(model(), [[0, 1]], memory=x))),
        ("workers", lambda x: list(interdependence_corpus(model(), [[0, 1]], workers=x))),
    ],
)
def test_an_array_in_place_of_one_value_is_refused_by_name(name, call, given):
    with pytest.raises(es.EspalierError, match=name):
        call(given)


def changed(change):
    return es.interpret(HISTOGRAM.program, [1, 1], interventions=[change])


@pytest.mark.parametrize("one", [np.array, torch.tensor, np.int64])
def test_a_number_of_numpy_or_torch_is_the_number(one):
    net, words = es.network(model()), [0, 1, 1]
    wanted = es.interdependence(net, words, a=[0], b=[1], at=2)
    assert es.interdependence(net, words, a=[one(0)], b=[one(1)], at=one(2)) == wanted
    assert check_seeds(one(2)) == (0, 1)
    blocks = interdependence_corpus(model(), [words], memory=one(1 << 20), workers=one(1))
    assert len(next(blocks)) == 3


@pytest.mark.parametrize("one", [np.array(1), torch.tensor(1)], ids=["numpy", "torch"])
@pytest.mark.parametrize(
    "call",
    [
        es.treebank,
        lambda x: model(words=x),
        lambda x: es.decompose(model(), [0, 1], focus=x),
        lambda x: es.decompose(model(), x, focus=[0]),
        lambda x: es.decompose(es.network(model()), x, focus=[0]),
    ],
)
def test_an_array_without_axes_is_no_list(call, one):
    with pytest.raises(es.EspalierError, match=r"is no path|a list|name words|axes"):
        call(one)
