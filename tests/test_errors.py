import pytest

from espalier.errors import (
    CompileError,
    EspalierError,
    FileError,
    ProgramError,
    UndefinedError,
    nearest,
)


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


def test_the_nearest_name_is_suggested():
    assert nearest("pairty", ["done", "parity", "idx"]).startswith("did you mean 'parity'?")


def test_every_known_name_is_listed():
    for known in (["b", "a"], {"b": 1, "a": 2}, iter(["b", "a"])):
        assert nearest("zzz", known).endswith("known: 'a', 'b'")
    assert "did you mean" not in nearest("zzz", ["a", "b"])


@pytest.mark.parametrize("name", [None, 3, ["parity"], ("parity",)], ids=repr)
def test_what_is_not_a_name_has_known_names_all_the_same(name):
    assert "'parity'" in nearest(name, ["parity"])


def test_nothing_may_be_known():
    assert nearest("a", []).endswith("none")
