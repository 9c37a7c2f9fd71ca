import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.language import Atom, Rule
from espalier.language.conflicts import find_conflict
from reference import assignments, can_hold_together, holds
from strategies import programs, specs_and_rules


@given(specs_and_rules())
def test_two_rules_conflict_exactly_where_some_assignment_satisfies_both(specs_and_rules):
    specs, rules = specs_and_rules
    for one, other in itertools.combinations(rules, 2):
        together = one.output == other.output and can_hold_together(one, other, specs)
        assert (find_conflict([one, other]) is not None) == together


@given(specs_and_rules(), st.randoms(use_true_random=False))
def test_a_conflict_among_many_rules_is_found_and_is_one(specs_and_rules, random):
    specs, rules = specs_and_rules
    random.shuffle(rules)
    pairs = [
        {id(one), id(other)}
        for one, other in itertools.combinations(rules, 2)
        if one.output == other.output and can_hold_together(one, other, specs)
    ]
    found = find_conflict(rules)
    if not pairs:
        assert found is None
    else:
        assert {id(rule) for rule in found} in pairs


@given(programs())
def test_no_assignment_satisfies_two_rules_of_a_program(program):
    assert find_conflict(program.rules) is None
    for output in program.specs:
        rules = program.rules.of(output)
        names = {atom.variable for rule in rules for atom in rule.antecedent}
        few = {name: program.specs[name] for name in names}
        for seen in itertools.islice(assignments(few), 300):
            assert sum(holds(rule, seen) for rule in rules) <= 1


def test_rules_over_different_variables_meet_on_those_they_share():
    rules = [
        Rule({"a": 0, "b": 0}, "out", 0, 1),
        Rule({"b": 1, "c": 0}, "out", 0, 1),
        Rule({"a": 1, "c": 1}, "out", 0, 1),
    ]
    assert find_conflict(rules) is None
    clash = Rule({"c": 2}, "out", 0, 2)
    assert set(find_conflict([*rules, clash])) == {rules[0], clash}
    assert find_conflict([*rules, Rule({"c": 2}, "out", 1, 2)]) is None
    assert find_conflict([*rules, Rule({"c": 2}, "other", 0, 2)]) is None


def test_a_rule_with_no_condition_meets_every_other():
    rules = [Rule({"a": 1}, "out", 0, 1), Rule({}, "out", 0, 2)]
    assert set(find_conflict(rules)) == set(rules)


def test_the_same_rule_twice_is_a_conflict_but_a_rule_is_none_with_itself():
    rule = Rule([Atom("a", (1, 2, 1))], "out", 0, 1)
    assert find_conflict([rule]) is None
    assert find_conflict([rule, rule]) == (rule, rule)


def test_many_rules_are_compared_quickly():
    rules = [
        Rule({f"x{kind}": value, "mode": kind}, "out", 0, 1)
        for kind in range(40)
        for value in range(500)
    ]
    assert find_conflict(rules) is None
    clash = Rule({"x39": 499}, "out", 0, 2)
    assert clash in find_conflict([*rules, clash])


@given(specs_and_rules())
def test_parting_rules_by_a_common_variable_changes_nothing(specs_and_rules):
    _, rules = specs_and_rules
    together = find_conflict(rules) is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("espalier.language.conflicts.FEW", 0)
        assert (find_conflict(rules) is not None) == together


def test_many_shapes_under_one_variable_are_compared_quickly():
    rules = [Rule({"mode": n, f"x{n}": 0, f"y{n}": 1}, "out", 0, 1) for n in range(3000)]
    assert find_conflict(rules) is None
    assert find_conflict([*rules, Rule({"mode": 7}, "out", 0, 1)]) is not None
