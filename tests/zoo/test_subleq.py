"""SUBLEQ programs of the kind people write, against ten lines of Python, in both machines."""

import itertools

import pytest

import espalier as es
from espalier import zoo
from espalier.zoo.memory import Overflow


def reference(cells: list[int]) -> tuple[list[int], int]:
    """The memory at the end, and how many instructions ran; numbers have no bounds."""
    m, pc, count = list(cells), 0, 0
    while 0 <= pc < len(m) - 1:
        a, b = m[pc], m[pc + 1]
        if not (0 <= a < len(m) and 0 <= b < len(m)):
            break
        m[b] -= m[a]
        count += 1
        if m[b] > 0:
            pc += 3
        elif pc + 2 < len(m):
            pc = m[pc + 2]
        else:
            break
    return m, count


# Cell 10 += cell 9, by way of cell 11.
ADD = [9, 11, 3, 11, 10, 6, 11, 11, -1, 7, 5, 0]

# Cell 18 = cell 15 * cell 16: add the one to it as often as the other says.
MULTIPLY = [15, 17, 3, 17, 18, 6, 17, 17, 9, 19, 16, -1, 17, 17, 0, 5, 6, 0, 0, 1]

# Clears the last five cells: the loop counts its own operands (cells 0 and 1) up.
CLEAR = [19, 19, 3, 16, 0, 6, 16, 1, 9, 17, 18, -1, 15, 15, 0, 0, -1, 1, 5, 7, -7, 3, 9, -2]

# Writes "hey" (8, 5, 25) into the last three cells, walking along message and output.
HEY = [25, 21, 3, 21, 28, 6, 21, 21, 9, 22, 0, 12, 22, 4, 15, 23, 24, -1, 21, 21, 0]
HEY += [0, -1, 1, 3, 8, 5, 25, 0, 0, 0]

# The first instruction makes its own C negative; the old C would have continued at cell 5.
OWN_C = [3, 2, 5, 6, 0, 3, 3, -1]

PROGRAMS = {
    "add": ADD,
    "multiply": MULTIPLY,
    "clear, rewriting its own operands": CLEAR,
    "hey": HEY,
    "rewriting its own jump": OWN_C,
    "a negative address A": [-1, 0, 0],
    "a negative address B": [0, -2, 0],
    "a negative address after a while": [6, 3, 3, 1, 0, 0, 9],
    "an address beyond the memory": [5, 0, 0],
    "a jump beyond the memory": [0, 0, 9],
    "a jump to the last cell": [3, 3, 3, 0],
    "a jump to the last but one": [4, 4, 3, 0, 0],
    "off the end": [3, 4, -1, -1, 1],
    "one cell": [0],
    "two cells": [0, 1],
}
ENTRY = zoo.load("subleq")
MODEL = es.compile_program(ENTRY.program)


@pytest.mark.parametrize("name", PROGRAMS)
def test_real_programs_leave_the_memory_that_python_leaves(name: str) -> None:
    cells = PROGRAMS[name]
    expected, instructions = reference(cells)
    run = es.interpret_many(ENTRY.program, [ENTRY.encode(cells)])[0]
    assert ENTRY.decode(run.outputs) == expected
    assert MODEL.run(ENTRY.encode(cells)) == run
    # Three layers an instruction; an address that names nothing is noticed in two or three more.
    assert 3 * instructions <= run.layers <= 3 * instructions + 3


def test_what_the_programs_are_for() -> None:
    assert reference(ADD)[0][10] == 12
    assert reference(MULTIPLY)[0][18] == 30
    assert reference(CLEAR)[0][-5:] == [0] * 5
    assert reference(HEY)[0][-3:] == [8, 5, 25]


@pytest.mark.parametrize("name", ["add", "multiply", "clear, rewriting its own operands", "hey"])
def test_one_instruction_takes_three_layers(name: str) -> None:
    cells = PROGRAMS[name]
    assert MODEL.run(ENTRY.encode(cells)).layers == 3 * reference(cells)[1]


def test_random_programs_that_rewrite_themselves() -> None:
    batch = ENTRY.samples(300, size=32, seed=5)
    expected = [reference(cells)[0] for cells in batch]
    runs = es.interpret_many(ENTRY.program, [ENTRY.encode(cells) for cells in batch])
    assert [ENTRY.decode(run.outputs) for run in runs] == expected
    assert MODEL.run_many([ENTRY.encode(cells) for cells in batch]) == runs
    # Many rewrite a cell of their own instructions, which all have a C of 3 * n or -1.
    assert sum(after[:3] != before[:3] for after, before in zip(expected, batch, strict=True)) > 20


def difference(left: int, right: int, overflow: Overflow) -> int | None:
    """In a range of -4 to 5."""
    exact = left - right
    if -4 <= exact <= 5:
        return exact
    if overflow is Overflow.SATURATE:
        return max(-4, min(5, exact))
    return (exact + 4) % 10 - 4 if overflow is Overflow.WRAP else None


@pytest.mark.parametrize("overflow", Overflow)
def test_every_difference_stays_in_its_cell(overflow: Overflow) -> None:
    entry = zoo.load("subleq", lowest=-4, highest=5, memory=6, overflow=overflow.value)
    pairs = list(itertools.product(range(-4, 6), repeat=2))
    batch = [entry.encode([4, 5, -1, -1, right, left]) for right, left in pairs]
    model = es.compile_program(entry.program)
    for (right, left), run in zip(pairs, model.run_many(batch), strict=True):
        expected = difference(left, right, overflow)
        if expected is None:
            with pytest.raises(es.ProgramError, match=r"cell 5 left the range -4\.\.5.*wider"):
                entry.decode(run.outputs)
        else:
            assert entry.decode(run.outputs) == [4, 5, -1, -1, right, expected]
    assert es.verify(entry.program, batch, model=model).ok


def test_rules_grow_as_the_square_of_the_range() -> None:
    counts = [
        len(zoo.load("subleq", lowest=-n, highest=n - 1, memory=n).program.rules) for n in (8, 16)
    ]
    assert 3 < counts[1] / counts[0] < 4
    # The public program has 43,127; its width of 402 fits 33 values.
    assert len(zoo.load("subleq", lowest=-16, highest=16, memory=17).program.rules) < 2000


def test_a_program_that_never_halts_is_refused() -> None:
    with pytest.raises(es.ProgramError, match="never halts"):
        es.interpret_many(ENTRY.program, [ENTRY.encode([0, 0, 0])])


@pytest.mark.parametrize("written", ["9 11 -1", "[9, 11, -1]", "9,11,-1", [9, 11, -1], (9, 11, -1)])
def test_memory_is_written_in_several_ways(written: object) -> None:
    assert ENTRY.decode(ENTRY.encode(written)) == [9, 11, -1]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([0] * 33, "33 cells; this machine takes 1 to 32"),
        ([], "0 cells"),
        ([0, 99], "cell 1 holds 99, outside -32..31"),
        ("3 x", "cell 1 holds 'x'"),
        ([1.5], "no whole number"),
        ("1_0", "cell 0 holds '1_0', which is no whole number"),
        ("\u0663", "no whole number"),
        ([3, True], "cell 1 holds True, which is no whole number"),
        (None, "the memory must be a collection"),
    ],
)
def test_what_does_not_fit_is_refused(cells: object, message: str) -> None:
    with pytest.raises(es.ProgramError, match=message):
        ENTRY.encode(cells)


@pytest.mark.parametrize("outputs", [[999], [0, 66], [-1], ["3"], None])
def test_what_no_cell_holds_is_not_decoded(outputs: object) -> None:
    with pytest.raises(es.ProgramError, match=r"codes of this machine|an output|the outputs"):
        ENTRY.decode(outputs)
    assert ENTRY.decode([0, 63, 64]) == [-32, 31]


@pytest.mark.parametrize(
    "settings",
    [{"lowest": 0}, {"memory": 40}, {"memory": 0}, {"overflow": "explode"}, {"cells": 3}],
)
def test_machines_that_cannot_be_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(es.ProgramError):
        zoo.load("subleq", **settings)
