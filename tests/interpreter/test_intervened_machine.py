"""The interpreter under interventions does what the definition says, after every sub-layer."""

from hypothesis import given

from changes import changed_inputs, run_changed
from coding import decode, rounded
from espalier.interpreter import IntervenedMachine
from espalier.interpreter.forking import run_forked
from espalier.interventions import make_plan


@given(changed_inputs())
def test_it_does_what_the_definition_says(case) -> None:
    program, pairs, layers = case
    batch, changes = [one for one, _ in pairs], [some for _, some in pairs]
    if not batch:
        return
    lengths = [len(tokens) for tokens in batch]
    plan = make_plan(program, changes, lengths, max_layers=layers, checked=False)
    machine = IntervenedMachine(plan)
    machine._compares = not plan.knocked and layers % 2 == 0
    first = machine.start(batch)
    attended = {number: [[]] for number in range(len(batch))}
    updated = {number: [states] for number, states in decode(program, first).items()}

    def observe(middle, after):
        for number, states in decode(program, middle).items():
            attended[number].append(states)
        for number, states in decode(program, after).items():
            updated[number].append(states)

    runs = machine.run(first, max_layers=layers, observe=observe)
    for number, tokens in enumerate(batch):
        expected = run_changed(program, tokens, changes[number], layers)
        run = runs[number]
        assert attended[number] == [rounded(states) for states in expected.attended]
        assert updated[number] == [rounded(states) for states in expected.updated]
        assert (run.outputs, run.layers) == (expected.outputs, expected.layers)
        assert run.halted == expected.halted


@given(changed_inputs())
def test_runs_that_share_their_inputs_are_as_they_are_alone(case) -> None:
    program, pairs, layers = case
    batch = [tokens for tokens, _ in pairs for _ in pairs] * 2
    nested = [some for _, some in pairs] * len(pairs) + [[]] * (len(batch) // 2)
    lengths = [len(tokens) for tokens in batch]
    plan = make_plan(program, nested, lengths, checked=False)
    if not plan.owners:
        return
    machine, other = IntervenedMachine(plan), IntervenedMachine(plan)
    machine._compares = not plan.knocked
    expected = machine.run(machine.start(batch), max_layers=layers)
    assert run_forked(other, [tuple(tokens) for tokens in batch], layers) == expected
    assert other.touched.tolist() == machine.touched.tolist()
