import os
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.data import scan
from espalier.errors import DataError, FileError

SEEDS = st.integers(0, 2**32)
needs_data = pytest.mark.skipif(
    "ESPALIER_DATA" not in os.environ, reason="set ESPALIER_DATA to a folder that holds scan/"
)


def by_rewriting(command: str) -> str:
    """The actions by another road: words are rewritten in place, innermost first."""
    text = f" {command} "
    for side in ("left", "right"):
        turn = f"I_TURN_{side.upper()}"
        for verb in ("walk", "look", "run", "jump", "turn"):
            act = "" if verb == "turn" else f"{verb.upper()}!"
            text = text.replace(f" {verb} opposite {side} ", f" {turn},{turn},{act} ")
            text = text.replace(f" {verb} around {side} ", f" {','.join([f'{turn},{act}'] * 4)} ")
            text = text.replace(f" {verb} {side} ", f" {turn},{act} ")
    for verb in ("walk", "look", "run", "jump"):
        text = text.replace(f" {verb} ", f" {verb.upper()}! ")
    words = text.split()
    while "twice" in words or "thrice" in words:
        place = next(n for n, word in enumerate(words) if word in ("twice", "thrice"))
        times = 2 if words[place] == "twice" else 3
        words[place - 1 : place + 1] = [",".join([words[place - 1]] * times)]
    if words[1:2] == ["after"]:
        words = [words[2], words[0]]
    pieces = ",".join(word for word in words if word != "and").split(",")
    return " ".join(f"I_{p[:-1]}" if p.endswith("!") else p for p in pieces if p)


def test_the_grammar_has_as_many_commands_as_the_data_set() -> None:
    examples = list(scan.generate_examples())
    assert len(examples) == len({example.command for example in examples}) == 20_910
    assert max(example.length for example in examples) == 48


@given(SEEDS, st.integers(1, 9))
def test_the_meaning_of_a_command_is_the_same_by_rewriting(seed: int, size: int) -> None:
    command = scan.sample_command(random.Random(seed), size)
    assert len(command.split()) <= size
    assert scan.check_command(command) == command.split()
    assert scan.translate(command) == by_rewriting(command)


@needs_data
def test_the_grammar_makes_exactly_the_examples_of_the_file() -> None:
    assert set(scan.scan_split("all").test) == set(scan.scan_split("grammar").test)


@needs_data
@pytest.mark.parametrize(
    ("name", "train", "test"),
    [("length", 16_990, 3_920), *((f"mcd{n}", 8_365, 1_045) for n in (1, 2, 3))],
)
def test_splits_have_the_published_sizes_and_share_nothing(
    name: str, train: int, test: int
) -> None:
    split = scan.scan_split(name)
    assert (len(split.train), len(split.test)) == (train, test)
    assert not Counter(split.train) & Counter(split.test)


def test_what_is_not_a_command_is_refused() -> None:
    for given_command, why in [
        ("jmp twice", "'jmp' is not a word of SCAN; did you mean 'jump'"),
        ("jump and run and walk", "2 conjunctions"),
        ("jump twice twice", "'jump twice twice' is not a clause"),
        ("jump and", "'' is not a clause"),
        ("turn", "'turn' is not a clause"),
        ("", "found ''"),
        (3, "found 3"),
    ]:
        with pytest.raises(DataError, match=why):
            scan.check_command(given_command)


def test_a_broken_file_or_an_absent_one_is_refused(tmp_path, monkeypatch) -> None:
    file = tmp_path / "tasks.txt"
    file.write_text("IN: jump OUT: I_JUMP\nIN: jump I_JUMP\n")
    with pytest.raises(DataError, match=r"tasks\.txt, line 2: expected 'IN: \.\.\. OUT: \.\.\.'"):
        scan.read_examples(file)
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path / "none"))
    with pytest.raises(FileError, match="espalier data fetch scan"):
        scan.scan_split("all")
    with pytest.raises(DataError, match="did you mean 'length'"):
        scan.scan_split("lenght")
