import copy
import gc
import math
import weakref
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

from espalier.errors import ProgramError
from espalier.interpreter import Machine, interpret, tables
from espalier.interpreter.batch import NULL
from espalier.interpreter.tables import NO_RULE, UNDEFINED, Tables, tabulate
from espalier.language import Atom, Program, Rule, RuleSet, program_spec, var
from reference import assignments, holds, undefined_reads
from strategies import cases, programs

MOST_ASSIGNMENTS = 3000


def expected_answer(program: Program, output: str, seen) -> int:
    """What the rules of `output` say, one by one: a new code, else undefined, else nothing."""
    answers = {NO_RULE}
    for rule in program.rules.of(output):
        if holds(rule, seen):
            values = program.specs[output].values
            answers.add(NULL if rule.new is None else values.index(rule.new))
        elif undefined_reads(rule, seen):
            answers.add(UNDEFINED)
    return max(answers)


def assert_tables_answer_as_the_rules(program: Program) -> None:
    found = tabulate(program)
    assert set(found) == {rule.output for rule in program.rules}
    for output, its_tables in found.items():
        names = {a.variable for rule in program.rules.of(output) for a in rule.antecedent}
        specs = {name: program.specs[name] for name in program.specs if name in names}
        if math.prod(len(spec.values) + 1 for spec in specs.values()) > MOST_ASSIGNMENTS:
            continue
        every = list(assignments(specs, nullable=program.heads))
        codes = {
            name: np.array([_code(spec, seen[name]) for seen in every])
            for name, spec in specs.items()
        }
        nulls = {name: column < 0 for name, column in codes.items() if (column < 0).any()}
        codes = {name: np.maximum(column, 0) for name, column in codes.items()}
        answers = np.max([table.look_up(codes, nulls) for table in its_tables], axis=0)
        assert answers.tolist() == [expected_answer(program, output, seen) for seen in every]


def _code(spec, value) -> int:
    return NULL if value is None else spec.values.index(value)


@given(programs())
def test_tables_answer_as_the_rules_do_one_by_one(program):
    assert_tables_answer_as_the_rules(program)
    assert_tables_answer_as_the_rules(program.merged())


@given(programs())
def test_sparse_tables_answer_as_dense_ones(program):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "DENSE_LIMIT", 0)
        assert_tables_answer_as_the_rules(program)
        patch.setattr(tables, "STAGE_LIMIT", 4)
        assert_tables_answer_as_the_rules(program)


@pytest.mark.parametrize("base", [1000, 1001], ids=["codes", "codes and null"])
def test_assignments_far_apart_are_never_taken_for_each_other(base):
    # Read as the digits of one number, these two assignments differ by exactly 2**64.
    digits = [2**64 // base**place % base for place in range(7)]
    program = program_spec(
        {
            f"x{place}": var(1000, input_init_fn=lambda token, digit=digit: token * digit)
            for place, digit in reversed(list(enumerate(digits)))
        }
        | {"out": var(2)},
        rules=[Rule({f"x{place}": 0 for place in range(7)}, "out", 0, 1)],
        output_name="out",
        input_range=2,
    )
    assert interpret(program, [0, 1], max_layers=1).outputs == [1, 0]


def test_rules_over_the_same_variables_that_hold_together_are_met() -> None:
    """`program_spec` refuses such rules, but a loosened program may have them."""
    program = program_spec(
        variables={"x": var(3, input_init_fn=lambda token: token), "y": var(3)},
        rules=[],
        output_name="y",
        input_range=3,
    )
    rules = [Rule([Atom("x", (0, 1))], "y", 0, 1), Rule([Atom("x", (1, 2))], "y", 0, 2)]
    clashing = replace(program, rules=RuleSet(rules))
    assert interpret(clashing, [0, 2], max_layers=1).outputs == [1, 2]
    with pytest.raises(ProgramError, match="2 rules of 'y' hold together"):
        interpret(clashing, [1], max_layers=1)


@given(cases())
def test_tables_are_made_once_however_many_threads_run_the_program(case) -> None:
    def run(_: int) -> object:
        machine = Machine(case.program, strict=False)
        return machine.run(machine.start(case.batch), max_layers=case.max_layers)

    with ThreadPoolExecutor(4) as threads:
        runs = list(threads.map(run, range(8)))
    fresh = replace(case.program)
    machine = Machine(fresh, strict=False)
    assert runs == [machine.run(machine.start(case.batch), max_layers=case.max_layers)] * 8
    assert case.program.derived(Tables.of) is case.program.derived(Tables.of)
    assert case.program == fresh


def test_tables_go_with_their_program_and_are_not_part_of_its_copies() -> None:
    program = program_spec(
        {"x": var(3, input_init_fn=int)},
        rules=[Rule({}, "x", 0, 2)],
        output_name="x",
        input_range=3,
    )
    program.derived(Tables.of)
    tables = weakref.ref(program.derived(Tables.of).rules["x"][0].rows)
    assert "_derived" not in vars(copy.copy(program))
    assert copy.copy(program) == program
    del program
    gc.collect()
    assert tables() is None
