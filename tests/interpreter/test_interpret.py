import itertools
import random
import sys

import numpy as np
import pytest
from hypothesis import given

from espalier.errors import ProgramError, UndefinedError
from espalier.interpreter import interpret, interpret_many
from espalier.language import Rule, halt_spec, program_spec, var
from parity import START, prefix_parities, sequential_absolute, sequential_relative, sum_modulo
from reference import UndefinedReadError, run_by_definition
from strategies import cases

MODULE = sys.modules["espalier.interpreter.interpret"]  # the function has its name

SHORT = [list(bits) for n in range(1, 11) for bits in itertools.product((0, 1), repeat=n)]
PICK = random.Random(7)
LONG = [[PICK.randint(0, 1) for _ in range(PICK.randint(11, 200))] for _ in range(40)]
LONG += [[1] * 200, [0] * 200]


@given(cases())
def test_a_batch_is_every_input_by_itself(case):
    layers, undefined = [], {}
    for number, tokens in enumerate(case.batch):
        try:
            layers.append(run_by_definition(case.program, tokens, max_layers=case.max_layers))
        except UndefinedReadError as error:
            undefined[number] = error.layer
    if undefined:
        with pytest.raises(UndefinedError) as caught:
            interpret_many(case.program, case.batch, max_layers=case.max_layers)
        first = min(undefined.values())
        culprits = [number for number, layer in undefined.items() if layer == first]
        assert any(f"layer {first}, input {n}, " in str(caught.value) for n in culprits)
        return
    runs = interpret_many(case.program, case.batch, max_layers=case.max_layers)
    alone = [interpret(case.program, tokens, max_layers=case.max_layers) for tokens in case.batch]
    assert [(r.outputs, r.layers, r.halted) for r in runs] == [
        (trace.outputs, trace.layers, trace.halted) for trace in alone
    ]


@given(cases(strict=True))
def test_the_size_of_a_chunk_changes_nothing(case):
    whole = interpret_many(case.program, case.batch, max_layers=case.max_layers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "CHUNK", 3)
        assert interpret_many(case.program, case.batch, max_layers=case.max_layers) == whole


def test_an_empty_batch_has_no_runs():
    assert len(interpret_many(sequential_relative(), [])) == 0


def test_an_error_names_the_input_whichever_chunk_it_is_in():
    program = program_spec(
        {"go": var(2, input_init_fn=int)},
        rules=[],
        output_name="go",
        input_range=2,
        halt_spec=halt_spec("go", 1),
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "CHUNK", 2)
        with pytest.raises(ProgramError, match="input 3 never halts"):
            interpret_many(program, [[1, 1], [1], [1, 1, 1], [1, 0], [1]])


def test_the_paper_counts_of_rules():
    counts = [
        len(p.rules) for p in (sequential_absolute(50), sequential_relative(), sum_modulo(100))
    ]
    assert counts == [7, 7, 200]


@pytest.mark.parametrize("inputs", [SHORT, LONG], ids=["short", "long"])
def test_sequential_parity_with_absolute_positions(inputs):
    runs = interpret_many(sequential_absolute(200), inputs)
    assert runs.outputs == [prefix_parities(bits) for bits in inputs]
    assert runs.layers == [max(1, len(bits) - 1) for bits in inputs]
    assert all(run.halted for run in runs)


@pytest.mark.parametrize("inputs", [SHORT, LONG], ids=["short", "long"])
def test_sequential_parity_with_relative_positions(inputs):
    runs = interpret_many(sequential_relative(), [[START, *bits] for bits in inputs])
    assert runs.outputs == [[0, *prefix_parities(bits)] for bits in inputs]
    assert runs.layers == [len(bits) for bits in inputs]


@pytest.mark.parametrize("inputs", [SHORT, LONG], ids=["short", "long"])
def test_parity_by_sum_and_modulo(inputs):
    runs = interpret_many(sum_modulo(201), [[START, *bits] for bits in inputs], max_layers=1)
    assert [set(outputs) for outputs in runs.outputs] == [{sum(bits) % 2} for bits in inputs]
    assert set(runs.layers) == {1}


@pytest.mark.parametrize("buckets", [2, 3, 100, 200])
def test_every_count_up_to_the_buckets_is_distinguished(buckets):
    inputs = [[START, *[1] * ones] for ones in range(buckets)]
    runs = interpret_many(sum_modulo(buckets), inputs, max_layers=1)
    assert [outputs[-1] for outputs in runs.outputs] == [ones % 2 for ones in range(buckets)]


COUNTER = program_spec(
    {"n": var(4, input_init_fn=int)},
    rules=[Rule({}, "n", n, n + 1) for n in range(3)],
    output_name="n",
    input_range=3,
    position_range=4,
    vocabulary=["zero", "one", "two"],
)


@pytest.mark.parametrize(
    ("tokens", "culprit"),
    [
        ([], "empty"),
        ([0, 3], "position 1 holds token 3"),
        ([-1], "position 0 holds token -1"),
        ([0, 1.0], "position 1"),
        ([np.float64(1)], "position 0"),
        (np.array([1.0, 2.0]), "position 0"),
        ([None], "position 0"),
        ([[0, 1]], "position 0"),
        (np.array([[0, 1]]), "position 0"),
        ([np.array([0])], "position 0"),
        (["two", "tow"], "'two'"),
        ([0] * 5, "5"),
        ("012", "'012'"),
        (b"012", "012"),
        (3, "3"),
        (None, "None"),
    ],
    ids=repr,
)
def test_a_bad_input_is_refused_by_name(tokens, culprit):
    with pytest.raises(ProgramError, match=culprit):
        interpret(COUNTER, tokens, max_layers=1)
    with pytest.raises(ProgramError, match=f"input 1.*{culprit}"):
        interpret_many(COUNTER, [[0], tokens], max_layers=1)


@pytest.mark.parametrize(
    "endless",
    [lambda: itertools.repeat(1), lambda: itertools.count(), lambda: range(10**15)],
    ids=["repeat", "count", "range"],
)
def test_an_endless_input_is_refused(endless):
    with pytest.raises(ProgramError, match=r"the input, a sequence of tokens, .* at most"):
        interpret(COUNTER, endless(), max_layers=1)
    with pytest.raises(ProgramError, match=r"input 1: the input, .* at most"):
        interpret_many(COUNTER, iter([[0], endless()]), max_layers=1)


def test_an_endless_batch_is_refused():
    with pytest.raises(ProgramError, match=r"the batch.* has not ended"):
        interpret_many(COUNTER, itertools.repeat([0] * 4), max_layers=1)


@pytest.mark.parametrize("batch", [3, "01", None, [0, 1]], ids=repr)
def test_a_batch_must_be_a_list_of_sequences(batch):
    with pytest.raises(ProgramError):
        interpret_many(COUNTER, batch, max_layers=1)


@pytest.mark.parametrize("layers", [None, -1, 1.0, "1"], ids=repr)
def test_without_a_halt_spec_max_layers_must_be_given_as_a_number(layers):
    with pytest.raises(ProgramError, match="max_layers"):
        interpret(COUNTER, [0], max_layers=layers)
    with pytest.raises(ProgramError, match="max_layers"):
        interpret_many(COUNTER, [[0]], max_layers=layers)


@pytest.mark.parametrize(
    "tokens",
    [
        np.array([0, 1, 2]),
        np.array([0, 1, 2], dtype=np.uint8),
        [np.int32(0), np.int64(1), np.uint16(2)],
        (0, True, 2),
        ["zero", "one", "two"],
        ["zero", 1, np.int8(2)],
        range(3),
        pytest.param(iter([0, 1, 2]), id="iterator"),
    ],
    ids=repr,
)
def test_integers_of_any_kind_and_names_are_tokens(tokens):
    trace = interpret(COUNTER, tokens, max_layers=np.int64(1))
    assert trace.outputs == [1, 2, 3]
    assert trace.tokens == (0, 1, 2)
    assert [type(token) for token in trace.tokens] == [int] * 3
