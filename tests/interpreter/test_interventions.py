"""The interpreter under interventions does what the definition says, after every sub-layer."""

from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from changes import random_changes, run_changed
from coding import decode, rounded
from dice import Dice
from espalier.interpreter import IntervenedMachine, Machine
from espalier.interventions import make_plan
from strategies import cases, random_input


@st.composite
def changed_cases(draw, most_layers=4):
    """A program, inputs, a list of changes for each, and a number of layers."""
    case, dice = draw(cases()), Dice(draw)
    layers = dice.number(1, most_layers)
    machine, traces = Machine(case.program, strict=False), []
    if not case.program.heads or dice.chance(50):
        try:
            other = random_input(dice, case.program)
            traces = [es.interpret(case.program, other, max_layers=layers)]
        except es.UndefinedError:
            pass
    runs = machine.run(machine.start(case.batch), max_layers=layers)
    changes = [
        random_changes(dice, case.program, tokens, runs[number].layers, traces)
        for number, tokens in enumerate(case.batch)
    ]
    return case.program, case.batch, changes, layers


@given(changed_cases())
def test_it_does_what_the_definition_says(case) -> None:
    program, batch, changes, layers = case
    lengths = [len(tokens) for tokens in batch]
    plan = make_plan(program, changes, lengths, max_layers=layers, checked=False)
    machine = IntervenedMachine(plan)
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
