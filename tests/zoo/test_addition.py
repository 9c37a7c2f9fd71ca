"""Addition against Python's own, in both machines, and what the paper says of it (D.2)."""

import itertools
import random

import espalier as es
from espalier import zoo
from espalier.language import Program
from minimal import minimal_version

ENTRY = zoo.load("addition")
PAIRS = [ENTRY.sample(random.Random(seed), 50) for seed in range(2000)]
HARD = ["0+0", "5+5", "9+1", "1+9", f"{'9' * 50}+1", f"1+{'9' * 50}", f"{'9' * 50}+{'9' * 50}"]
UNEQUAL = [f"{'7' * 50}+3", f"3+{'7' * 50}", f"{'9' * 200}+9", f"9+{'9' * 200}", "1000+1", "1+1000"]


def digits(text: str) -> int:
    """The paper's N: the number of digits in the larger of the two inputs."""
    return max(map(len, text.split("+")))


def total(text: str) -> str:
    first, second = text.split("+")
    return str(int(first) + int(second))


def check(program: Program, texts: list[str]) -> None:
    batch = [ENTRY.encode(text) for text in texts]
    runs = es.interpret_many(program, batch)
    assert [ENTRY.decode(run.outputs) for run in runs] == [total(text) for text in texts]
    assert es.compile_program(program).run_many(batch) == runs
    assert runs.layers == [digits(text) + 2 for text in texts]


def test_two_thousand_random_pairs_of_up_to_fifty_digits() -> None:
    check(ENTRY.program, PAIRS)


def test_carries_that_run_through_and_very_unequal_lengths() -> None:
    check(ENTRY.program, HARD + UNEQUAL)


def test_every_pair_below_a_hundred() -> None:
    check(ENTRY.program, [f"{a}+{b}" for a, b in itertools.product(range(0, 100, 3), range(100))])


def test_the_papers_table_4() -> None:
    pad = 10
    run = es.compile_program(ENTRY.program).run(["START", "3", "4", "+", "5", "6", "END"])
    assert run.outputs == [pad, pad, pad, pad, 9, 0, pad]
    assert run.layers == 2 + 2


def test_rules_learnt_from_three_digits_add_fifty() -> None:
    # Every sum of two digits, with and without a carry, which stops or continues, and random ones.
    texts = [
        f"{end}{max(s - 9, 0)}{5}+{min(s, 9)}{carried}"
        for s, carried, end in itertools.product(range(19), (0, 5), ("", "1"))
    ]
    texts += [f"{a}+{b}" for a, b in itertools.product((0, 7, 30, 909, 999), repeat=2)]
    minimal = minimal_version(ENTRY.program, [ENTRY.encode(text) for text in texts])
    assert max(map(digits, texts)) == 3
    # The paper's minimal version has 884.
    assert len(minimal.rules) == 78
    assert len(ENTRY.program.rules) == 80
    check(minimal, [*PAIRS[:100], *HARD, *UNEQUAL])


def test_leading_zeros_are_read_and_not_written() -> None:
    trace = es.interpret(ENTRY.program, ENTRY.encode("007 + 5"))
    assert ENTRY.decode(trace.outputs) == "12"
