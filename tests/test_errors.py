import sys
from types import SimpleNamespace

import pytest

import espalier as es
from espalier.errors import (
    CompileError,
    EspalierError,
    FileError,
    ProgramError,
    UndefinedError,
    check_whole,
    is_number,
    listed,
    nearest,
)
from espalier.targets import load_target


@pytest.mark.parametrize(
    ("error", "parents"),
    [
        (ProgramError, (EspalierError, ValueError)),
        (UndefinedError, (ProgramError,)),
        (CompileError, (EspalierError, ValueError)),
        (FileError, (EspalierError, OSError)),
    ],
)
def test_errors_are_one_family_and_also_what_python_calls_them(error, parents):
    assert all(issubclass(error, parent) for parent in parents)
    with pytest.raises(EspalierError, match="the culprit"):
        raise error("the culprit")


def test_whole_numbers_are_told_from_others():
    sizes = SimpleNamespace(width=3, depth=0, height=2.0, flag=True)
    check_whole(sizes, ["width"], error=FileError)
    check_whole(sizes, ["width", "depth"], least=0, error=FileError)
    with pytest.raises(FileError, match="depth is 0; it must be at least 1"):
        check_whole(sizes, ["width", "depth"], error=FileError)
    with pytest.raises(ProgramError, match=r"height is 2.0, a float; a whole number is expected"):
        check_whole(sizes, ["height"], error=ProgramError)
    with pytest.raises(ProgramError, match="flag is True, a bool"):
        check_whole(sizes, ["flag"], error=ProgramError)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "1", None, [1.0]], ids=repr)
def test_what_is_no_finite_number(value):
    assert not is_number(value)
    assert is_number(1)
    assert is_number(-0.5)


def test_the_nearest_name_is_suggested():
    assert nearest("pairty", ["done", "parity", "idx"]).startswith("did you mean 'parity'?")


def test_every_known_name_is_listed():
    for known in (["b", "a"], {"b": 1, "a": 2}, iter(["b", "a"])):
        assert nearest("zzz", known).endswith("known: 'a', 'b'")
    assert "did you mean" not in nearest("zzz", ["a", "b"])


@pytest.mark.parametrize("name", [None, 3, ["parity"], ("parity",)], ids=repr)
def test_what_is_not_a_name_has_known_names_all_the_same(name):
    assert "'parity'" in nearest(name, ["parity"])


def test_a_finding_is_said_before_what_is_known():
    with pytest.raises(es.ProgramError, match="'b', which is not a variable; known: 'a'"):
        es.program_spec(variables={"a": es.language.var(2)}, output_name="b", input_range=2)
    assert nearest("x", []) == "there is none to choose from"
    assert listed(map(str, range(50))).endswith("39, … (10 more)")


def test_the_line_of_a_fault_in_a_file_is_said(tmp_path):
    for text, line in (
        ("x = 1\ny = x / 0\n", 2),
        ("x = 1\n\nx +\n", 3),
        ("import sys\nsys.exit(3)", 2),
    ):
        file = tmp_path / "bad.py"
        file.write_text(text)
        with pytest.raises(es.ProgramError, match=rf"bad\.py, line {line} cannot be run"):
            load_target(f"{file}:x")
    built = "es.program_spec(variables={}, output_name='b', input_range=2)"
    file.write_text(f"import espalier as es\n\n{built}\n")
    with pytest.raises(es.ProgramError, match=r"bad\.py, line 3: "):
        load_target(f"{file}:x")


def ends(*_):
    sys.exit("done")


def interrupted(*_):
    raise KeyboardInterrupt


def of_function(ffn_fn, **more):
    return es.program_spec(
        {"x": es.language.var(3)}, {}, ffn_fn=ffn_fn, output_name="x", input_range=2, **more
    )


@pytest.mark.parametrize(
    ("use", "match"),
    [
        (of_function, "ffn_fn raised SystemExit: done"),
        (
            lambda f: es.interpret(of_function(f, rules="lazy"), [1], max_layers=1),
            "layer 1, input 0, position 0: ffn_fn raised SystemExit: done",
        ),
        (lambda f: es.compile_program(of_function(f, rules="lazy")), "ffn_fn raised SystemExit"),
        (
            lambda f: es.program_spec(
                {"x": es.language.var(3, input_init_fn=f)}, output_name="x", input_range=2
            ),
            "the init function of variable 'x' raised SystemExit at token 0: done",
        ),
        (
            lambda f: es.rasp.evaluate(es.rasp.elementwise(f, es.rasp.tokens), "a"),
            "fails on .'a'.: SystemExit: done",
        ),
    ],
)
def test_a_function_that_ends_python_is_named_and_ctrl_c_stays_what_it_is(use, match):
    with pytest.raises(es.ProgramError, match=match):
        use(ends)
    with pytest.raises(KeyboardInterrupt):
        use(interrupted)
