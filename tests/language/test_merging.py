import itertools

from hypothesis import given

from espalier.language import Atom, Rule, program_spec, var
from espalier.language.conflicts import find_conflict
from espalier.language.merging import merge_rules
from parity import sequential_relative, sum_modulo
from reference import apply_rules, assignments, undefined_reads
from strategies import programs


@given(programs())
def test_merged_rules_mean_the_same_even_of_null(program):
    merged = merge_rules(program.rules)
    for output in program.variables:
        before, after = program.rules.of(output), [r for r in merged if r.output == output]
        names = {atom.variable for rule in before for atom in rule.antecedent}
        few = {name: program.specs[name] for name in names}
        nullable = names & set(program.heads)
        for seen in itertools.islice(assignments(few, nullable=nullable), 400):
            assert apply_rules(after, few, seen) == apply_rules(before, few, seen)
            assert any(undefined_reads(rule, seen) for rule in after) == any(
                undefined_reads(rule, seen) for rule in before
            )


@given(programs())
def test_merging_makes_fewer_rules_that_are_still_well_formed(program):
    merged = merge_rules(program.rules)
    assert len(merged) <= len(program.rules)
    assert find_conflict(merged) is None
    assert merge_rules(merged) == merged
    for rule in merged:
        assert [a.values for a in rule.antecedent if a.variable == rule.output] == [(rule.old,)]
        names = [atom.variable for atom in rule.antecedent]
        assert len(set(names)) == len(names)


@given(programs())
def test_a_merged_program_can_be_built_again_from_its_rules(program):
    merged = program.merged()
    again = program_spec(
        program.variables,
        program.heads,
        rules=merged.rules,
        output_name=program.output_name,
        input_range=program.input_range,
        position_range=7,
    )
    assert set(again.rules) == set(merged.rules)


def test_rules_that_differ_in_one_value_become_one():
    rules = [Rule({"x": value, "y": 0}, "out", 0, 1) for value in (4, 1, 3)]
    (rule,) = merge_rules(rules)
    assert set(rule.antecedent) == {Atom("x", (1, 3, 4)), Atom("y", (0,)), Atom("out", (0,))}


def test_a_grid_becomes_one_rule():
    rules = [Rule({"x": x, "y": y}, "out", 0, 1) for x in range(3) for y in (1, 2)]
    assert len(merge_rules(rules)) == 1


def test_old_and_new_values_are_not_merged():
    rules = [Rule({"x": 1}, "out", 0, 1), Rule({"x": 2}, "out", 0, 2), Rule({"x": 1}, "out", 2, 1)]
    assert set(merge_rules(rules)) == set(rules)


def test_resets_are_left_alone():
    program = sequential_relative()
    assert program.merged().rules.resets == program.rules.resets


def test_sum_and_modulo_needs_two_rules_and_its_resets():
    merged = sum_modulo(100).merged()
    assert len(merged.rules.transitions) == 2
    assert len(merged.rules.resets) == 100


def test_a_variable_that_is_not_read_by_all_is_kept_apart():
    rules = [Rule({"x": 1}, "out", 0, 1), Rule({"x": 2, "y": 1}, "out", 0, 1)]
    assert set(merge_rules(rules)) == set(rules)


def test_merging_a_program_keeps_everything_else():
    program = program_spec(
        {"x": var(4, input_init_fn=int), "out": var(2)},
        ffn_fn=lambda z: z.update(out=int(z["x"] > 1)),
        output_name="out",
        input_range=4,
        vocabulary=list("abcd"),
    )
    merged = program.merged()
    assert (len(program.rules), len(merged.rules)) == (4, 2)
    for field in ("variables", "heads", "initial", "output_name", "input_range", "vocabulary"):
        assert getattr(merged, field) == getattr(program, field)
