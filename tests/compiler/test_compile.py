"""Interpreter equals weights: the promise of the whole pillar."""

import itertools

import pytest
import torch
from hypothesis import given, settings

import espalier as es
import transformer
from espalier import zoo
from espalier.language import (
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)
from strategies import Case, cases

PARITY = ["parity-sequential-absolute", "parity-sequential-relative", "parity-sum-modulo"]


@given(cases(strict=None))
def test_interpreter_equals_weights_on_random_programs(case: Case) -> None:
    for dtype in (torch.float32, torch.float64):
        model = es.compile_program(case.program, dtype=dtype)
        found = es.verify(
            case.program, case.batch, model=model, max_layers=case.max_layers, strict=False
        )
        assert found.ok, str(found)


@given(cases(strict=True))
@settings(max_examples=40)
def test_outputs_and_layers_are_the_interpreters(case: Case) -> None:
    model = es.compile_program(case.program)
    symbols = es.interpret_many(case.program, case.batch, max_layers=case.max_layers)
    assert model.run_many(case.batch, max_layers=case.max_layers) == symbols
    one_by_one = [model.run(tokens, max_layers=case.max_layers) for tokens in case.batch]
    assert one_by_one == list(symbols)


@given(cases(strict=None))
@settings(max_examples=40)
def test_merged_rules_compile_to_the_same_machine(case: Case) -> None:
    merged = case.program.merged()
    assert len(merged.rules) <= len(case.program.rules)
    found = es.verify(
        case.program,
        case.batch,
        model=es.compile_program(merged),
        max_layers=case.max_layers,
        strict=False,
    )
    assert found.ok, str(found)


@given(cases(strict=None))
@settings(max_examples=40)
def test_the_runtime_equals_a_textbook_transformer(case: Case) -> None:
    model = es.compile_program(case.program, dtype=torch.float64)
    runs = model.run_many(case.batch, max_layers=case.max_layers or 3)
    for tokens, run in zip(case.batch, runs, strict=True):
        assert transformer.run(model.weights, tokens, case.max_layers or 3) == (
            run.outputs,
            run.layers,
        )


@pytest.mark.parametrize("name", PARITY)
def test_parity_is_right_on_every_input_up_to_length_12(name: str) -> None:
    # As many positions as needed: the rest would only be carried along.
    entry = zoo.load(name, positions=12) if name == "parity-sequential-absolute" else zoo.load(name)
    texts = ["".join(bits) for n in range(1, 13) for bits in itertools.product("01", repeat=n)]
    batch = [entry.encode(text) for text in texts]
    expected = [entry.expected(text) for text in texts]
    symbols = es.interpret_many(entry.program, batch, max_layers=entry.max_layers)
    weights = es.compile_program(entry.program).run_many(batch, max_layers=entry.max_layers)
    assert [entry.decode(run.outputs) for run in symbols] == expected
    assert weights == symbols


@pytest.mark.parametrize("name", PARITY)
def test_parity_is_right_on_random_inputs_up_to_length_200(name: str) -> None:
    entry = zoo.load(name)
    texts = [*entry.samples(30, size=200), "1" * 200, "0" * 200]
    batch = [entry.encode(text) for text in texts]
    weights = es.compile_program(entry.program).run_many(batch, max_layers=entry.max_layers)
    assert [entry.decode(run.outputs) for run in weights] == [entry.expected(t) for t in texts]
    assert weights == es.interpret_many(entry.program, batch, max_layers=entry.max_layers)


@pytest.mark.parametrize("buckets", [2, 10, 100, 200])
def test_sum_modulo_is_right_for_every_count_without_a_setting(buckets: int) -> None:
    entry = zoo.load("parity-sum-modulo", buckets=buckets)
    texts = ["1" * ones + "0" * (ones % 7) for ones in range(1, buckets)]
    model = es.compile_program(entry.program)
    runs = model.run_many([entry.encode(text) for text in texts], max_layers=1)
    assert [entry.decode(run.outputs) for run in runs] == [entry.expected(t) for t in texts]
    assert len(entry.program.rules) == 2 * buckets


def test_the_matrices_of_the_papers_appendix_a2() -> None:
    model = es.compile_program(zoo.load("parity-sequential-absolute", positions=3).program)
    places = [model.labels.index(f"{name} = {value}") for name, value in _A2_COLUMNS]
    weights = model.weights.feedforward
    first, second = weights.w1.dense()[:, places], weights.w2.dense()[places]
    # One column a rule, in the order R1 to R7 of the text.
    assert first.T.tolist() == [
        [1, 0, 0, 0, 0, 0, 0],  # parity = 0
        [0, 1, 0, 0, 0, 0, 0],  # parity = 1
        [0, 0, 0, 1, 0, 0, 0],  # parity_left = 0
        [1, 1, 0, 0, 1, 0, 0],  # parity_left = 1
        [1, 1, 1, 0, 0, 0, 0],  # done = 0
        [0, 0, 0, 0, 0, 0, 0],  # done = 1
        [0, 0, 0, 0, 0, 1, 0],  # done_left = 0
        [1, 1, 1, 0, 0, 0, 1],  # done_left = 1
    ]
    assert weights.b1.tolist() == [-3, -3, -1, 0, 0, 0, 0]
    assert second.tolist() == [
        [-1, 1, 0, 0, 0, 0, 0],
        [1, -1, 0, 0, 0, 0, 0],
        [0, 0, 0, -1, 0, 0, 0],
        [0, 0, 0, 0, -1, 0, 0],
        [0, 0, -1, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, -1, 0],
        [0, 0, 0, 0, 0, 0, -1],
    ]
    # idx and idx_left are read and written by no rule.
    others = [d for d in range(model.layout.width) if d not in places]
    assert not weights.w1.dense()[:, others].any()
    assert not weights.w2.dense()[others].any()


_A2_COLUMNS = [
    (name, value) for name in ("parity", "parity_left", "done", "done_left") for value in (0, 1)
]


def test_the_attention_matrices_of_the_papers_appendix_a2() -> None:
    model = es.compile_program(
        zoo.load("parity-sequential-absolute", positions=3).program, sharpness=100
    )
    head, labels = model.weights.heads[0], model.labels
    for row in range(3):
        query, key = head.query.dense()[row], head.key.dense()[row]
        assert query.nonzero().flatten().tolist() == [labels.index(f"idx_left = {row}")]
        assert key.nonzero().flatten().tolist() == [labels.index(f"idx = {row}")]
        assert (query.max() * key.max()).item() == 100
    for row in range(2):
        value, output = head.value.dense()[row], head.output.dense()[:, row]
        assert value.nonzero().flatten().tolist() == [labels.index(f"parity = {row}")]
        assert output.nonzero().flatten().tolist() == [labels.index(f"parity_left = {row}")]


def test_nothing_selected_is_exactly_the_zero_vector() -> None:
    program = program_spec(
        {"x": var(3, input_init_fn=lambda t: t), "two": var(3, default=2)},
        {"y": qkv("two", "x", "x"), "left": v_relative("x", -1)},
        ffn_fn=lambda z: None,
        output_name="x",
        input_range=3,
    )
    for dtype in (torch.float32, torch.float64, torch.bfloat16):
        model = es.compile_program(program, dtype=dtype)
        tokens, valid = torch.tensor([[0, 1, 0, 1]]), torch.ones(1, 4, dtype=torch.bool)
        z = model.encoder.attention(model.encoder.embed(tokens), valid)
        names = list(program.heads)
        assert not z[0, :, list(model.layout.dimensions("y"))].any()
        assert not z[0, 0, list(model.layout.dimensions(names[1]))].any()


def test_a_mean_between_buckets_stays_exact_and_is_cleared_exactly_for_hundreds_of_layers() -> None:
    def count(z):
        z["seen"] = int(z["mean"] > 0.5)
        z["clock"] = min(z["clock"] + 1, 249)

    program = program_spec(
        {
            "bit": numerical_var((0, 1), input_init_fn=lambda t: float(t)),
            "one": var(1),
            "seen": var(2),
            "clock": var(250),
        },
        {"mean": qkv("one", "one", "bit", output_spec=numerical_var((0, 0.4, 1)))},
        ffn_fn=count,
        output_name="seen",
        input_range=2,
        halt_spec=halt_spec("clock", 249),
    )
    model = es.compile_program(program)
    batch = [[1, 0, 1], [0, 0, 1], [1, 1, 1, 1, 0, 1, 1]]
    found = es.verify(program, batch, model=model)
    assert found.ok, str(found)
    assert model.run(batch[0]).layers == 249
    tokens, lengths = torch.tensor([[1, 0, 1]]), torch.tensor([3])
    z, valid = model.encoder.embed(tokens), torch.ones(1, 3, dtype=torch.bool)
    for _ in range(200):
        z = z + model.encoder.attention(z, valid)
        z = z + model.encoder.mlp(z)
        assert (z[..., model.layout.dimension("mean")] == 0).all()
    assert lengths.item() == 3


@pytest.mark.parametrize("size", [2, 6, 10, 34, 200, 1000])
@pytest.mark.parametrize("values", [(0.0, 1.0), (1000.0, 1001.0), (100.0, 100.1), (-3.0, 7.0)])
def test_ties_go_to_the_lower_bucket_in_both_machines(size: int, values) -> None:
    def read(z):
        z["high"] = int(z["mean"] == values[1])

    program = program_spec(
        {
            "bit": numerical_var(values, input_init_fn=lambda t: values[t]),
            "one": var(1),
            "high": var(2),
        },
        {"mean": qkv("one", "one", "bit")},
        ffn_fn=read,
        output_name="high",
        input_range=2,
    )
    tie, above = [1, 0] * (size // 2), [1, 0] * (size // 2) + [1]
    model = es.compile_program(program)
    assert model.run(tie, max_layers=1).outputs == [0] * len(tie)
    assert model.run(above, max_layers=1).outputs == [1] * len(above)
    assert es.verify(program, [tie, above], model=model, max_layers=1).ok


def test_a_number_rewritten_for_hundreds_of_layers_does_not_drift() -> None:
    values = (0.1, 0.2, 0.3, 0.7)

    def turn(z):
        z["x"] = values[(values.index(z["x"]) + 1) % 4]
        z["low"] = int(z["x"] <= 0.2)

    program = program_spec(
        {"x": numerical_var(values, input_init_fn=lambda t: 0.13 * t), "low": var(2)},
        ffn_fn=turn,
        output_name="low",
        input_range=4,
    )
    assert es.verify(program, [[0, 1, 2, 3]], max_layers=300).ok


def test_an_almost_unanimous_average_is_not_mistaken_for_a_value() -> None:
    def read(z):
        if z["ask"] == 0:
            z["answer"] = z["all"]

    program = program_spec(
        {
            "bit": var(2, input_init_fn=lambda t: t),
            "one": var(1),
            "ask": var(2, default=1),
            "answer": var(2),
        },
        {"all": qkv("one", "one", "bit")},
        ffn_fn=read,
        output_name="answer",
        input_range=2,
    )
    model = es.compile_program(program)
    for length in (2, 100, 3000):
        nearly, fully = [1] * (length - 1) + [0], [1] * length
        assert es.verify(program, [nearly, fully], model=model, max_layers=3).ok
        everywhere = torch.ones(1, length, dtype=torch.bool)
        z = model.encoder.embed(torch.tensor([nearly]))
        z = z + model.encoder.attention(z, everywhere)
        features = model.encoder.mlp.expansion(z[0])
        assert not features.any()


def test_sets_are_queried_read_and_rewritten() -> None:
    sets = [set(), {0}, {1, 2}, {0, 1, 2}]

    def turn(z):
        z["s"] = sets[(sets.index(set(z["s"])) + 1) % 4]
        z["found"] = int(z["hit"] == 2)

    program = program_spec(
        {
            "s": set_var(sets, 3, default={1, 2}),
            "k": var(3, input_init_fn=lambda t: t),
            "found": var(2),
        },
        {"hit": qkv("s", "k", "k")},
        ffn_fn=turn,
        output_name="found",
        input_range=3,
    )
    batch = [[2, 2, 2], [0, 2], [1, 0, 2, 2]]
    found = es.verify(program, batch, max_layers=9, strict=False)
    assert found.ok, str(found)


def test_bfloat16_gives_the_same_outputs_on_categorical_programs_or_says_why_not() -> None:
    entry = zoo.load("parity-sequential-relative")
    model = es.compile_program(entry.program, dtype=torch.bfloat16)
    batch = [entry.encode(bits) for bits in entry.samples(20, size=40)]
    assert es.verify(entry.program, batch, model=model).ok
    with pytest.raises(es.CompileError, match=r"'x' is numerical, and bfloat16 keeps 8 bits"):
        es.compile_program(zoo.load("parity-sum-modulo").program, dtype=torch.bfloat16)


@given(cases(strict=None))
@settings(max_examples=30)
def test_bfloat16_on_random_categorical_programs(case: Case) -> None:
    try:
        model = es.compile_program(case.program, dtype=torch.bfloat16)
    except es.CompileError as error:
        assert "is numerical" in str(error)  # noqa: PT017
        return
    found = es.verify(
        case.program, case.batch, model=model, max_layers=case.max_layers, strict=False
    )
    assert found.ok, str(found)


def test_an_average_too_long_for_its_type_is_refused() -> None:
    program = program_spec(
        {"bit": var(2, input_init_fn=lambda t: t), "one": var(1)},
        {"all": qkv("one", "one", "bit")},
        ffn_fn=lambda z: None,
        output_name="bit",
        input_range=2,
    )
    model = es.compile_program(program, dtype=torch.bfloat16)
    assert model.run([1] * 128, max_layers=1).layers == 1
    with pytest.raises(es.ProgramError, match="129 positions"):
        model.run([1] * 129, max_layers=1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"sharpness": 0}, "sharpness"),
        ({"sharpness": float("nan")}, "sharpness"),
        ({"sharpness": "100"}, "sharpness"),
        ({"sharpness": 1e39}, "sharpness"),
        ({"dtype": [1]}, "dtype|compile to"),
        ({"dtype": torch.int32}, "int32"),
        ({"dtype": torch.float16}, "float16"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(es.CompileError, match=message):
        es.compile_program(zoo.load("parity-sequential-relative").program, **settings)


@pytest.mark.parametrize(
    ("values", "message"), [((0.0, 1e38), "too large"), ((0.0, 1e-37), "1e-37")]
)
def test_numbers_that_the_type_cannot_hold_are_refused(values, message) -> None:
    def read(z):
        z["high"] = int(z["x"] == values[1])

    program = program_spec(
        {"x": numerical_var(values), "high": var(2)},
        ffn_fn=read,
        output_name="high",
        input_range=1,
    )
    with pytest.raises(es.CompileError, match=f"'x'.*{message}"):
        es.compile_program(program)
    assert es.verify(
        program, [[0]], model=es.compile_program(program, dtype=torch.float64), max_layers=2
    ).ok


@pytest.mark.parametrize(
    ("values", "first"),
    [
        ((0.0, 1e-4, 1000.0), 0.0),
        ((0.0, 1.0, 1e7), 0.0),
        ((0.0, 1.0), 1e7),
        ((1.0, 1.0 + 1e-7), 1e-9),
        ((1000.0, 1000.01), 1 / 3),
        ((1 / 7, 1e9), 2**-40),
    ],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_numbers_of_very_different_sizes_are_rewritten_exactly(values, first, dtype) -> None:
    def turn(z):
        z["x"] = values[(values.index(z["x"]) + 1) % len(values)]
        z["high"] = int(z["x"] == values[1])

    program = program_spec(
        {"x": numerical_var(values, input_init_fn=lambda t: first if t else 0.3), "high": var(2)},
        ffn_fn=turn,
        output_name="high",
        input_range=2,
    )
    model = es.compile_program(program, dtype=dtype)
    assert es.verify(program, [[0, 1]], model=model, max_layers=7).ok


def test_only_programs_are_compiled() -> None:
    with pytest.raises(es.CompileError, match="needs a Program"):
        es.compile_program("parity")
