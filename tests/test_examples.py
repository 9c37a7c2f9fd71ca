"""The scripts say what is true."""

import re
import runpy
from pathlib import Path

import espalier as es

ROOT = Path(__file__).parent.parent


def test_the_parity_example_agrees_with_itself(capsys) -> None:
    runpy.run_path(str(ROOT / "examples" / "parity.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()[::2]
    assert len(lines) == 3
    assert all("1 on symbols, 1 in" in line for line in lines)


def test_the_writing_example_adds(capsys) -> None:
    runpy.run_path(str(ROOT / "examples" / "writing.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert lines[0].startswith("345+678= 3 2 0 1 END: 1023")


def test_the_english_example_says_something_real(capsys) -> None:
    runpy.run_path(str(ROOT / "examples" / "english.py"), run_name="__main__")
    shown = capsys.readouterr().out
    assert len(re.findall(r"^\S+ \S+: 0\.\d\d, \d apart$", shown, re.M)) == 6
    assert "(15 pairs, hidden" in shown
    assert "(21 pairs, hidden" in shown


def test_the_example_of_ones_own_is_right() -> None:
    program = runpy.run_path(str(ROOT / "examples" / "my_program.py"))["program"]
    batch = [["START", "3", "1", "4", "1", "5"], ["START", "0", "7", "2"]]
    runs = es.interpret_many(program, batch)
    assert runs.outputs == [[0, 3, 3, 4, 4, 5], [0, 0, 7, 7]]
    assert es.compile_program(program).run_many(batch) == runs
