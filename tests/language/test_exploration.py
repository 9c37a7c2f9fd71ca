import itertools
import math
import warnings

import numpy as np
import pytest
from hypothesis import given

from espalier.errors import ProgramError
from espalier.language import (
    ExplorationWarning,
    Rule,
    estimate_paths,
    exploration,
    numerical_var,
    set_var,
    var,
)
from espalier.language.exploration import explore
from espalier.language.rounds import RUNS_OF_A_PATH
from reference import apply_function, apply_rules, assignments, can_hold_together
from strategies import specs_and_function

FEW = {
    "a": var(2),
    "b": var(3),
    "n": numerical_var((0, 1)),
    "s": set_var([{0}, {0, 1}]),
    "out": var(4),
}


@given(specs_and_function())
def test_the_rules_do_what_the_function_does_to_every_assignment(specs_and_function):
    specs, function = specs_and_function
    rules = explore(function, specs)
    names = function.names()
    few = {name: spec for name, spec in specs.items() if name in names}
    for seen in assignments(few):
        assert apply_rules(rules, few, seen) == apply_function(function, seen)


@given(specs_and_function())
def test_explored_rules_never_hold_together_and_always_change_something(specs_and_function):
    specs, function = specs_and_function
    rules = explore(function, specs)
    assert all(rule.old != rule.new for rule in rules)
    for one, other in itertools.combinations(rules[:40], 2):
        assert one.output != other.output or not can_hold_together(one, other, specs)


@given(specs_and_function())
def test_there_are_never_more_rules_than_assignments(specs_and_function):
    specs, function = specs_and_function
    rules = explore(function, specs)
    every = math.prod(len(specs[name].values) for name in function.names())
    for output in specs:
        assert sum(rule.output == output for rule in rules) <= every


def antecedents(rules, output="out"):
    return {atom.variable for rule in rules if rule.output == output for atom in rule.antecedent}


def test_what_is_read_but_decides_nothing_disappears():
    def function(z):
        everything = dict(z)
        z["out"] = 3 if everything["a"] else z["out"]
        z["b"] = 2

    rules = explore(function, FEW)
    assert antecedents(rules) == {"a", "out"}
    assert antecedents(rules, "b") == {"b"}
    assert len(rules) == 3 + 2


def test_only_paths_that_are_taken_are_followed():
    many = {f"x{number}": var(1000) for number in range(30)} | {"out": var(2)}
    calls = itertools.count()

    def function(z):
        next(calls)
        if all(z[name] == 7 for name in many if name != "out"):
            z["out"] = 1

    rules = explore(function, many, max_paths=30_000)
    assert rules == [Rule({name: 7 for name in many if name != "out"}, "out", 0, 1)]
    assert next(calls) < (RUNS_OF_A_PATH + 1) * 30_000  # counting, it could be a coin


def test_a_value_that_was_written_reads_as_written():
    def function(z):
        z["a"] = 1
        z["out"] = 2 + z["a"]

    rules = explore(function, FEW)
    assert {(rule.output, rule.old, rule.new) for rule in rules} == {
        ("a", 0, 1),
        ("out", 0, 3),
        ("out", 1, 3),
        ("out", 2, 3),
    }
    assert antecedents(rules) == {"out"}


def test_the_last_write_counts():
    def function(z):
        z["out"] = 1
        z["out"] = z["b"]

    for seen in assignments(FEW):
        assert apply_rules(explore(function, FEW), FEW, seen)["out"] == seen["b"]


def test_writing_what_is_there_needs_no_rule():
    assert explore(lambda z: z.update(z), FEW) == []
    assert explore(lambda z: None, FEW) == []


def test_the_view_is_a_mapping():
    found = {}

    def function(z):
        found.update(names=list(z), size=len(z), known="a" in z, unknown="x" in z, b=z.get("b"))

    explore(function, FEW)
    assert found.pop("b") in FEW["b"].values
    assert found == {"names": list(FEW), "size": 5, "known": True, "unknown": False}


def test_values_read_are_plain_and_values_written_become_plain():
    seen = set()

    def function(z):
        seen.update(type(z[name]) for name in z)
        z["out"] = np.int64(z["b"])
        z["a"] = z["b"] > 1
        z["n"] = np.float32(z["a"])
        z["s"] = {0}

    rules = explore(function, FEW)
    assert seen == {int, float, frozenset}
    kinds = {"out": int, "a": int, "n": float, "s": frozenset}
    assert {rule.output for rule in rules} == set(kinds)
    for rule in rules:
        assert (type(rule.old), type(rule.new)) == (kinds[rule.output],) * 2


def test_equal_numbers_of_two_kinds_of_variable_keep_their_kinds():
    for first, second in (("a", "n"), ("n", "a")):

        def function(z, first=first, second=second):
            if z["b"] == 1:
                z[first] = z[second] = 1

        kinds = {rule.output: type(rule.new) for rule in explore(function, FEW)}
        assert kinds == {"a": int, "n": float}


@pytest.mark.parametrize("names", [(), ("a",), ("a", "b"), ("a", "b", "s", "out"), ("b", "b")])
def test_the_number_of_paths_of_a_regular_function_is_known_exactly(names):
    estimate = estimate_paths(lambda z: [z[name] for name in names], FEW)
    assert estimate.paths == math.prod(len(FEW[name].values) for name in set(names))


def test_the_limit_is_the_number_of_paths():
    def function(z):
        z["out"] = z["b"] + z["a"]

    assert len(explore(function, FEW, max_paths=6)) == len(explore(function, FEW))
    for limit in (5, 1, 0):
        with pytest.raises(ProgramError, match=r"'[ab]'"):
            explore(function, FEW, max_paths=limit)


def test_an_explosion_is_refused_before_it_happens_and_the_multiplier_named():
    many = {f"x{number}": var(3) for number in range(40)} | {"huge": var(500), "out": var(2)}
    calls = itertools.count()

    def function(z):
        next(calls)
        z["out"] = sum(z[name] for name in z) % 2

    with pytest.raises(ProgramError, match=r"'huge'.* 500.*max_paths"):
        explore(function, many)
    assert next(calls) < 1000


def test_the_multiplier_is_named_even_where_it_hides_behind_a_rare_value():
    many = {f"x{number}": var(10) for number in range(9)} | {"gate": var(1000), "out": var(2)}

    def function(z):
        if z["gate"] == 998:
            z["out"] = sum(z[f"x{number}"] for number in range(9)) % 2

    with pytest.raises(ProgramError, match=r"'x\d' multiplies"):
        explore(function, many, max_paths=2000)


def test_many_paths_are_announced():
    def function(z):
        z["out"] = z["b"] + z["a"]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploration, "WARN_ABOVE", 5)
        patch.setattr(exploration, "FEW_PATHS", 0)
        patch.setattr(exploration, "_sliced", lambda *_: None)
        with pytest.warns(ExplorationWarning, match=r"6 paths.*'b'"):
            explore(function, FEW)


def explored(function):
    """The rules, or the words of the refusal."""
    try:
        return explore(function, FEW)
    except ProgramError as error:
        return str(error)


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")], ids=str)
def test_a_function_that_changes_its_mind_is_never_explored_as_a_mix_of_both(order):
    """After some calls it no longer reads `b` and writes `out`, wherever in the search that is.

    Between two values of `a` this looks like a function that only looks at `b` under `a` = 0.
    """
    always = explore(lambda z: z.update(out=z["b"]), FEW)
    at_first = explore(lambda z: z["a"] or z.update(out=z["b"]), FEW)
    for allowed in range(90):
        calls = itertools.count()

        def function(z, calls=calls, allowed=allowed):
            changed = next(calls) >= allowed
            for name in order:
                if name == "a" or not changed:
                    z[name]
            if not changed:
                z["out"] = z["b"]

        found = explored(function)
        if isinstance(found, str):
            assert "repeat" in found
        else:
            assert found in ([], always, at_first)


def test_an_error_of_the_function_is_the_cause():
    def function(z):
        if z["b"] == 2:
            return 1 // 0
        return None

    with pytest.raises(ProgramError, match=r"ZeroDivisionError.*b = 2") as caught:
        explore(function, FEW)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_a_read_only_variable_can_be_read_but_not_written():
    def copy(z):
        z["out"] = z["b"]

    assert antecedents(explore(copy, FEW, read_only=frozenset({"b"}))) == {"b", "out"}
    with pytest.raises(ProgramError, match="'out'"):
        explore(copy, FEW, read_only=frozenset({"out"}))


def test_a_function_that_counts_its_calls_is_refused():
    calls = itertools.count()

    def function(z):
        z["b"]
        z["out"] = next(calls) % 2

    with pytest.raises(ProgramError, match="does not repeat itself"):
        explore(function, FEW)


def test_a_generator_or_a_coroutine_is_refused():
    def generator(z):
        z["out"] = 1
        yield

    async def coroutine(z):
        z["out"] = 1

    async def both(z):
        z["out"] = 1
        yield

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of a coroutine that nobody waits for
        for function in (generator, coroutine, both):
            with pytest.raises(ProgramError, match="generator"):
                explore(function, FEW)


def test_few_paths_that_make_many_rules_are_refused():
    wide = {"a": var(40), "b": var(40)}
    assert len(explore(lambda z: z.update(b=z["a"]), wide)) == 40 * 39
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(exploration, "MOST_RULES", 1000)
        with pytest.raises(ProgramError, match="more than 1,000 rules by 'b'"):
            explore(lambda z: z.update(b=z["a"]), wide)
