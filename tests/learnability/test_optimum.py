"""Derivatives against the loss itself, and the paper's theorems where they are true."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import espalier as es
import reference
from espalier import zoo
from espalier.language import Categorical, Program, Rule, program_spec, var
from espalier.learnability import LocalOptimum
from espalier.learnability.parameters import rule_parameters
from landscape import Landscape, distinct
from mlp_inputs import seen_by_mlp
from rule_sets import rule_sets
from strategies import Case, cases, programs

SMALL, TINY = 2.0**-6, 2.0**-20


def landscape(case: Case, alpha: float, *, square: bool = False) -> Landscape:
    data = distinct(seen_by_mlp(case), case.program)
    return Landscape(case.program, data, alpha, square)


def found(case: Case, **settings) -> LocalOptimum:
    return es.local_optimum(case.program, case.batch, max_layers=case.max_layers, **settings)


@given(rule_sets(), st.sampled_from([0.25, 0.5, 0.75, 1.0, 2.5]), st.booleans())
def test_derivatives_and_verdict_are_those_of_the_loss(
    case: Case, alpha: float, square: bool
) -> None:
    """Between two integers the loss is linear (and the squares are known), so steps are exact."""
    assert_is_the_loss(case, alpha, square=square)


@given(cases(strict=True), st.booleans())
@settings(max_examples=12)
def test_so_they_are_for_programs_with_heads_numbers_and_sets(case: Case, square: bool) -> None:
    assert_is_the_loss(case, 0.5, square=square)


def assert_is_the_loss(case: Case, alpha: float, *, square: bool) -> None:
    verdict = found(case, alpha=alpha, penalty="l2" if square else "l1")
    slow = landscape(case, alpha, square=square)
    assert verdict.assignments == len(slow.data)
    assert verdict.count == len(slow.places())
    bend = alpha * SMALL if square else 0
    offending = []
    for row in verdict.to_frame(zeros=True).itertuples():
        place = (row.matrix, row.number, row.entry)
        assert row.value == slow.value(place)
        right, left = slow.risen({place: SMALL}), slow.risen({place: -SMALL})
        assert row.right == right / SMALL - bend
        assert row.left == -left / SMALL + bend
        strict = all(slow.risen({place: by}) > 0 for by in (TINY, -TINY))
        assert row.strict == strict
        if not strict:
            offending.append(place)
    assert {(p.matrix, p.number, p.entry) for p in verdict.offending} == set(offending)
    assert verdict.holds == (not offending)
    assert verdict.holds == (0 < alpha <= verdict.bound if square else alpha < verdict.bound)


@given(rule_sets(), st.sampled_from([0.01, 0.5, 0.99]))
def test_theorem_2_a_minimal_rule_set_is_a_local_optimum(case: Case, alpha: float) -> None:
    small = es.minimal(case.program, case.batch, constraints=True, max_layers=1)
    verdict = es.local_optimum(small, case.batch, alpha=alpha, max_layers=1)
    assert verdict.minimal
    assert verdict.holds
    assert verdict.bound >= 1


@given(cases(strict=True))
@settings(max_examples=40)
def test_what_is_left_to_remove_from_a_minimal_version_guards_a_null(case: Case) -> None:
    layers = case.max_layers
    small = es.minimal(case.program, case.batch, constraints=True, max_layers=layers)
    verdict = es.local_optimum(small, case.batch, max_layers=layers)
    assert verdict.guards == verdict.removable


@given(rule_sets(), st.sampled_from([0.01, 0.5, 0.99]))
def test_theorem_2_with_squares_below_the_remarks_bound(case: Case, share: float) -> None:
    small = es.minimal(case.program, case.batch, constraints=True, max_layers=1)
    longest = max((len(rule.antecedent) - 1 for rule in small.rules), default=0)
    alpha = share / (2 * max(1, longest))
    assert es.local_optimum(small, case.batch, alpha=alpha, penalty="l2", max_layers=1).holds


@given(rule_sets(), st.sampled_from([0.01, 0.5, 0.99]))
def test_what_is_true_of_theorem_1(case: Case, alpha: float) -> None:
    """A rule that never holds, or is never one condition short of holding, is no optimum; all
    other rule sets are one, also those that Definition 1 does not call minimal."""
    data = distinct(seen_by_mlp(case), case.program)
    held = [
        [sum(not reference.holds(part, here) for part in conditions(rule)) for here in data]
        for rule in case.program.rules
    ]
    wanted = all(
        0 in failed and (1 in failed or len(rule.antecedent) == 1)
        for rule, failed in zip(case.program.rules, held, strict=True)
    )
    # A value of "x in S" that a rule never held with would be one parameter more to move.
    assume(all(len(a.values) == 1 for rule in case.program.rules for a in rule.antecedent))
    for penalty in ("l1", "l2"):
        scale = 1 if penalty == "l1" else 0.1
        assert found(case, alpha=alpha * scale, penalty=penalty).holds == wanted


def conditions(rule: Rule) -> list[Rule]:
    """The rule's conditions, each as a rule's only one."""
    return [Rule([atom], atom.variable, atom.values[0], None) for atom in rule.antecedent]


@given(rule_sets(), st.sampled_from([0.25, 0.5]))
@settings(max_examples=30)
def test_where_a_condition_can_go_two_parameters_can_move_together(
    case: Case, alpha: float
) -> None:
    """Theorem 1 repaired: the loss falls along (W1, b1) exactly where a condition can go."""
    verdict, slow = found(case, alpha=alpha), landscape(case, alpha)
    numbers = {rule: number for number, rule in enumerate(case.program.rules)}
    can_go = {(numbers[rule], atom.variable) for rule, atom in verdict.removable}
    for rule, number in numbers.items():
        for atom in rule.antecedent:
            if atom.variable == rule.output or len(atom.values) > 1:
                continue
            entry = ("W1", number, f"{atom.variable} = {atom.values[0]}")
            risen = slow.risen({entry: -SMALL, ("b1", number, ""): SMALL})
            assert (risen < 0) == ((number, atom.variable) in can_go)
            assert slow.risen({entry: SMALL, ("b1", number, ""): -SMALL}) > 0


def test_theorem_1_as_printed_has_a_counterexample() -> None:
    """`y = 1` can go from the rule, and still no single parameter can move for the better."""
    program = program_spec(
        variables={
            "x": var(2, input_init_fn=lambda token: token),
            "y": var(2, default=1),
            "out": var(2),
        },
        rules=[Rule({"x": 1, "y": 1}, "out", 0, 1)],
        output_name="out",
        input_range=2,
    )
    case = Case(program, [[0, 1]], 1)
    verdict = found(case)
    assert verdict.holds
    assert not verdict.minimal
    assert [str(atom) for _, atom in verdict.removable] == ["y = 1"]
    assert "not minimal: 1 conditions never fail alone, such as y = 1" in str(verdict)
    slow = landscape(case, 0.5)
    assert all(slow.risen({place: by}) > 0 for place in slow.places() for by in (SMALL, -SMALL))
    shorter = es.minimal(program, case.batch, constraints=True, max_layers=1)
    assert str(shorter.rules[0]) == "out: 0 -> 1 if x = 1"


def test_theorem_2_lets_a_condition_go_though_rules_then_meet_elsewhere() -> None:
    """Without any of its conditions some rule would meet another, if only outside the data; by
    that reading of B.1 none can go, and yet the weights are no local optimum."""
    data = [(1, 1, 0), (0, 0, 0), (0, 0, 1)]
    asked = [({"x": 1, "z": 1}, 1), ({"x": 0, "w": 0}, 2), ({"z": 0, "w": 1}, 2)]

    def program(asked: list[tuple[dict[str, int], int]]) -> Program:
        places = enumerate("xzw")
        read = {name: var(2, input_init_fn=lambda token, k=k: data[token][k]) for k, name in places}
        rules = [Rule(conditions, "out", 0, new) for conditions, new in asked]
        return program_spec(
            variables=read | {"out": var(3)}, rules=rules, output_name="out", input_range=3
        )

    for number, (conditions_of, new) in enumerate(asked):
        for name in conditions_of:
            shorter = {key: value for key, value in conditions_of.items() if key != name}
            others = [*asked[:number], *asked[number + 1 :]]
            with pytest.raises(es.ProgramError, match="can hold together"):
                program([*others, (shorter, new)])
    verdict = found(Case(program(asked), [[0, 1, 2]], 1))
    assert not verdict.holds
    assert [str(p.rule.antecedent[0]) for p in verdict.offending if p.matrix == "b1"] == ["x = 1"]
    assert {str(atom) for _, atom in verdict.removable} == {"x = 1", "z = 1", "z = 0"}


@given(programs())
@settings(max_examples=40)
def test_parameters_are_the_compiled_ones(program: Program) -> None:
    """Every entry of W1, b1 and W2 of the rules' units, numbers that rules rewrite aside."""
    model = es.compile_program(program)
    layout, weights = model.layout, model.weights.feedforward
    mine = rule_parameters(program)
    w1, w2 = weights.w1.dense(), weights.w2.dense()
    assert weights.b1[: len(program.rules)].tolist() == mine.b1.tolist()
    for number, rule in enumerate(program.rules):
        reads = {}
        for column in w1[number].nonzero().flatten().tolist():
            reads[layout.feature_labels[column]] = w1[number, column].item()
        wanted = mine.w1[number]
        assert reads == {mine.columns[k]: wanted[k] for k in wanted.nonzero()[0]}
        if isinstance(program.specs[rule.output], Categorical) or rule.is_reset:
            writes = {layout.labels[i]: w2[i, number].item() for i in range(layout.width)}
            assert {name: w for name, w in writes.items() if w} == mine.w2[number]


def test_the_parity_programs() -> None:
    for name, texts, bound in (
        ("parity-sequential-relative", ["1", "0", "11", "0110101"], 1),
        ("parity-sequential-absolute", ["1", "0", "11", "0110101"], 1),
        ("parity-sum-modulo", ["1" * ones for ones in range(21)], 1),
    ):
        entry = zoo.load(name)
        batch = [entry.encode(text) for text in texts]
        small = es.minimal(entry.program, batch, constraints=True, max_layers=entry.max_layers)
        verdict = es.local_optimum(small, batch, max_layers=entry.max_layers, alpha=0.99)
        assert verdict.holds
        assert verdict.minimal
        assert verdict.bound == bound
    whole = es.local_optimum(entry.program, batch, max_layers=1)
    assert not whole.holds
    assert {p.rule for p in whole.offending} >= set(small.dropped.rules)
    assert "it never holds; W1[parity = 0], W1[x = " in str(whole)


def test_it_shows_and_saves_itself(tmp_path) -> None:
    entry = zoo.load("parity-sequential-relative")
    verdict = es.local_optimum(entry.program, [entry.encode("1")])
    table = verdict.to_frame()
    assert (table.value != 0).all()
    assert len(verdict.offending) == (~table.strict).sum() > 0
    verdict.save(tmp_path / "derivatives.csv")
    assert len((tmp_path / "derivatives.csv").read_text().splitlines()) == len(table) + 1
    assert "of rule" in str(verdict.offending[0])


@pytest.mark.parametrize("alpha", [0, -1, float("inf"), float("nan"), "1", True])
def test_a_weight_that_is_none_is_refused(alpha) -> None:
    entry = zoo.load("parity-sequential-relative")
    with pytest.raises(es.ConfigError, match="alpha must be a positive number"):
        es.local_optimum(entry.program, [entry.encode("1")], alpha=alpha)


def test_unknown_penalties_and_empty_training_sets_are_refused() -> None:
    entry = zoo.load("parity-sequential-relative")
    with pytest.raises(es.ConfigError, match="penalty is 'L2'; did you mean 'l2'"):
        es.local_optimum(entry.program, [entry.encode("1")], penalty="L2")
    with pytest.raises(es.ProgramError, match="the training set is empty"):
        es.local_optimum(entry.program, [])
