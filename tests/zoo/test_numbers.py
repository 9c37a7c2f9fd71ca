"""Both programs that add read, answer and refuse alike."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

import espalier as es
from espalier import zoo
from espalier.programs.generation import ask
from espalier.zoo.numbers import add

PROGRAMS = ["addition", "addition-scratchpad"]
NUMBERS = st.text("0123456789", min_size=1, max_size=60)
NO_SUMS = ["", " + ", "34", "34+", "+1", "3-4", "1+2+3", "-1+2", "1.5+2", "٣+٤", "a+b", "3 4+5"]
NO_SUMS += ["1_0+2", 7, None, b"3+4", ["3", "+", "4"]]
# More digits than Python turns into an integer.
LONG = 4400


@given(NUMBERS, NUMBERS)
def test_sums_on_paper_are_those_of_python(first: str, second: str) -> None:
    assert add(first, second) == str(int(first) + int(second))


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_answer_with_text(name: str) -> None:
    entry = zoo.load(name)
    assert ask(entry, ["34+56"])[0].value == entry.expected("34+56") == "90"
    assert entry.decode([]) == "0"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("text", ["34 + 56", "34+56=", " 34+56 = ", "34+56\n", "\t34\n+\n56"])
def test_both_read_sums_written_in_several_ways(name: str, text: str) -> None:
    entry = zoo.load(name)
    assert entry.encode(text) == entry.encode("34+56")
    assert entry.expected(text) == "90"


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("text", NO_SUMS)
def test_both_refuse_what_is_not_a_sum_under_their_own_names(name: str, text: object) -> None:
    entry = zoo.load(name)
    for read in (entry.encode, entry.expected):
        with pytest.raises(es.ProgramError, match=rf"^{name} takes two whole numbers, as in"):
            read(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_are_longer_than_python_reads(name: str) -> None:
    entry = zoo.load(name)
    text = f"{'9' * LONG}+1"
    assert entry.expected(text) == "1" + "0" * LONG
    assert len(entry.encode(text)) == LONG + 4
    # "addition" answers from the first digit on, and the scratchpad from the last.
    digits = [1] + [0] * LONG
    written = digits if name == "addition" else digits[::-1]
    assert entry.decode(written) == "1" + "0" * LONG
