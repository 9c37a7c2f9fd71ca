import itertools

import pytest
from hypothesis import given

from espalier.errors import ProgramError
from espalier.language import Rule, RuleBuilder, numerical_var, set_var, v_relative, var
from parity import sequential_absolute
from reference import apply_rules, assignments
from strategies import specs_and_function

VARIABLES = {
    "a": var(2),
    "b": var(3),
    "n": numerical_var((0, 0.5)),
    "s": set_var([{0}, {1}], 2),
    "out": var(4),
}


@pytest.fixture
def builder():
    return RuleBuilder(VARIABLES, {"h": v_relative("b", -1)})


def as_sets(rules):
    return [(set(rule.antecedent), rule.output, rule.old, rule.new) for rule in rules]


def test_the_paper_figure_6_gives_the_rules_of_the_function():
    program = sequential_absolute(4)
    builder = RuleBuilder(program.variables, program.heads)
    for done, done_left in builder.get("done", "done_left"):
        if not done and done_left:
            for left, parity in builder.get("parity_left", "parity"):
                builder.set("parity", left ^ parity)
            builder.set("done", 1)
    found = as_sets(builder.rules)
    assert len(found) == 3
    assert all(rule in found for rule in as_sets(program.rules.transitions))


def test_one_name_gives_bare_values_and_several_give_tuples(builder):
    assert list(builder.get("b")) == [0, 1, 2]
    assert list(builder.get("n")) == [0.0, 0.5]
    assert list(builder.get("a", "b")) == list(itertools.product((0, 1), (0, 1, 2)))
    assert list(builder.get("h")) == [0, 1, 2]


def test_a_set_under_loops_has_their_values_as_antecedent(builder):
    for b in builder.get("b"):
        for s, h in builder.get("s", "h"):
            if b == 2 and s == {1} and h == 0:
                builder.set("out", 3)
    expected = [Rule({"b": 2, "s": frozenset({1}), "h": 0}, "out", old, 3) for old in (0, 1, 2)]
    assert as_sets(builder.rules) == as_sets(expected)


def test_a_variable_in_scope_has_one_old_value(builder):
    for out in builder.get("out"):
        builder.set("out", (out + 1) % 4)
    assert as_sets(builder.rules) == as_sets(Rule({}, "out", n, (n + 1) % 4) for n in range(4))


def test_a_value_that_stays_needs_no_rule(builder):
    for out in builder.get("out"):
        builder.set("out", out)
    assert builder.rules == ()


def test_an_inner_loop_over_a_fixed_name_gives_its_one_value(builder):
    pairs = []
    for b in builder.get("b"):
        pairs += [(b, inner, a) for inner, a in builder.get("b", "a")]
    assert pairs == [(b, b, a) for b in range(3) for a in range(2)]


def test_a_name_asked_for_twice_has_one_value(builder):
    for one, other in builder.get("b", "b"):
        assert one == other
        assert builder.scope == {"b": one}


@given(specs_and_function())
def test_loops_over_everything_are_the_function(specs_and_function):
    specs, function = specs_and_function
    names = sorted(function.names())
    specs = {name: specs[name] for name in names}
    builder = RuleBuilder(specs)
    if names:
        for values in builder.get(*names):
            values = values if len(names) > 1 else (values,)
            after = dict(zip(names, values, strict=True))
            function(after)
            for name in names:
                builder.set(name, after[name])
    assert builder.scope == {}
    for seen in assignments(specs):
        after = dict(seen)
        function(after)
        assert apply_rules(builder.rules, specs, seen) == after


def test_breaking_out_of_a_loop_leaves_its_scope(builder):
    for _ in builder.get("a"):
        for _ in builder.get("b"):
            break
        assert set(builder.scope) == {"a"}
        break
    assert builder.scope == {}
    builder.set("out", 1)
    assert as_sets(builder.rules) == as_sets(Rule({}, "out", old, 1) for old in (0, 2, 3))


def test_returning_from_a_loop_leaves_its_scope(builder):
    def first_of_two():
        for a in builder.get("a"):
            for b in builder.get("b"):
                return a, b

    assert first_of_two() == (0, 0)
    assert builder.scope == {}


def test_an_exception_leaves_the_scope_even_while_it_is_kept(builder):
    def fail():
        for a in builder.get("a"):
            for b in builder.get("b"):
                raise LookupError(a, b)

    kept = None
    try:
        fail()
    except LookupError as error:
        kept = error
    assert kept.args == (0, 0)
    assert builder.scope == {}


def test_a_refused_set_leaves_the_scope(builder):
    def write_too_much():
        for _ in builder.get("a"):
            builder.set("out", 9)

    with pytest.raises(ProgramError, match="a = 0"):
        write_too_much()
    assert builder.scope == {}


def test_a_loop_that_was_given_a_name_and_left_early_leaves_its_scope(builder):
    values = builder.get("b")
    for _ in values:
        break
    assert builder.scope == {}


def test_a_loop_that_was_left_does_not_come_back_when_an_outer_one_continues(builder):
    kept, scopes = [], []
    for a in builder.get("a"):
        kept.append(builder.get("b"))
        for b in kept[-1]:
            if b == 1:
                break
        scopes.append((a, dict(builder.scope)))
    assert scopes == [(0, {"a": 0}), (1, {"a": 1})]
    assert builder.scope == {}


def test_a_loop_that_runs_out_leaves_its_scope(builder):
    for _ in builder.get("a"):
        for _ in builder.get("b"):
            assert set(builder.scope) == {"a", "b"}
        assert set(builder.scope) == {"a"}
    assert builder.scope == {}


@pytest.mark.parametrize(
    ("act", "culprits"),
    [
        (lambda b: b.get(), ["get"]),
        (lambda b: b.get("otu"), ["'otu'", "'out'"]),
        (lambda b: b.get("a", "otu"), ["'otu'", "'out'"]),
        (lambda b: b.get(3), ["3"]),
        (lambda b: b.set("otu", 1), ["'otu'", "'out'"]),
        (lambda b: b.set("h", 1), ["'h'"]),
        (lambda b: b.set("out", 4), ["'out'", "4"]),
        (lambda b: b.set("out", 1.0), ["'out'", "1.0"]),
        (lambda b: b.set("n", 0.25), ["'n'", "0.25"]),
        (lambda b: b.set("s", {0, 1}), ["'s'", "{0,1}"]),
    ],
)
def test_what_cannot_be_read_or_written_is_refused_at_once(builder, act, culprits):
    with pytest.raises(ProgramError) as caught:
        act(builder)
    assert [culprit for culprit in culprits if culprit not in str(caught.value)] == []
