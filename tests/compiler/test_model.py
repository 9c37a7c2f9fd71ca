import pytest
import torch
from hypothesis import given, settings

import espalier as es
from espalier import zoo
from espalier.compiler import CompiledModel
from espalier.compiler.model import pad
from espalier.language import halt_spec, program_spec, v_relative, var
from espalier.language.batches import chunks
from strategies import Case, cases


def parity() -> CompiledModel:
    return es.compile_program(zoo.load("parity-sequential-relative").program)


def test_the_issue_as_a_user_would_type_it() -> None:
    def step(z):
        if z["done"] != 1 and z["done_left"] == 1:
            z["parity"] = z["parity_left"] ^ z["parity"]
            z["done"] = 1

    program = program_spec(
        variables={
            "parity": var(2, input_init_fn=lambda x: 0 if x == 2 else x),
            "done": var(2, input_init_fn=lambda x: x == 2),
        },
        heads={"parity_left": v_relative("parity", -1), "done_left": v_relative("done", -1)},
        ffn_fn=step,
        output_name="parity",
        input_range=3,
        position_range=None,
        halt_spec=halt_spec("done", halt_value=1),
    )
    trace, run = es.interpret(program, [2, 1, 0, 1]), es.compile_program(program).run([2, 1, 0, 1])
    assert trace.outputs == run.outputs == [0, 1, 1, 0]
    assert trace.layers == run.layers == 3
    assert len(program.rules) == 7


def test_forward_gives_logits_whose_argmax_is_the_output() -> None:
    model = parity()
    tokens = torch.tensor([[2, 1, 1, 1], [2, 1, 0, 0]])
    logits = model(tokens, torch.tensor([4, 2]))
    assert logits.shape == (2, 4, 2)
    assert logits[0].argmax(-1).tolist() == model.run([2, 1, 1, 1]).outputs
    assert logits[1, :2].argmax(-1).tolist() == model.run([2, 1]).outputs
    assert model(tokens).shape == (2, 4, 2)


def test_max_layers_means_exactly_that_many() -> None:
    model, program = parity(), zoo.load("parity-sequential-relative").program
    tokens = [2, 1, 1, 1, 1, 1]
    for layers in range(7):
        run = model.run(tokens, max_layers=layers)
        trace = es.interpret(program, tokens, max_layers=layers)
        assert (run.layers, run.outputs, run.halted) == (
            trace.layers,
            trace.outputs,
            trace.halted,
        )
        assert run.layers == min(layers, 5)


@given(cases(strict=None))
@settings(max_examples=30)
def test_a_batch_is_the_same_as_one_at_a_time_in_any_order(case: Case) -> None:
    model = es.compile_program(case.program)
    layers = case.max_layers or 4
    together = model.run_many(case.batch, max_layers=layers)
    backwards = model.run_many(case.batch[::-1], max_layers=layers)
    assert list(together) == [model.run(tokens, max_layers=layers) for tokens in case.batch]
    assert list(together) == list(backwards)[::-1]


def test_sequences_that_finish_early_are_dropped_without_a_trace() -> None:
    entry = zoo.load("parity-sequential-relative")
    batch = [entry.encode("1" * n) for n in (1, 90, 3, 3, 60, 2, 40, 1, 1)]
    runs = es.compile_program(entry.program).run_many(batch)
    assert runs == es.interpret_many(entry.program, batch)
    assert runs.layers == [1, 90, 3, 3, 60, 2, 40, 1, 1]


def test_an_empty_batch_is_no_runs() -> None:
    assert len(parity().run_many([])) == 0


def test_a_program_that_never_halts_is_found_out() -> None:
    program = program_spec(
        {"x": var(3), "done": var(2)},
        ffn_fn=lambda z: z.__setitem__("x", (z["x"] + 1) % 3),
        output_name="x",
        input_range=2,
        halt_spec=halt_spec("done"),
    )
    model = es.compile_program(program)
    with pytest.raises(es.ProgramError, match="never halts"):
        model.run([0, 1])
    with pytest.raises(es.ProgramError, match="never halts"):
        es.interpret(program, [0, 1])
    assert model.run([0, 1], max_layers=1500).layers == 1500


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ([], "empty"),
        ([3], "input_range"),
        ([-1], "input_range"),
        ([1.0], "integer"),
        ("101", "sequence of tokens"),
        (7, "sequence of tokens"),
    ],
)
def test_bad_input_is_refused_at_the_door(tokens: object, message: str) -> None:
    with pytest.raises(es.ProgramError, match=message):
        parity().run(tokens)


def test_the_refused_input_of_a_batch_is_named() -> None:
    with pytest.raises(es.ProgramError, match="input 2"):
        parity().run_many([[2, 1], [2], [5]])


def test_a_program_without_halting_needs_max_layers() -> None:
    entry = zoo.load("parity-sum-modulo")
    with pytest.raises(es.ProgramError, match="max_layers"):
        es.compile_program(entry.program).run(entry.encode("1"))


def test_a_model_is_not_rounded_into_a_narrower_type() -> None:
    with pytest.raises(es.CompileError, match="compile the program again"):
        parity().to(torch.bfloat16)
    wide = parity().double()
    assert wide.dtype == torch.float64
    assert wide.run([2, 1, 1]).outputs == [0, 1, 0]


def test_a_model_says_what_it_is() -> None:
    model = parity()
    assert "2 heads" in repr(model)
    assert "MLP width 7" in repr(model)
    assert model.labels[:2] == ["parity = 0", "parity = 1"]
    assert len(model.unit_labels) == len(model.weights.feedforward.b1)


def test_padding_and_chunks_lose_nothing() -> None:
    sequences = [[1] * n for n in (3, 1, 4000, 9, 2)] + [[0] * 30] * 4000
    numbers = [number for chunk in chunks(sequences) for number in chunk]
    assert sorted(numbers) == list(range(len(sequences)))
    tokens, lengths = pad([[1, 2], [3]], torch.device("cpu"))
    assert tokens.tolist() == [[1, 2], [3, 0]]
    assert lengths.tolist() == [2, 1]
