import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings

from espalier.errors import ProgramError
from espalier.interpreter import interpret, interpret_many
from espalier.language import (
    ByInput,
    ByPosition,
    Categorical,
    Constant,
    Rule,
    RuleSet,
    halt_spec,
    numerical_var,
    program_spec,
    qkv,
    v_relative,
    var,
)
from illformed import SPECS, enriched
from illformed_rules import MLPS
from strategies import blueprints, cases, programs

SPOILERS = SPECS | MLPS


@pytest.mark.parametrize("name", SPOILERS)
@settings(max_examples=4)
@given(blueprint=blueprints())
def test_a_spoilt_program_is_refused_and_the_culprit_named(name, blueprint):
    spoiler, blueprint = SPOILERS[name], enriched(blueprint)
    program_spec(**blueprint)
    with pytest.raises(ProgramError) as caught:
        spoiler.build(blueprint)
    assert [word for word in spoiler.culprits if word not in str(caught.value)] == []


@given(blueprints())
def test_init_functions_become_tables(blueprint):
    program = program_spec(**blueprint)
    for name, spec in blueprint["variables"].items():
        match program.initial[name]:
            case ByInput(table):
                expected = [spec.init.from_input(x) for x in range(program.input_range)]
                assert list(table) == expected
            case ByPosition(table):
                expected = [spec.init.from_position(x) for x in range(program.position_range)]
                assert list(table) == expected
            case Constant(value):
                assert (spec.init.from_input, spec.init.from_position) == (None, None)
                assert value == spec.init.default


@given(programs())
def test_every_value_of_every_head_has_one_reset(program):
    expected = {(name, value) for name in program.heads for value in program.specs[name].values}
    assert {(rule.output, rule.old) for rule in program.rules.resets} == expected
    assert len(program.rules.resets) == len(expected)
    assert len(program.rules) == len(program.rules.resets) + len(program.rules.transitions)
    for rule in program.rules.resets:
        assert [atom.variable for atom in rule.antecedent] == [rule.output]


@given(blueprints())
def test_rules_as_given_and_resets_given_by_hand_are_kept(blueprint):
    program = program_spec(**blueprint)
    bare = {key: value for key, value in blueprint.items() if key not in ("ffn_fn", "rules")}
    again = program_spec(**bare, rules=program.rules)
    assert again.rules == program.rules
    if "rules" in blueprint:
        assert set(program.rules.transitions) == set(blueprint["rules"])


@given(programs())
def test_a_program_is_data(program):
    assert pickle.loads(pickle.dumps(program)) == program


@given(programs())
def test_specs_are_the_variables_and_the_outputs_of_heads(program):
    assert list(program.specs) == [*program.variables, *program.heads]
    assert program.output == program.variables[program.output_name]
    assert isinstance(program.output, Categorical)


def test_numpy_integers_are_integers():
    number = np.int64
    program = program_spec(
        {"x": var(number(3), input_init_fn=lambda x: number(x)), "y": var(3, default=number(1))},
        {"h": v_relative("x", number(-1))},
        rules=[Rule({"x": number(2), "h": np.uint8(1)}, "y", number(1), number(0))],
        output_name="y",
        input_range=number(3),
        position_range=number(5),
        halt_spec=halt_spec("y", number(0)),
    )
    assert interpret(program, np.array([1, 2]), max_layers=number(1)).outputs == [1, 0]
    plain = [program.input_range, program.position_range, program.halt.value]
    plain += [v for rule in program.rules for atom in rule.antecedent for v in atom.values]
    plain += [v for rule in program.rules for v in (rule.old, rule.new) if v is not None]
    plain += [*program.initial["x"].table, program.initial["y"].value]
    assert {type(value) for value in plain} == {int}


def test_a_program_does_not_change_with_what_it_was_made_from():
    variables, heads = {"x": var(2)}, {"h": v_relative("x", 1)}
    program = program_spec(variables, heads, rules=[], output_name="x", input_range=1)
    variables["y"] = var(3)
    heads.clear()
    assert list(program.specs) == ["x", "h"]


def test_a_program_introduces_itself():
    program = program_spec(
        {"x": var(2), "n": numerical_var((0, 1))},
        {"h": qkv("x", "x", "n")},
        rules=[Rule({}, "x", 0, 1)],
        output_name="x",
        input_range=1,
        halt_spec=halt_spec("x"),
    )
    for word in ("3 rules", "2 resets", "x: categorical", "n: numerical", "h: head", "halts"):
        assert word in str(program)


@given(cases(strict=True))
def test_the_order_of_variables_heads_and_rules_means_nothing(case):
    program = case.program
    reversed_program = replace(
        program,
        variables=dict(reversed(program.variables.items())),
        heads=dict(reversed(program.heads.items())),
        rules=RuleSet(reversed(program.rules)),
        initial=dict(reversed(program.initial.items())),
    )
    expected = interpret_many(program, case.batch, max_layers=case.max_layers)
    assert interpret_many(reversed_program, case.batch, max_layers=case.max_layers) == expected


def test_rules_given_later_are_checked_too():
    program = program_spec({"x": var(3), "y": var(3)}, rules=[], output_name="y", input_range=2)
    clash = [Rule({"x": 1}, "y", 0, 1), Rule({"x": 1}, "y", 0, 2)]
    with pytest.raises(ProgramError, match="hold together"):
        program.with_rules(clash)
    assert len(program.with_rules(clash[:1]).rules) == 1
