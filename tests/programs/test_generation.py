"""Continuing from the cache equals starting over for each token, in both machines."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

import espalier as es
from espalier.compiler import load_compiled
from espalier.compiler.decoder import WeightsDecoder
from espalier.interpreter.decoder import SymbolDecoder
from espalier.language import (
    Generation,
    Program,
    Rule,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    v_relative,
    var,
)
from reference import last_answer
from strategies import Case, cases

DTYPES = (torch.float32, torch.float64)


def decoders(program: Program, rows: int, layers: int | None):
    yield SymbolDecoder(program, range(rows), max_layers=layers, strict=False)
    for dtype in DTYPES:
        model = es.compile_program(program, dtype=dtype)
        yield WeightsDecoder(model, rows, max_layers=layers)


@given(cases(strict=None, causal=True), st.data())
def test_a_text_read_in_parts_is_answered_as_if_read_at_once(case: Case, data) -> None:
    parts = []
    for tokens in case.batch:
        cuts = data.draw(st.sets(st.integers(1, len(tokens)), max_size=3)) | {len(tokens)}
        bounds = [0, *sorted(cuts)]
        parts.append([tokens[a:b] for a, b in itertools.pairwise(bounds)])
    layers = case.max_layers
    for decoder in decoders(case.program, len(case.batch), layers):
        rows, read = list(range(len(parts))), 0
        while rows:
            answers = decoder.extend([parts[row][read] for row in rows])
            read += 1
            for row, one in zip(rows, answers, strict=True):
                so_far = [token for part in parts[row][:read] for token in part]
                expected = last_answer(case.program, so_far, max_layers=layers, strict=False)
                assert (one.token, one.layers) == expected
            going = np.array([len(parts[row]) > read for row in rows])
            decoder.keep(going)
            rows = [row for row, on in zip(rows, going, strict=True) if on]


def written_by_definition(
    program: Program, prompt: list[int], *, max_tokens: int, stop: int | None, layers: int | None
) -> Generation:
    """The loop of A.3, computing everything again for each token."""
    text, counts = list(prompt), []
    while len(text) < len(prompt) + max_tokens and (not counts or text[-1] != stop):
        token, count = last_answer(program, text, max_layers=layers)
        text.append(token)
        counts.append(count)
    stopped = bool(counts) and text[-1] == stop
    return Generation(tuple(prompt), tuple(text[len(prompt) :]), tuple(counts), stopped)


@given(cases(strict=True, causal=True), st.integers(0, 6), st.none() | st.integers(0, 1))
def test_what_is_written_is_what_beginning_anew_for_each_token_writes(
    case: Case, max_tokens: int, stop: int | None
) -> None:
    program, layers = case.program, case.max_layers
    assume(program.output.size <= program.input_range)
    stop = stop if program.input_range > 1 else None
    longest = max(map(len, case.batch))
    if program.position_range is not None:
        max_tokens = min(max_tokens, program.position_range - longest + 1)
    expected = [
        written_by_definition(program, prompt, max_tokens=max_tokens, stop=stop, layers=layers)
        for prompt in case.batch
    ]
    asked = {"max_tokens": max_tokens, "stop": stop, "max_layers": layers}
    assert es.generate_many(program, case.batch, **asked) == expected
    assert [es.generate(program, prompt, **asked) for prompt in case.batch] == expected
    for dtype in DTYPES:
        model = es.compile_program(program, dtype=dtype)
        assert es.generate_many(model, case.batch, **asked) == expected
        assert es.generate(model, case.batch[-1], **asked) == expected[-1]


@given(cases(strict=None, causal=True))
def test_what_follows_changes_nothing_before_it(case: Case) -> None:
    machine = es.interpreter.Machine(case.program, strict=False)
    for tokens in case.batch:
        whole = machine.run(machine.start([tokens]), max_layers=case.max_layers)[0].outputs
        for end in range(1, len(tokens)):
            part = machine.run(machine.start([tokens[:end]]), max_layers=case.max_layers)[0]
            assert part.outputs == whole[:end]


def average(heads: dict[str, object], **more: object) -> Program:
    """Writes 1 where the mean of what it sees is above a half."""
    return program_spec(
        {"x": numerical_var((0, 1), input_init_fn=float), "all": var(1), "out": var(2)},
        {"mean": heads["mean"]},
        ffn_fn=lambda z: z.__setitem__("out", int(z["mean"] == 1)),
        output_name="out",
        input_range=2,
        **{"causal": True, **more},
    )


@pytest.mark.parametrize(
    "head",
    [
        qkv("all", "all", "x"),
        qkv("all", "all", "x", range(-40, 41)),
        qkv("all", "all", "x", [0, -100, 100]),
        qkv("all", "all", "x", [0, -3, -70]),
    ],
    ids=str,
)
def test_room_grows_with_the_text(head) -> None:
    program, prompts = average({"mean": head}), [[1, 1, 0], [0] * 90, [1, 0] * 30]
    texts = es.generate_many(program, prompts, max_tokens=150, max_layers=1)
    assert texts == es.generate_many(
        es.compile_program(program), prompts, max_tokens=150, max_layers=1
    )
    for text in texts:
        assert es.interpret_many(program, [text.sequence], max_layers=1)[0].outputs[
            len(text.prompt) - 1 : -1
        ] == list(text.tokens)


def counting_down() -> Program:
    """Each token takes as many layers as it says, and writes one less."""
    return program_spec(
        {"left": var(9, input_init_fn=int), "next": var(9), "done": var(2)},
        ffn_fn=_count,
        output_name="next",
        input_range=9,
        halt_spec=halt_spec("done"),
        vocabulary=[*"zyxwvuts", "r"],
        causal=True,
    )


def _count(z) -> None:
    if z["left"] > 0:
        z["next"] = min(8, z["next"] + 1) if z["left"] > 1 else z["next"]
        z["left"] = z["left"] - 1
    z["done"] = int(z["left"] == 0)


@pytest.mark.parametrize("compiled", [False, True])
def test_each_token_takes_the_layers_it_needs(compiled: bool) -> None:
    program = counting_down()
    machine = es.compile_program(program) if compiled else program
    found = es.generate(machine, ["x", 5], max_tokens=20, stop="z")
    assert found.tokens == (4, 3, 2, 1, 0)
    assert found.layers == (5, 4, 3, 2, 1)
    assert found.stopped
    assert found.sequence == (2, 5, 4, 3, 2, 1, 0)
    assert not es.generate(machine, [8], max_tokens=2, stop=0).stopped
    assert es.generate(machine, [8], max_tokens=0).tokens == ()
    several = es.generate_many(machine, [[3], [8, 1], [2]], max_tokens=[1, 0, 9], stop=0)
    assert [one.tokens for one in several] == [(2,), (), (1, 0)]
    assert es.generate_many(machine, [], max_tokens=3) == []


@pytest.mark.parametrize("compiled", [False, True])
def test_a_token_that_never_comes_to_rest_is_found_out(compiled: bool) -> None:
    program = program_spec(
        {"turn": var(3), "done": var(2, input_init_fn=lambda t: int(t == 1)), "out": var(2)},
        rules=[Rule({}, "turn", n, (n + 1) % 3) for n in range(3)],
        output_name="out",
        input_range=2,
        halt_spec=halt_spec("done"),
        causal=True,
    )
    machine = es.compile_program(program) if compiled else program
    assert es.generate(machine, [0], max_tokens=2, max_layers=7).layers == (7, 7)
    with pytest.raises(es.ProgramError, match="never halts"):
        es.generate(machine, [1, 1], max_tokens=3)


def test_a_loaded_model_writes_as_the_saved_one(tmp_path) -> None:
    model = es.compile_program(counting_down())
    model.save(tmp_path / "down.safetensors")
    loaded = load_compiled(tmp_path / "down.safetensors")
    assert loaded.program.causal
    assert es.generate(loaded, [7], max_tokens=9) == es.generate(model, [7], max_tokens=9)


def test_what_cannot_be_written_is_refused() -> None:
    program = counting_down()
    still = average({"mean": qkv("all", "all", "x")}, causal=False)
    wide = program_spec(
        {"x": var(4)}, rules=[], output_name="x", input_range=3, causal=True, halt_spec=None
    )
    short = average({"mean": qkv("all", "all", "x")}, position_range=4)
    refused = [
        (lambda: es.generate(still, [1], max_tokens=1, max_layers=1), "not causal"),
        (lambda: es.generate(wide, [1], max_tokens=1, max_layers=1), "4 values.*3 tokens"),
        (lambda: es.generate(program, [9], max_tokens=1), "input 0: .*token 9"),
        (lambda: es.generate(program, [], max_tokens=1), "empty"),
        (lambda: es.generate(program, [1], max_tokens=-1), "max_tokens"),
        (lambda: es.generate(program, [1], max_tokens=1.5), "max_tokens"),
        (lambda: es.generate_many(program, [[1]], max_tokens=[1, 2]), "2 numbers for 1"),
        (lambda: es.generate(program, [1], max_tokens=1, stop="q"), "'q'"),
        (lambda: es.generate(short, [1], max_tokens=1), "max_layers"),
        (lambda: es.generate(short, [1], max_tokens=5, max_layers=1), "position_range = 4"),
        (lambda: es.generate("down", [1], max_tokens=1), "found str"),
    ]
    for ask, message in refused:
        with pytest.raises(es.ProgramError, match=message):
            ask()
    assert len(es.generate(short, [1], max_tokens=4, max_layers=1).tokens) == 4


def test_a_head_that_only_looks_ahead_is_refused_and_one_that_also_looks_back_is_not() -> None:
    with pytest.raises(es.ProgramError, match=r"'mean'.*looks only to the right"):
        average({"mean": qkv("all", "all", "x", [1, 2])})
    with pytest.raises(es.ProgramError, match=r"looks only to the right"):
        average({"mean": v_relative("x", 3)})
    both = average({"mean": qkv("all", "all", "x", [-1, 0, 1])})
    assert es.interpret(both, [1, 0, 1], max_layers=1).outputs == [1, 0, 0]
    assert es.verify(both, [[1, 0, 1]], max_layers=1).ok


@pytest.mark.parametrize("chunk", [1, 1 << 15])
def test_an_error_names_the_input_whatever_part_it_is_in(chunk: int, monkeypatch) -> None:
    monkeypatch.setattr("espalier.programs.generation.TOGETHER", chunk)
    program = program_spec(
        {"x": var(2, input_init_fn=int)},
        {"left": v_relative("x", -1)},
        ffn_fn=lambda z: z.__setitem__("x", z["left"] if z["x"] else 0),
        output_name="x",
        input_range=2,
        causal=True,
    )
    with pytest.raises(es.UndefinedError, match=r"input 2, position 0: .*selects no position"):
        es.generate_many(program, [[0], [0, 1, 1], [1, 0], [0]], max_tokens=4, max_layers=1)
