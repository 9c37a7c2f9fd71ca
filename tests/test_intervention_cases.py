"""Interventions worked out by hand, in both machines; and those that are refused."""

from dataclasses import dataclass, field

import pytest

import espalier as es
from espalier.interventions import Copy, Cut, KnockOut, Mean, Set, settable
from espalier.language import (
    Rule,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    set_var,
    v_relative,
    var,
)

PARITY = es.zoo.load("parity-sequential-relative").program
START = [2, 1, 0, 1]

# A position passes on 2 and is then done: in a causal program it rests.
PASSING = program_spec(
    {"x": var(3, input_init_fn=lambda token: token), "done": var(2)},
    {"prev": v_relative("x", -1)},
    rules=[Rule({"prev": 2}, "x", 1, 2), Rule({"x": 2}, "done", 0, 1)],
    output_name="x",
    input_range=3,
    halt_spec=halt_spec("done"),
    causal=True,
)

# What all positions agree on, the mean of their numbers, and a number that is no bucket.
AGREEING = program_spec(
    {
        "x": var(2, input_init_fn=lambda token: token),
        "number": numerical_var([0, 1], input_init_fn=lambda token: token),
        "share": numerical_var([0, 1], default=0.25),
        "all": var(1),
        "seen": var(2),
        "half": var(2),
    },
    {
        "common": qkv("all", "all", "x"),
        "mean": qkv("all", "all", "number", output_spec=numerical_var([0, 0.5, 1])),
    },
    rules=[
        Rule({"common": 1}, "seen", 0, 1),
        Rule({"mean": 0.5}, "half", 0, 1),
        Rule({"seen": 1}, "share", 0, 1),
    ],
    output_name="seen",
    input_range=2,
)

# A head that can select one position only, as long as keys stay as they are.
POINTING = program_spec(
    {
        "place": var(3, position_init_fn=lambda position: position),
        "target": var(3, input_init_fn=lambda token: token),
        "x": var(3, input_init_fn=lambda token: token),
        "set": set_var([{0}, {1, 2}], 3, input_init_fn=lambda token: {0} if token else {1, 2}),
    },
    {"found": qkv("target", "place", "x"), "inside": qkv("set", "place", "x")},
    rules=[Rule({"found": 2}, "x", 0, 1), Rule({"inside": 1}, "x", 2, 0)],
    output_name="x",
    input_range=3,
    position_range=3,
)


@dataclass(frozen=True)
class Case:
    what: str
    program: es.language.Program
    tokens: list
    changes: list
    outputs: list
    layers: int
    max_layers: int | None = None
    idle: list = field(default_factory=list)


CASES = [
    Case(
        "halting set early",
        PARITY,
        START,
        [Set("done", layer=1, position=p, value=1) for p in (1, 2, 3)],
        [0, 1, 0, 1],
        1,
        idle=[Set("done", layer=1, position=1, value=1)],
    ),
    Case("set late", PARITY, START, [Set("done", layer=3, position=3, value=0)], [0, 1, 1, 1], 4),
    Case(
        "the later of two wins",
        PARITY,
        START,
        [Set("done", layer=3, position=3, value=v) for v in (0, 1)],
        [0, 1, 1, 0],
        3,
    ),
    Case(
        "halting null",
        PARITY,
        START,
        [Set("done", layer=1, position=0, value=None)],
        [0, 1, 1, 0],
        5,
        5,
    ),
    Case(
        "null is carried",
        PARITY,
        START,
        [Set("parity", layer=1, position=1, value=None)],
        [0, None, 0, 1],
        3,
    ),
    Case(
        "at the start",
        PARITY,
        START,
        [Set("parity", layer=0, position=0, value=1)],
        [1, 0, 0, 1],
        3,
    ),
    Case("a rule knocked out", PARITY, START, [KnockOut(rule=0, layer=2)], [0, 1, 0, 1], 3),
    Case(
        "by its label, elsewhere",
        PARITY,
        START,
        [KnockOut(unit="parity: 1 -> 0 if done = 0, done_left = 1, parity_left = 1", position=2)],
        [0, 1, 1, 0],
        3,
        idle=[
            KnockOut(unit="parity: 1 -> 0 if done = 0, done_left = 1, parity_left = 1", position=2)
        ],
    ),
    Case(
        "a head knocked out, then set",
        PARITY,
        START,
        [
            KnockOut(head="parity_left"),
            Set("parity_left", layer=2, position=2, value=1, sublayer="attention"),
        ],
        [0, 1, 1, 1],
        3,
    ),
    Case(
        "an edge cut", PARITY, START, [Cut("done_left", layer=1, query=1, key=0)], [0, 1, 1, 0], 4
    ),
    Case(
        "all as it was",
        PASSING,
        [2, 1, 1],
        [Set("x", layer=1, position=0, value=2)],
        [2, 2, 2],
        3,
        idle=[Set("x", layer=1, position=0, value=2)],
    ),
    Case(
        "set at rest",
        PASSING,
        [2, 1, 1],
        [Set("x", layer=2, position=0, value=1, sublayer="attention")],
        [1, 2, 2],
        3,
    ),
    Case(
        "a head set at rest",
        PASSING,
        [2, 1, 1],
        [Set("prev", layer=2, position=0, value=1, sublayer="attention")],
        [2, 2, 2],
        3,
    ),
    Case("woken", PASSING, [2, 1, 1], [Set("done", layer=1, position=0, value=0)], [2, 2, 2], 3),
    Case(
        "rest is decided before attention",
        PASSING,
        [2, 1, 1],
        [Set("done", layer=1, position=1, value=1, sublayer="attention")],
        [2, 2, 2],
        3,
    ),
    Case(
        "put to rest",
        PASSING,
        [2, 1, 1],
        [Set("done", layer=1, position=2, value=1)],
        [2, 2, 1],
        2,
    ),
    Case(
        "one null among equals",
        AGREEING,
        [1, 1, 1],
        [Set("x", layer=0, position=1, value=None)],
        [0, 0, 0],
        1,
        1,
    ),
    Case("fewer that agree", AGREEING, [1, 1, 0], [Cut("common", key=2)], [1, 1, 1], 1, 1),
    Case("for one query", AGREEING, [1, 1, 0], [Cut("common", query=0, key=2)], [1, 0, 0], 1, 1),
    Case("no edge left", AGREEING, [1, 1, 1], [Cut("common", query=0)], [0, 1, 1], 1, 1),
    Case("a mean of fewer", AGREEING, [1, 0, 0], [Cut("mean", layer=1, key=2)], [0, 0, 0], 1, 1),
    Case("a number that stays", AGREEING, [1, 1, 1], [KnockOut(rule=2)], [1, 1, 1], 2, 2),
    Case(
        "a number set",
        AGREEING,
        [1, 0],
        [Set("share", layer=0, position=0, value=0.25)],
        [0, 0],
        1,
        1,
        idle=[Set("share", layer=0, position=0, value=0.25)],
    ),
    Case(
        "a mean of runs",
        AGREEING,
        [0, 0],
        [Set("mean", layer=1, position=0, value=0.5, sublayer="attention")],
        [0, 0],
        1,
        1,
    ),
    Case(
        "two keys where there was one",
        POINTING,
        [0, 2, 0],
        [Set("place", layer=0, position=1, value=0)],
        [0, 2, 0],
        1,
        1,
    ),
    Case(
        "a null query",
        POINTING,
        [2, 0, 0],
        [Set("target", layer=0, position=1, value=None)],
        [2, 0, 1],
        1,
        1,
    ),
    Case(
        "a null set",
        POINTING,
        [1, 2, 0],
        [Set("set", layer=0, position=1, value=None)],
        [1, 2, 0],
        1,
        1,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.what)
def test_both_machines_do_what_was_worked_out(case: Case) -> None:
    options = {"max_layers": case.max_layers, "interventions": case.changes}
    model = es.compile_program(case.program)
    trace, run = (
        es.interpret(case.program, case.tokens, **options),
        model.run(case.tokens, **options),
    )
    for found in (trace, run):
        assert (found.outputs, found.layers) == (case.outputs, case.layers)
        assert list(found.idle) == case.idle
    found = es.verify(case.program, [case.tokens], model=model, **options)
    assert found.ok, str(found)


def test_a_mean_of_fewer_numbers_is_seen() -> None:
    trace = es.interpret(AGREEING, [1, 0, 0], max_layers=1, interventions=[Cut("mean", key=2)])
    assert trace.cache.variable("mean", "attention")[1].tolist() == [0.5, 0.5, 0.5]
    assert trace.cache.variable("half")[1].tolist() == [1, 1, 1]
    assert trace.cache.attention("mean")[1].tolist() == [[0.5, 0.5, 0]] * 3
    trace = es.interpret(AGREEING, [1, 1], max_layers=2, interventions=[KnockOut(rule=2)])
    assert trace.cache.variable("share").tolist() == [[0.25, 0.25]] * 3


def test_values_are_copied_and_averaged_from_runs_of_either_machine() -> None:
    model = es.compile_program(PARITY)
    sources = es.interpret(PARITY, [2, 1, 1, 1]), model.run([2, 1, 1, 1], cache=True)
    for source in sources:
        there = {"layer": 2, "position": 2}
        for change in (
            Copy("parity", source=source, **there),
            Copy("parity", source=source, layer=2, position=2, source_layer=0, source_position=0),
            Mean("parity", over=[source, source], **there),
        ):
            for machine in (es.interpret, lambda _, tokens, **rest: model.run(tokens, **rest)):
                assert machine(PARITY, START, interventions=[change]).outputs == [0, 1, 0, 1]
    differ = [es.interpret(PARITY, [2, 1, 1, 1]), es.interpret(PARITY, START)]
    change = Mean("parity", layer=2, position=2, over=differ)
    assert es.interpret(PARITY, START, interventions=[change]).outputs == [0, 1, None, 1]


REFUSED = [
    ([Set("party", layer=1, position=1, value=0)], "no variable 'party'; did you mean 'parity'"),
    ([Set("parity", layer=9, position=1, value=0)], "not reached: the run ended after 3 layers"),
    ([Set("parity", layer=-1, position=1, value=0)], "layers count from 1"),
    ([Set("parity", layer=0, position=1, value=0, sublayer="attention")], "layer 0 is the start"),
    ([Set("parity", layer=1, position=4, value=0)], r"position 4 is outside the input, .* 0\.\.3"),
    ([Set("parity", layer=1, position=1, value=2)], r"'parity' cannot be 2: .* 0\.\.1"),
    ([Set("parity", layer=1, position=1, value="x")], "'parity' cannot be 'x'"),
    ([Set("parity", layer=1, position=1, value=0, sublayer="ffn")], "'attention' or 'mlp'"),
    ([Set("parity_left", layer=1, position=1, value=0)], "give sublayer='attention'"),
    ([Cut("parity", layer=1, query=1, key=0)], "no head 'parity'; did you mean 'parity_left'"),
    ([Cut("parity_left", layer=1, query=1, key=2)], "no such edge.*never fire"),
    ([Cut("parity_left", layer=1, query=0)], "no such edge"),
    ([Cut("parity_left", layer=0, query=1)], "layers count from 1"),
    ([KnockOut(rule=7)], r"no rule 7; rules are numbered 0\.\.6"),
    ([KnockOut(rule=4)], "resets the output of head 'parity_left'"),
    ([KnockOut(head="left")], "no head 'left'"),
    ([KnockOut(unit="parity: 0 -> 1")], "no unit 'parity: 0 -> 1'; did you mean"),
    ([KnockOut()], "give one of rule, head and unit"),
    ([KnockOut(rule=0, head="parity_left")], "give one of rule, head and unit"),
    ([Mean("parity", layer=1, position=1, over=[])], "a mean over nothing"),
    ([Mean("parity", layer=1, position=1, over=[0, 9])], "position 9 is outside"),
    ([Copy("parity", layer=1, position=1, source=object())], "cannot be a source"),
    (
        [Copy("parity", layer=1, position=1, source=es.interpret(PARITY, [2]), source_layer=5)],
        "the source has no layer 5",
    ),
    ([[], []], "2 lists for 1 inputs"),
    (["parity"], "'parity' is no intervention"),
    ([[KnockOut(rule=0)], KnockOut(rule=0)], "lists and single interventions"),
]


@pytest.mark.parametrize(("changes", "why"), REFUSED, ids=lambda given: str(given)[:40])
def test_what_makes_no_sense_is_refused_by_both_machines(changes, why) -> None:
    model = es.compile_program(PARITY)
    for run in (
        lambda **rest: es.interpret(PARITY, START, **rest),
        lambda **rest: model.run(START, **rest),
    ):
        with pytest.raises(es.ProgramError, match=why):
            run(interventions=changes)


@pytest.mark.parametrize(
    ("program", "tokens", "change", "why"),
    [
        (PASSING, [2, 1], Cut("prev", query=0, key=1), "looks to the left only"),
        (
            AGREEING,
            [1],
            Set("number", layer=0, position=0, value=None),
            "distinguishes null from 0",
        ),
        (AGREEING, [1], Set("share", layer=0, position=0, value=0.4), "not one of the 2 declared"),
        (
            AGREEING,
            [1],
            Set("mean", layer=1, position=0, value=3, sublayer="attention"),
            "no mean of 'number'",
        ),
        (
            AGREEING,
            [1],
            Mean("mean", layer=1, position=0, over=[0], sublayer="attention"),
            "give runs",
        ),
        (AGREEING, [1], Set("x", layer=2, position=0, value=1), "not reached with max_layers=1"),
        (POINTING, [1], Set("set", layer=0, position=0, value={0, 1}), "not a declared set"),
    ],
)
def test_what_this_program_cannot_hold_is_refused(program, tokens, change, why) -> None:
    with pytest.raises(es.ProgramError, match=why):
        es.interpret(program, tokens, max_layers=1, interventions=[change])


def test_a_rule_that_can_never_hold_is_refused_unless_a_value_is_set_for_it() -> None:
    program = program_spec(
        {"x": var(3), "y": var(2)},
        rules=[Rule({"x": 2}, "y", 0, 1)],
        output_name="y",
        input_range=1,
    )
    with pytest.raises(es.ProgramError, match=r"can never fire: .* rule 0"):
        es.interpret(program, [0], max_layers=1, interventions=[KnockOut(rule=0)])
    changes = [KnockOut(rule=0), Set("x", layer=0, position=0, value=2)]
    assert es.interpret(program, [0], max_layers=1, interventions=changes).outputs == [0]


def test_values_that_can_be_set() -> None:
    assert settable(AGREEING, "mean") == (0.0, 0.5, 1.0, None)
    assert settable(AGREEING, "number") == (0.0, 1.0)
    assert settable(POINTING, "set") == (frozenset([0]), frozenset([1, 2]), None)


def test_a_run_says_what_touched_nothing() -> None:
    change = Set("parity", layer=1, position=2, value=0)
    model = es.compile_program(PARITY)
    trace = es.interpret(PARITY, START, interventions=[change])
    assert f"touched nothing: {change}" in str(trace)
    assert f"touched nothing: {change}" in str(model.run(START, interventions=[change]))


def test_units_are_named_and_not_written_out_beyond_reason() -> None:
    units = es.interpret(PARITY, START).cache.units
    assert units.at(2, 2) == {0: 1.0, 2: 1.0}
    assert units.to_frame().label[0] == units.label(2) == "done: 0 -> 1 if done_left = 1"
    huge = type(units)(PARITY, (10**4, 10**4, 10**4), *[units.layer] * 3, units.value)
    with pytest.raises(es.ProgramError, match="too many to write out"):
        huge.dense()


def test_a_head_that_carries_one_number_can_be_given_no_mean() -> None:
    program = program_spec(
        {"n": numerical_var([0, 1], input_init_fn=lambda token: token), "y": var(2)},
        {"left": v_relative("n", -1)},
        rules=[Rule({"left": 1.0}, "y", 0, 1)],
        output_name="y",
        input_range=2,
    )
    place = {"layer": 1, "position": 1, "sublayer": "attention"}
    changes = [Set("left", value=0.5, **place)]
    with pytest.raises(es.ProgramError, match=r"'left' cannot be 0.5: .* the nearest is 0.0"):
        es.interpret(program, [0, 0], max_layers=1, interventions=changes)
    model = es.compile_program(program)
    runs = [model.run([token, 0], max_layers=1, cache=True) for token in (0, 1)]
    change = Mean("left", over=runs, **place)
    assert es.verify(program, [[1, 1]], max_layers=1, interventions=[change]).ok
    assert es.interpret(program, [1, 1], max_layers=1, interventions=[change]).outputs == [0, 0]
