import pytest
from hypothesis import given

import espalier as es
import reference
from espalier import zoo
from espalier.language import Rule
from strategies import Case, cases


@given(cases(strict=True))
def test_it_keeps_exactly_the_rules_that_hold_and_does_the_same(case: Case) -> None:
    """Against the definition: run slowly, and ask of every rule whether it holds anywhere."""
    small = es.minimal(case.program, case.batch, max_layers=case.max_layers)
    held = [rule for rule in case.program.rules if holds_somewhere(rule, case)]
    assert list(small.rules) == held
    assert len(small.rules) + len(small.dropped.rules) == len(case.program.rules)
    runs = es.interpret_many(case.program, case.batch, max_layers=case.max_layers)
    assert es.interpret_many(small, case.batch, max_layers=case.max_layers) == runs


def holds_somewhere(rule: Rule, case: Case) -> bool:
    return any(
        reference.holds(rule, reference.seen_by_rules(case.program.specs, here))
        for tokens in case.batch
        for states in reference.run_by_definition(
            case.program, tokens, max_layers=case.max_layers
        ).attended
        for here in states
    )


def test_rule_counts_are_the_papers() -> None:
    relative = zoo.load("parity-sequential-relative")
    assert len(_minimal(relative, ["1011"]).rules) == 7
    counting = zoo.load("parity-sum-modulo", buckets=100)
    assert len(_minimal(counting, ["1" * ones for ones in range(21)]).rules) == 31


def test_first_values_of_what_was_not_seen_are_the_defaults() -> None:
    entry = zoo.load("parity-sequential-absolute", positions=8)
    small = _minimal(entry, ["000", "00"])
    assert small.dropped.tokens == (1,)
    assert small.dropped.positions == (3, 4, 5, 6, 7)
    assert small.initial["parity"].table == (0, 0)
    assert small.initial["idx"].table == (0, 1, 2, 0, 0, 0, 0, 0)
    assert "1 tokens never seen, 5 positions never seen" in str(small)


def test_a_training_set_that_cannot_be_run_is_refused() -> None:
    program = zoo.load("parity-sequential-relative").program
    with pytest.raises(es.ProgramError, match="at least one input"):
        es.minimal(program, [])
    with pytest.raises(es.ProgramError, match="input 1: position 0 holds token 9"):
        es.minimal(program, [[2, 1], [9]])


def _minimal(entry: zoo.Entry, texts: list[str]) -> es.MinimalProgram:
    inputs = [entry.encode(text) for text in texts]
    return es.minimal(entry.program, inputs, max_layers=entry.max_layers)
