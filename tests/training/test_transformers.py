"""Transformers read back and asked: as their run measured them, and one by one."""

from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.data.parity import ParityConfig, parity_set
from espalier.data.scan import WORDS
from espalier.nets.transformer.model import TransformerShape, decode, encode
from espalier.training import SYMBOLS, ParityRun, ScanRun, StepRecipe, open_run, transformers
from espalier.training.scan import FITTED
from espalier.training.scan_batches import END, START, Pairs, read_split, some_of
from espalier.training.scan_counts import counted, exactly
from espalier.training.transformers import in_precision

SIZES = {"width": 16, "hidden": 16, "heads": 2, "head_width": 8, "layers": 2, "longest": 16}
STRINGS = ParityRun(
    TransformerShape(3, 2, positions="absolute", **SIZES),
    train=ParityConfig(4, 8),
    test=ParityConfig(8, 8, 1),
    recipe=StepRecipe(60, 16, 3e-3, "adam", measures=2, precision="bfloat16"),
    seeds=3,
)
COMMANDS = ScanRun(
    TransformerShape(len(SYMBOLS), len(SYMBOLS), decoder=True, **SIZES),
    splits=("upto:1,2", "upto:2,3"),
    recipe=StepRecipe(150, 16, 1e-2, "adam", measures=2, precision="float32"),
    seeds=2,
)


@pytest.fixture(scope="module")
def parity(tmp_path_factory):
    out = tmp_path_factory.mktemp("parity")
    rows = es.train(STRINGS, out, device="cpu").rows
    return out, rows[-3:], open_run(out, kinds=[ParityRun], device="cpu").models


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    out = tmp_path_factory.mktemp("scan")
    rows = es.train(COMMANDS, out, device="cpu").rows
    return out, rows[-4:], open_run(out, kinds=[ScanRun], device="cpu").models


def test_answers_are_those_that_were_measured(parity, monkeypatch):
    _, rows, found = parity
    test = parity_set(STRINGS.test)
    said = found.answers(test.strings())
    assert said.shape == (3, len(test))
    right = said == test.parities
    for row, own in zip(rows, right, strict=True):
        assert row["short"] == own[test.lengths <= 4].mean()
        assert row["long"] == own[test.lengths > 4].mean()
    monkeypatch.setattr(transformers, "CELLS", 3_000)
    assert np.array_equal(found.answers(test.strings()), said)


def test_products_are_as_trained(parity, scan, monkeypatch):
    """Saved weights are in float32; those of products in the recipe's precision."""
    seen = []

    def look(weights, shape, tokens, **more):
        seen.append({tensor.dtype for tensor in weights.values()})
        return encode(weights, shape, tokens, **more)

    monkeypatch.setattr("espalier.nets.transformer.ends.encode", look)
    monkeypatch.setattr("espalier.training.scan_answers.encode", look)
    parity[2].answers(["01"])
    scan[2].translate(["jump"], longest=1)
    assert seen == [{torch.bfloat16}, {torch.float32}]
    assert {tensor.dtype for tensor in parity[2].weights.values()} == {torch.float32}
    assert (parity[2].recipe, scan[2].recipe) == (STRINGS.recipe, COMMANDS.recipe)


@settings(deadline=None, max_examples=15)
@given(st.lists(st.text("01", max_size=15), min_size=1, max_size=6))
def test_a_string_is_answered_as_if_it_were_alone(parity, strings):
    _, _, found = parity
    together = found.answers(strings)
    weights = in_precision(found.weights, found.recipe)
    for place, string in enumerate(strings):
        for member in range(3):
            own = {name: tensor[member : member + 1] for name, tensor in weights.items()}
            tokens = torch.tensor([[[2, *map(int, string)]]])
            lengths = torch.tensor([[tokens.shape[2]]])
            last = encode(own, found.shape, tokens, lengths=lengths).stream[0, 0, -1]
            odd = last.float() @ own["unembedding"][0].float().diff(dim=-1)
            if abs(odd) > 0.1:  # nearer to 0, bfloat16 may round either way
                assert together[member, place] == int(odd > 0)


def test_translations_are_those_that_were_measured(scan):
    """A command's is the true one exactly if `exactly` says so; some are and some are not."""
    _, rows, found = scan
    seen = set()
    for member, (row, split) in enumerate(zip(rows, np.repeat(COMMANDS.splits, 2), strict=True)):
        own = {name: tensor[member : member + 1] for name, tensor in found.weights.items()}
        examples = read_split(split)
        for name, some in (
            ("train_accuracy", some_of(examples.train, FITTED)),
            ("accuracy", examples.test),
        ):
            said = found.translate([one.command for one in some], longest=4)[member]
            same = [text == one.actions for text, one in zip(said, some, strict=True)]
            judged = counted(own, found.shape, Pairs.of(some), {name: exactly})[name]
            assert same == judged.bool().tolist()
            assert row[name] == np.mean(same)
            seen |= set(same)
    assert seen == {True, False}


@settings(deadline=None, max_examples=10)
@given(st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=12), min_size=1, max_size=4))
def test_a_command_is_translated_as_if_it_were_alone(scan, commands):
    _, _, found = scan
    texts = [" ".join(words) for words in commands]
    for member, own in enumerate(found.translate(texts, longest=6)):
        assert own == [slowly(found, member, words, 6) for words in commands]


def slowly(found, member, words, longest):
    weights = {name: tensor[member : member + 1] for name, tensor in found.weights.items()}
    command = torch.tensor([[[SYMBOLS.index(word) for word in words]]])
    encoded = encode(weights, found.shape, command, lengths=torch.tensor([[len(words)]]))
    written = [START]
    while written[-1] != END and len(written) <= longest + 1:
        logits = decode(weights, found.shape, torch.tensor([[written]]), encoded)
        written.append(int(logits[0, 0, -1].argmax()))
    symbols = [SYMBOLS[code] for code in written[1:-1]]
    return " ".join(symbols if written[-1] == END else [*symbols, "..."])


def test_what_does_not_end_is_cut(scan, monkeypatch):
    _, _, found = scan
    weights = {name: tensor.clone() for name, tensor in found.weights.items()}
    weights["unembedding"][..., END] = 0
    weights["decoder.final_scale"] *= 0  # every symbol is as likely: the first, <pad>, is taken
    endless = replace(found, weights=weights)
    assert endless.translate(["jump"], longest=2) == [["<pad> <pad> ..."]] * 4
    texts = ["jump", "walk and run twice", "turn left"]
    together = found.translate(texts)
    monkeypatch.setattr(transformers, "CELLS", 1)
    assert found.translate(texts) == together


def test_transformers_show_themselves(parity, scan):
    _, _, found = parity
    assert found.names == ("seed-0", "seed-1", "seed-2")
    assert scan[2].names == ("upto:1,2-0", "upto:1,2-1", "upto:2,3-0", "upto:2,3-1")
    assert (found.shape, scan[2].shape) == (STRINGS.shape, COMMANDS.shape)
    assert repr(found) == "3 ParityTransformers of 2 layers"
    with pytest.raises(FrozenInstanceError):
        found.names = ()


def test_one_of_several_answers_as_it_does_among_them(parity, scan):
    strings, commands = ["", "1", "0110", "111"], ["jump", "turn left twice"]
    for found, asked in ((parity[2], strings), (scan[2], commands)):
        together = found.ask(asked)
        assert [one.ask(asked)[0] for one in found] == together
        assert found[-1].names == found.names[-1:]
        assert found[1:3].ask(asked) == together[1:3]
    with pytest.raises(IndexError):
        parity[2][3]


@pytest.mark.parametrize(
    ("strings", "error", "message"),
    [
        (["01", "012"], es.DataError, "written with 0 and 1, as '0110'; found '012'"),
        ([3], es.DataError, "found 3"),
        (["1" * 15, "1" * 16], es.ModelError, "'1{16}' has a length of 16; .* positions for 15"),
        ([], es.ModelError, r"a list with one at least; found \[\]"),
        ("0110", es.ModelError, "a list with one at least; found '0110'"),
    ],
)
def test_strings_that_cannot_be_asked(parity, strings, error, message):
    with pytest.raises(error, match=message):
        parity[2].answers(strings)


@pytest.mark.parametrize(
    ("commands", "error", "message"),
    [
        (["jump", "jmp twice"], es.DataError, "'jmp' is not a word .*; did you mean 'jump'"),
        ([" "], es.DataError, "words such as 'jump twice'; found ' '"),
        ([], es.ModelError, r"commands are given as a list with one at least; found \[\]"),
        ("jump", es.ModelError, "found 'jump'"),
    ],
)
def test_commands_that_cannot_be_asked(scan, commands, error, message):
    with pytest.raises(error, match=message):
        scan[2].translate(commands)
    with pytest.raises(es.ConfigError, match="longest is 0"):
        scan[2].translate(["jump"], longest=0)
    absolute = replace(scan[2], shape=replace(scan[2].shape, positions="absolute", longest=2))
    with pytest.raises(es.ModelError, match=r"'run left twice' has a length of 3; .* for 2"):
        absolute.translate(["jump", "run left twice"])
