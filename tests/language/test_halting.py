import itertools
from dataclasses import replace

import pytest
from hypothesis import given

import espalier as es
from espalier.errors import ProgramError
from espalier.interpreter import interpret
from espalier.language import Rule, RuleSet, halt_spec, numerical_var, program_spec, qkv, var
from espalier.language.halting import can_halt, halting_variables
from reference import run_by_definition
from strategies import cases

LAYERS = 12


@given(cases())
def test_a_program_that_cannot_halt_does_not(case):
    program = case.program
    if program.halt is None or can_halt(program):
        return
    name, value = program.halt.variable, program.halt.value
    for tokens in case.batch:
        run = run_by_definition(program, tokens, max_layers=LAYERS, strict=False)
        started = [here[name] == value for here in run.updated[0]]
        for states in run.updated[1:]:
            halted = [here[name] == value for here in states]
            assert all(was for was, now in zip(started, halted, strict=True) if now)


@given(cases())
def test_halting_depends_on_nothing_else(case):
    program = case.program
    if program.halt is None:
        return
    names = halting_variables(program)
    kept = [rule for rule in program.rules if rule.output in names or rule.is_reset]
    smaller = replace(program, rules=RuleSet(kept))
    for tokens in case.batch:
        runs = [
            run_by_definition(p, tokens, max_layers=LAYERS, strict=False)
            for p in (program, smaller)
        ]
        assert runs[0].layers == runs[1].layers
        seen = [[[{n: s[n] for n in names} for s in at] for at in run.updated] for run in runs]
        assert seen[0] == seen[1]


def counters(periods, *, rules=(), **more):
    return program_spec(
        {f"c{n}": var(period) for n, period in enumerate(periods)} | {"done": var(2)} | more,
        rules=[
            Rule({}, f"c{n}", at, (at + 1) % period)
            for n, period in enumerate(periods)
            for at in range(period)
        ]
        + list(rules),
        output_name="done",
        input_range=1,
        halt_spec=halt_spec("done"),
    )


def copy_of(source, copy, size):
    pairs = itertools.permutations(range(size), 2)
    return [Rule({source: new}, copy, old, new) for old, new in pairs]


@pytest.mark.parametrize(
    "program",
    [
        counters([97, 101, 103, 107]),
        counters([97, 101, 103], rules=[Rule({"c0": 4, "never": 1}, "done", 0, 1)], never=var(2)),
        # A rule of a rule that cannot hold.
        counters(
            [97, 101, 103],
            rules=[Rule({"a": 1}, "b", 0, 1), Rule({"b": 1}, "done", 0, 1)],
            a=var(2),
            b=var(2),
        ),
        # Two counters of one period are never 0 together; the others do not matter.
        counters(
            [11, 11, 103, 107, 109],
            rules=[Rule({"c0": 0, "late": 0}, "done", 0, 1), *copy_of("c1", "late", 11)],
            late=var(11, default=5),
        ),
    ],
    ids=["no rule", "never met", "by way of another", "unrelated counters"],
)
def test_long_loops_are_noticed_by_both_machines(program):
    with pytest.raises(ProgramError, match="never halts"):
        interpret(program, [0, 0])
    model = es.compile_program(program)
    with pytest.raises(ProgramError, match="never halts"):
        model.run([0, 0])
    assert model.run([0, 0], max_layers=5) == es.interpret_many(program, [[0, 0]], max_layers=5)[0]


def test_what_heads_carry_can_be_met():
    def of(first, head):
        return program_spec(
            {"x": var(3, default=first), "one": var(1), "n": numerical_var((0, 1)), "done": var(2)},
            {"h": head},
            rules=[Rule({"h": 1}, "done", 0, 1)],
            output_name="done",
            input_range=1,
            halt_spec=halt_spec("done"),
        )

    assert can_halt(of(1, qkv("one", "one", "x")))
    assert not can_halt(of(2, qkv("one", "one", "x")))
    assert can_halt(of(2, qkv("one", "one", "n")))
    assert halting_variables(of(1, qkv("one", "one", "x"))) == {"done", "h", "one", "x"}
