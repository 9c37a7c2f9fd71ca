import importlib
import itertools
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
import reference
from espalier import zoo
from espalier.language import Atom, Rule, program_spec, v_relative, var
from espalier.learnability import MinimalProgram
from mlp_inputs import seen_by_mlp
from rule_sets import rule_sets
from strategies import Case, cases


@given(cases(strict=True))
def test_it_keeps_exactly_the_rules_that_hold_and_does_the_same(case: Case) -> None:
    """Against the definition: run slowly, and ask of every rule whether it holds anywhere."""
    small = es.minimal(case.program, case.batch, max_layers=case.max_layers)
    seen = seen_by_mlp(case)
    held = [rule for rule in case.program.rules if holds_somewhere(rule, case, seen)]
    assert list(small.rules) == held
    assert len(small.rules) + len(small.dropped.rules) == len(case.program.rules)
    runs = es.interpret_many(case.program, case.batch, max_layers=case.max_layers)
    assert es.interpret_many(small, case.batch, max_layers=case.max_layers) == runs


def holds_somewhere(rule: Rule, case: Case, held: list[reference.Assignment]) -> bool:
    seen = (reference.seen_by_rules(case.program.specs, here) for here in held)
    return any(reference.holds(rule, here) for here in seen)


@given(st.one_of(cases(strict=True), rule_sets()))
@settings(max_examples=2 * settings().max_examples)
def test_with_constraints_it_is_definition_1_and_does_the_same(case: Case) -> None:
    """By brute force: every rule, condition and value is removed, and some output changes."""
    small = es.minimal(case.program, case.batch, constraints=True, max_layers=case.max_layers)
    runs = es.interpret_many(case.program, case.batch, max_layers=case.max_layers)
    assert es.interpret_many(small, case.batch, max_layers=case.max_layers) == runs
    data = seen_by_mlp(case)
    wanted = outputs(case, case.program.rules, data)
    assert outputs(case, small.rules, data) == wanted
    for fewer in itertools.chain(without_a_rule(small.rules), without_a_condition(small.rules)):
        assert outputs(case, fewer, data) != wanted
    # Whatever two rules do elsewhere, here at most one of a variable holds.
    assert "two rules" not in outputs(case, small.rules, data)


def outputs(case: Case, rules: Iterable[Rule], data: list[reference.Assignment]) -> list[object]:
    """f_R of B.1 for every assignment; what the interpreter refuses is an output of its own."""
    rules = list(rules)
    return [output(case, rules, here) for here in data]


def output(case: Case, rules: list[Rule], here: reference.Assignment) -> object:
    seen = reference.seen_by_rules(case.program.specs, here)
    if any(reference.undefined_reads(rule, seen) for rule in rules):
        return "undefined"
    try:
        return reference.apply_rules(rules, case.program.specs, here)
    except reference.TwoRulesError:
        return "two rules"


def without_a_rule(rules: Iterable[Rule]) -> Iterator[list[Rule]]:
    rules = list(rules)
    for number in range(len(rules)):
        yield rules[:number] + rules[number + 1 :]


def without_a_condition(rules: Iterable[Rule]) -> Iterator[list[Rule]]:
    """The rules with a condition less, or with a value of "x in S" less."""
    rules = list(rules)
    for number, rule in enumerate(rules):
        for atom in rule.antecedent:
            rest = [other for other in rule.antecedent if other != atom]
            options = [rest] if atom.variable != rule.output else []
            if len(atom.values) > 1:
                options += [
                    [*rest, Atom(atom.variable, tuple(v for v in atom.values if v != value))]
                    for value in atom.values
                ]
            for atoms in options:
                looser = Rule(atoms, rule.output, rule.old, rule.new)
                yield [*rules[:number], looser, *rules[number + 1 :]]


@pytest.mark.parametrize("constraints", [False, True])
def test_rule_counts_are_the_papers(constraints: bool) -> None:
    relative = zoo.load("parity-sequential-relative")
    assert len(_minimal(relative, ["1011"], constraints=constraints).rules) == 7
    counting = zoo.load("parity-sum-modulo", buckets=100)
    ones = ["1" * ones for ones in range(21)]
    assert len(_minimal(counting, ones, constraints=constraints).rules) == 31
    addition = zoo.load("addition")
    sums = [f"{a}+{b}" for a, b in itertools.product((*range(0, 100, 7), 99, 909, 999), repeat=2)]
    assert len(_minimal(addition, sums, constraints=constraints).rules) == 78  # the paper: 884


def test_what_went_is_said_with_the_reason(tmp_path) -> None:
    small = _minimal(zoo.load("parity-sequential-relative"), ["1011"], constraints=True)
    (lost,) = small.dropped.constraints
    assert str(lost) == (
        "parity_left = 1 of [parity: 0 -> 1 if done = 0, done_left = 1, parity_left = 1]: "
        "it never failed where the rest of what the rule keeps held"
    )
    assert str(small.rules[0]) == "parity: 0 -> 1 if done = 0, done_left = 1"
    assert small.dropped.to_frame().values.tolist() == [["condition", lost.what, lost.why]]
    small.dropped.save(tmp_path / "dropped.csv")
    assert (tmp_path / "dropped.csv").read_text().startswith("kind,what,why\ncondition,")
    assert "1 condition of rules that were not needed" in str(small)


def test_two_rules_that_hold_together_on_other_inputs_are_named_and_raised() -> None:
    program = program_spec(
        variables={
            "a": var(2, input_init_fn=lambda token: token),
            "b": var(2, position_init_fn=lambda position: position),
            "y": var(3),
        },
        rules=[Rule({"a": 1, "b": 0}, "y", 0, 1), Rule({"a": 0, "b": 1}, "y", 0, 2)],
        output_name="y",
        input_range=2,
        position_range=2,
    )
    small = es.minimal(program, [[1, 0], [0]], constraints=True, max_layers=1)
    assert [str(rule) for rule in small.rules] == ["y: 0 -> 1 if a = 1", "y: 0 -> 2 if b = 1"]
    assert small.clash == tuple(small.rules)
    assert "two rules can hold together" in str(small)
    more = es.minimal(program, [[1, 0], [0], [1, 1]], constraints=True, max_layers=1)
    assert more.clash is None
    with pytest.raises(es.ProgramError, match="2 rules of 'y' hold together"):
        es.interpret(small, [1, 1], max_layers=1)


def test_a_condition_that_keeps_a_rule_from_reading_a_null_stays() -> None:
    """Without `first = 0`, the first position would read `left`, which is null there."""
    program = program_spec(
        variables={
            "x": var(2, input_init_fn=lambda token: token),
            "first": var(2, position_init_fn=lambda position: position == 0),
            "y": var(2),
        },
        heads={"left": v_relative("x", -1)},
        rules=[Rule({"first": 0, "left": 1}, "y", 0, 1)],
        output_name="y",
        input_range=2,
        position_range=9,
    )
    small = es.minimal(program, [[1, 1, 0, 0]], constraints=True, max_layers=1)
    assert not small.dropped.constraints
    runs = es.interpret_many(program, [[1, 1, 0, 0]], max_layers=1)
    assert es.interpret_many(small, [[1, 1, 0, 0]], max_layers=1) == runs
    # To the weights null satisfies nothing, so they would not need the condition.
    verdict = es.local_optimum(program, [[1, 1, 0, 0]], max_layers=1)
    assert [str(atom) for _, atom in verdict.removable] == ["first = 0"]
    assert verdict.guards == verdict.removable
    assert str(verdict).endswith("\n  1 of them keep a rule from reading null")


def test_conditions_are_tried_from_the_last_to_the_first() -> None:
    """Either of two conditions that always agree would do; the first stays."""
    program = program_spec(
        variables={
            "a": var(2, input_init_fn=lambda token: token),
            "b": var(2, input_init_fn=lambda token: token),
            "y": var(2),
        },
        rules=[Rule({"a": 1, "b": 1}, "y", 0, 1)],
        output_name="y",
        input_range=2,
    )
    small = es.minimal(program, [[0, 1]], constraints=True, max_layers=1)
    assert small.rules[0].antecedent == (Atom("a", (1,)), Atom("y", (0,)))


def test_first_values_of_what_was_not_seen_are_the_defaults() -> None:
    entry = zoo.load("parity-sequential-absolute", positions=8)
    small = _minimal(entry, ["000", "00"])
    assert small.dropped.tokens == (1,)
    assert small.dropped.positions == (3, 4, 5, 6, 7)
    assert small.initial["parity"].table == (0, 0)
    assert small.initial["idx"].table == (0, 1, 2, 0, 0, 0, 0, 0)
    assert "1 token never seen, 5 positions never seen" in str(small)


def test_a_training_set_that_cannot_be_run_is_refused() -> None:
    program = zoo.load("parity-sequential-relative").program
    with pytest.raises(es.ProgramError, match="at least one input"):
        es.minimal(program, [])
    with pytest.raises(es.ProgramError, match="input 1: position 0 holds token 9"):
        es.minimal(program, [[2, 1], [9]])


def _minimal(entry: zoo.Entry, texts: list[str], *, constraints: bool = False) -> MinimalProgram:
    inputs = [entry.encode(text) for text in texts]
    return es.minimal(entry.program, inputs, constraints=constraints, max_layers=entry.max_layers)


@given(cases(strict=True), st.booleans(), st.integers(1, 3))
@settings(max_examples=settings().max_examples // 4, deadline=None)
def test_it_is_the_same_in_chunks_of_any_size(case: Case, constraints: bool, size: int) -> None:
    given_ = {"constraints": constraints, "max_layers": case.max_layers}
    whole = es.minimal(case.program, case.batch, **given_)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("espalier.learnability.minimal"), "CHUNK", size)
        parts = es.minimal(case.program, case.batch, **given_)
    assert parts.rules == whole.rules
    assert parts.dropped == whole.dropped


def test_it_is_the_same_by_processes(monkeypatch) -> None:
    entry = zoo.load("parity-sequential-relative")
    inputs = [entry.encode(text) for text in ("0", "11", "101")]
    module = importlib.import_module("espalier.learnability.minimal")
    monkeypatch.setattr(module, "CHUNK", 2)
    told: list[tuple[int, int]] = []
    here = es.minimal(
        entry.program, inputs, constraints=True, progress=lambda done, of: told.append((done, of))
    )
    assert told == [(2, 3), (3, 3)]
    there = es.minimal(
        entry.program,
        inputs,
        constraints=True,
        workers=2,
        progress=lambda done, of: told.append((done, of)),
    )
    assert there.dropped == here.dropped
    assert there.rules == here.rules
    assert len(told) == 4
    assert told[-1] == (3, 3)
