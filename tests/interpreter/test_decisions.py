"""A program that is run from its function means what it means with rules."""

import pickle
import random
import re
from functools import partial
from importlib import import_module

import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from dice import Dice
from espalier import zoo
from espalier.errors import ProgramError, UndefinedError
from espalier.interpreter import Machine, decisions, interpret, interpret_many
from espalier.language import Program, program_spec, qkv, v_relative, var
from espalier.language.lazy import LazyRules
from espalier.language.records import from_record, to_record
from espalier.programs.generation import ask
from meaning import assert_means_the_same
from reference import UndefinedReadError, run_by_definition
from strategies import CLOCK, Case, random_blueprint, random_input


@st.composite
def lazy_and_explored(draw, strict: bool | None = None):
    """A program from a function, with rules and without, a batch, and a number of layers."""
    dice = Dice(draw)
    blueprint = random_blueprint(dice, strict=strict, function=True)
    explored, lazy = program_spec(**blueprint), program_spec(**blueprint, rules="lazy")
    batch = [random_input(dice, explored) for _ in range(dice.number(1, 4))]
    halts = explored.halt is not None and explored.halt.variable == CLOCK
    return lazy, explored, batch, None if halts and dice.chance(70) else dice.number(0, 5)


def is_explored(program) -> bool:
    return "_rules" in vars(program.rules)


@given(lazy_and_explored())
def test_a_lenient_machine_is_the_definition(made):
    lazy, _, batch, max_layers = made
    assert_means_the_same(Case(lazy, batch, max_layers), strict=False)


@given(lazy_and_explored(strict=True))
def test_the_same_traces(made):
    lazy, explored, batch, max_layers = made
    for tokens in batch:
        ours = interpret(lazy, tokens, max_layers=max_layers)
        theirs = interpret(explored, tokens, max_layers=max_layers)
        assert (ours.outputs, ours.layers, ours.moments) == (
            theirs.outputs,
            theirs.layers,
            theirs.moments,
        )
    assert not is_explored(lazy)
    runs = [interpret_many(p, batch, max_layers=max_layers) for p in (lazy, explored)]
    assert runs[0] == runs[1]


@given(lazy_and_explored(strict=False))
def test_the_same_refusals(made):
    lazy, explored, batch, max_layers = made
    for tokens in batch:
        try:
            run_by_definition(explored, tokens, max_layers=max_layers)
        except UndefinedReadError as error:
            expected = error
        else:
            interpret(lazy, tokens, max_layers=max_layers)
            continue
        with pytest.raises(UndefinedError) as caught:
            interpret(lazy, tokens, max_layers=max_layers)
        found = re.match(r"layer (\d+), input 0, position (\d+): .*? '(\w+)'", str(caught.value))
        assert int(found[1]) == expected.layer
        assert (int(found[2]), found[3]) in expected.places


@given(lazy_and_explored())
def test_what_is_forgotten_is_asked_again(made):
    lazy, _, batch, max_layers = made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(decisions, "MOST", 2)
        assert_means_the_same(Case(lazy, batch, max_layers), strict=False)


@given(lazy_and_explored())
def test_rules_are_there_for_who_needs_them(made):
    lazy, explored, batch, max_layers = made
    assert "not explored" in str(lazy)
    assert "not explored" in repr(lazy.rules)
    assert not is_explored(lazy)
    assert lazy.rules == explored.rules
    assert "not explored" not in str(lazy) + repr(lazy.rules)
    assert lazy.merged() == explored.merged()
    assert from_record(to_record(lazy)) == explored
    machine = Machine(lazy, strict=False, record_rules=True)
    other = Machine(explored, strict=False, record_rules=True)
    for one in (machine, other):
        one.run(one.start(batch), max_layers=max_layers)
    assert machine.satisfied.tolist() == other.satisfied.tolist()


def wide(size: int) -> Program:
    """Thirty counters that all depend on each other: no one could follow all paths."""
    names = [f"x{place}" for place in range(30)]

    def step(z):
        total = sum(z[name] for name in names) % size
        for name in names:
            z[name] = (z[name] + total) % size

    return program_spec(
        {
            name: var(size, input_init_fn=lambda t, n=n: (t + n) % size)
            for n, name in enumerate(names)
        },
        {"left": v_relative("x0", -1)},
        ffn_fn=step,
        rules="lazy",
        output_name="x3",
        input_range=5,
    )


def test_a_function_that_cannot_be_explored_is_run_and_says_so_where_rules_are_needed(tmp_path):
    program = wide(7)
    values = [[(t + n) % 7 for n in range(30)] for t in (0, 4, 2)]
    for _ in range(3):
        values = [[(x + sum(row)) % 7 for x in row] for row in values]
    assert interpret(program, [0, 4, 2], max_layers=3).outputs == [row[3] for row in values]
    for needs_rules in (
        lambda: es.compile_program(program),
        lambda: es.verify(program, [[1]], max_layers=1),
        lambda: to_record(program),
    ):
        with pytest.raises(ProgramError, match="max_paths"):
            needs_rules()


def step_of_parity(z):
    z["y"] = z["x"] ^ z["y"]


def test_a_lazy_program_compiles_verifies_and_travels():
    program = program_spec(
        {"x": var(2, input_init_fn=int), "y": var(2)},
        ffn_fn=step_of_parity,
        rules="lazy",
        output_name="y",
        input_range=2,
    )
    copied = pickle.loads(pickle.dumps(program))
    assert isinstance(copied.rules, LazyRules)
    assert es.verify(copied, [[0, 1, 1]], max_layers=3).ok
    model = es.compile_program(program)
    assert (
        model.run([0, 1], max_layers=3).outputs == interpret(copied, [0, 1], max_layers=3).outputs
    )


COIN = random.Random(1)


def of_x(ffn_fn, **more):
    return program_spec(
        {"x": var(3, input_init_fn=int), "y": var(3)},
        {"left": v_relative("x", -1)},
        ffn_fn=ffn_fn,
        rules="lazy",
        output_name="y",
        input_range=3,
        **more,
    )


@pytest.mark.parametrize(
    ("function", "match"),
    [
        (lambda z: z.update(y=z["x"] + 1), "layer 1, input 0, position 1: .*'y'.*where x = 2"),
        (lambda z: z.update(y=1 // (2 - z["x"])), "position 1: ffn_fn raised ZeroDivisionError"),
        (lambda z: z.update(y=z["xx"]), "position 0: ffn_fn reads 'xx'"),
        (lambda z: z.update(left=0), "position 0: ffn_fn writes 'left', the output of a head"),
        (lambda z: z.update(y=COIN.randrange(3)), "does not repeat itself"),
        (lambda z: {"y": 1}, "returned a dict"),
        (lambda z: (yield), "generator"),
    ],
)
def test_what_is_not_a_function_of_the_variables_is_refused_where_it_is_met(function, match):
    with pytest.raises(ProgramError, match=match):
        interpret_many(of_x(function), [[0, 2, 1]] * 9, max_layers=2)


def test_a_null_that_decides_nothing_may_be_read():
    def harmless(z):
        z["left"]
        z["y"] = z["x"]

    def swallowing(z):
        try:
            z["y"] = z["left"]
        except BaseException:
            z["y"] = 1

    assert interpret(of_x(harmless), [2, 1], max_layers=1).outputs == [2, 1]
    for function in (swallowing, lambda z: z.update(y=z["left"])):
        with pytest.raises(UndefinedError, match="position 0: a rule reads 'left'"):
            interpret(of_x(function), [2, 1], max_layers=1)


def test_a_refusal_counts_what_the_head_selects_among_all_positions():
    def copy(z):
        if z["x"] == 1:
            z["y"] = z["next"]

    program = program_spec(
        {"x": var(3, input_init_fn=int), "y": var(3)},
        {"next": qkv("y", "y", "x", {0, 1, 2})},
        ffn_fn=copy,
        rules="lazy",
        output_name="y",
        input_range=3,
    )
    with pytest.raises(UndefinedError, match=r"position 1: .* selects 2 positions with different"):
        interpret(program, [0, 1, 2], max_layers=1)


def test_lazy_needs_a_function():
    with pytest.raises(ProgramError, match="neither"):
        of_x(None)
    with pytest.raises(ProgramError, match="must be a function"):
        of_x(3)


@pytest.mark.parametrize(
    "name",
    [
        "parity-sequential-absolute",
        "parity-sequential-relative",
        "parity-sum-modulo",
        "parity-scratchpad",
        "scan",
    ],
)
def test_the_zoo_from_its_functions(name, monkeypatch):
    explored = zoo.load(name)
    for found in ("parity", "parity_scratchpad", "scan"):
        module = import_module(f"espalier.zoo.{found}")
        monkeypatch.setattr(module, "program_spec", partial(program_spec, rules="lazy"))
    lazy = zoo.load(name)
    inputs = explored.samples(12, size=12 if explored.writing is None else 5)
    assert ask(lazy, inputs) == ask(explored, inputs)
    assert not is_explored(lazy.program)
    assert explored.program == lazy.program
