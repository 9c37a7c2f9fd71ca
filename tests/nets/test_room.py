"""What does not fit into memory is refused before anything is allocated."""

import pytest

import espalier as es
from espalier.data import ParityConfig
from espalier.decomposition import interdependence_corpus
from espalier.learnability.supervision import ReadableSettings, TraceSettings
from espalier.nets import room
from espalier.nets.language import language_model
from espalier.nets.transformer.model import TransformerShape, random_transformers
from espalier.training import SYMBOLS, StepRecipe

HUGE = 10**8
ENTRY = es.zoo.load("parity-sequential-relative")
INPUTS = [ENTRY.encode("110")]


@pytest.mark.parametrize("architecture", ["lstm", "gru", "transformer"])
@pytest.mark.parametrize("size", ["hidden", "layers", "vocabulary_size"])
def test_language_models_without_room_are_refused(monkeypatch, architecture, size):
    monkeypatch.setattr(room, "machine_bytes", lambda: 10**10)
    sizes = {"vocabulary_size": 100, "hidden": 100, "layers": 1} | {size: HUGE}
    with pytest.raises(es.ModelError, match=r"100,000,000.* takes .* GB .* has 10 GB; ask for som"):
        language_model(**sizes, architecture=architecture)


@pytest.mark.parametrize(
    "setting", [{"shape": {"hidden": HUGE}}, {"shape": {"layers": HUGE}}, {"batch": HUGE}]
)
@pytest.mark.parametrize("shared", [False, True])
def test_runs_of_transformers_without_room_are_refused(monkeypatch, setting, shared):
    monkeypatch.setattr(room, "machine_bytes", lambda: 10**10)
    recipe = StepRecipe(10, setting.get("batch", 4))
    shape = {"shared": shared} | setting.get("shape", {})
    parity = TransformerShape(3, 2, **shape)
    scan = TransformerShape(len(SYMBOLS), len(SYMBOLS), **shape, decoder=True)
    for run in (
        es.ParityRun(parity, ParityConfig(4, 5), ParityConfig(8, 4, 1), recipe),
        es.ScanRun(scan, ("upto:1,2",), recipe, tests=9),
    ):
        with pytest.raises(es.ModelError, match=r"100,000,000.* takes .* GB of memory at least"):
            es.train(run, device="cpu")


@pytest.mark.parametrize("setting", [{"hidden": HUGE}, {"recipe": StepRecipe(10, HUGE)}])
def test_runs_of_programs_without_room_are_refused(monkeypatch, setting):
    monkeypatch.setattr(room, "machine_bytes", lambda: 10**9)
    for run in (
        es.TraceRun(ENTRY.program, INPUTS, TraceSettings(**setting)),
        es.ReadableRun(ENTRY.program, INPUTS, ReadableSettings(**setting)),
    ):
        with pytest.raises(es.ModelError, match=r"100,000,000.* takes .* GB of memory at least"):
            es.train(run, device="cpu")


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("positions", ["relative", "absolute"])
@pytest.mark.parametrize("decoder", [False, True])
def test_weights_are_counted_as_they_are(shared, positions, decoder):
    sizes = {"width": 6, "hidden": 7, "heads": 2, "head_width": 5, "layers": 3}
    kinds = {"shared": shared, "positions": positions, "decoder": decoder}
    shape = TransformerShape(3, 4, **sizes, **kinds)
    made = random_transformers(shape, [0])
    small = ("scale", "relative")  # norms and position biases
    assert shape.numbers == sum(w.numel() for name, w in made.items() if not name.endswith(small))


LSTM, GRU, TRANSFORMER = (
    language_model(vocabulary_size=9, hidden=4, architecture=kind, **more)
    for kind, more in (
        ("lstm", {}), ("gru", {}), ("transformer", {"heads": 1, "longest": 20_000}),
    )
)  # fmt: skip
WORDS = [2, 3] * 10_000


@pytest.mark.parametrize(
    "ask",
    [
        lambda: es.interdependence(LSTM, WORDS),
        lambda: es.interdependence(LSTM, WORDS, allocation="murdoch"),
        lambda: es.interdependence(LSTM, WORDS, method="occlusion"),
        lambda: es.interdependence(es.network(GRU), WORDS),
        lambda: es.interdependence(es.network(TRANSFORMER), WORDS),
        lambda: es.interdependence(es.network(TRANSFORMER), WORDS, method="occlusion"),
        lambda: es.interdependence(es.network(TRANSFORMER), WORDS, a=[0], b=[1]),
        lambda: es.decompose(es.network(TRANSFORMER), WORDS, focus=[0]),
        lambda: list(interdependence_corpus(LSTM, [[2, 3], WORDS])),
    ],
)
def test_sentences_without_room_are_refused(monkeypatch, ask):
    monkeypatch.setattr(room, "machine_bytes", lambda: 10**9)
    with pytest.raises(es.DataError, match=r"a sentence of 20,000 words takes .* GB .* in pieces"):
        ask()


def test_parts_of_a_sentence_without_room_are_refused(monkeypatch):
    monkeypatch.setattr(room, "machine_bytes", lambda: 10**8)
    wide = language_model(vocabulary_size=9, hidden=300)
    with pytest.raises(es.DataError, match=r"a sentence of 20,000 words takes .* GB"):
        es.decompose(wide, WORDS, focus=[0])
    with pytest.raises(es.DataError, match=r"a sentence of 20,000 words takes .* GB"):
        es.interdependence(wide, WORDS, a=[0], b=[19_999])


def test_a_machine_that_does_not_say_its_memory_refuses_nothing(monkeypatch):
    monkeypatch.setattr(room, "machine_bytes", lambda: None)
    room.refuse_beyond_memory("anything", 10**30)
