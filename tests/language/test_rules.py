import itertools

import pytest
from hypothesis import given

from espalier.errors import ProgramError
from espalier.language import Atom, Rule, RuleBuilder, RuleSet, program_spec, v_relative, var
from reference import assignments, holds
from strategies import specs_and_rules


@given(specs_and_rules())
def test_a_rule_holds_where_every_atom_does(specs_and_rules):
    specs, rules = specs_and_rules
    for rule in rules[:2]:
        few = {atom.variable: specs[atom.variable] for atom in rule.antecedent}
        for seen in assignments(few, nullable=few):
            assert rule.holds(seen) == holds(rule, seen)


def test_the_antecedent_always_has_the_old_value():
    rule = Rule({"b": 1}, "a", 0, 2)
    assert set(rule.antecedent) == {Atom("b", (1,)), Atom("a", (0,))}
    assert set(Rule({"a": 0, "b": 1}, "a", 0, 2).antecedent) == set(rule.antecedent)


def test_antecedents_may_be_written_in_many_ways():
    mapping = Rule({"a": 0, "b": 1}, "a", 0, 2)
    pairs = Rule([("a", 0), ("b", 1)], "a", 0, 2)
    atoms = Rule([Atom("a", (0,)), Atom("b", (1,))], "a", 0, 2)
    assert mapping == pairs == atoms
    assert len({mapping, pairs, atoms}) == 1


def test_a_rule_says_what_it_does():
    assert str(Rule({"b": 1, "c": frozenset({2, 0})}, "a", 0, 2)) == "a: 0 -> 2 if b = 1, c = {0,2}"
    assert str(Rule({}, "a", 0.5, None)) == "a: 0.5 -> ∅"
    assert str(Atom("b", (1, 2))) == "b in 1, 2"


RULES = RuleSet(
    [Rule({}, "a", 0, 1), Rule({}, "h", 0, None), Rule({}, "b", 1, 0), Rule({}, "h", 1, None)]
)


def test_a_rule_set_is_a_sequence():
    assert len(RULES) == 4
    assert RULES[1] == Rule({}, "h", 0, None)
    assert list(RULES[1:3]) == [RULES[1], RULES[2]]
    assert isinstance(RULES[1:], RuleSet)
    assert list(RULES) == RULES
    assert RuleSet(list(RULES)) == RULES
    assert hash(RuleSet(list(RULES))) == hash(RULES)
    assert RULES[:2] != RULES


def test_resets_and_transitions_share_the_rules_out():
    assert RULES.resets.of("h") == RULES.resets == [RULES[1], RULES[3]]
    assert RULES.transitions == [RULES[0], RULES[2]]
    assert [rule.is_reset for rule in RULES] == [False, True, False, True]
    assert RULES.of("a") == [RULES[0]]


def test_a_long_rule_set_shows_its_beginning():
    rules = RuleSet(Rule({}, "a", n, n + 1) for n in range(1000))
    assert "a: 0 -> 1" in repr(rules)
    assert "990 more" in repr(rules)
    assert len(repr(rules)) < 2000


def make(rules):
    return program_spec(
        {"a": var(3), "b": var(2)},
        {"h": v_relative("b", -1)},
        rules=rules,
        output_name="a",
        input_range=1,
    )


def test_rules_come_from_a_list_an_iterator_a_rule_set_or_a_builder():
    rule = Rule({"b": 1}, "a", 0, 2)
    builder = RuleBuilder({"a": var(3), "b": var(2)}, {"h": v_relative("b", -1)})
    for b, a in builder.get("b", "a"):
        if (b, a) == (1, 0):
            builder.set("a", 2)
    programs = [make([rule]), make(iter([rule])), make(RuleSet([rule])), make(builder)]
    for one, other in itertools.pairwise(programs):
        assert one.rules == other.rules


@pytest.mark.parametrize("rules", ["a", 3, [3], [("a", 0, 1)], [None]], ids=repr)
def test_what_is_not_a_rule_is_refused(rules):
    with pytest.raises(ProgramError, match="rule"):
        make(rules)
