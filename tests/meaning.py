"""The interpreter beside the definition, after every sub-layer."""

from coding import decode, rounded
from espalier.interpreter import Machine
from reference import run_by_definition
from strategies import Case


def assert_means_the_same(case: Case, *, strict: bool) -> None:
    """Outputs, layers, halting and the state after every sub-layer are those of the definition."""
    machine = Machine(case.program, strict=strict)
    first = machine.start(case.batch)
    attended = {number: [[]] for number in range(len(case.batch))}
    updated = {number: [states] for number, states in decode(case.program, first).items()}

    def observe(middle, after):
        for number, states in decode(case.program, middle).items():
            attended[number].append(states)
        for number, states in decode(case.program, after).items():
            updated[number].append(states)

    runs = machine.run(first, max_layers=case.max_layers, observe=observe)
    for number, tokens in enumerate(case.batch):
        expected = run_by_definition(
            case.program, tokens, max_layers=case.max_layers, strict=strict
        )
        run = runs[number]
        assert (run.outputs, run.layers, run.halted) == (
            expected.outputs,
            expected.layers,
            expected.halted,
        )
        assert attended[number] == [rounded(states) for states in expected.attended]
        assert updated[number] == [rounded(states) for states in expected.updated]
