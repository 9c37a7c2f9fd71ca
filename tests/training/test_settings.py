import pytest

from espalier.errors import ConfigError, FileError
from espalier.training import (
    Recipe,
    ScaffoldRun,
    ScanRun,
    TextRun,
    flatten,
    override,
    parse_words,
    read_toml,
)


def test_a_file_and_words_set_what_they_name(tmp_path):
    file = tmp_path / "run.toml"
    file.write_text(
        'keep = "log"\n[corpus]\nlength = 8\nsetting = "familiar"\n[recipe]\nclip = 1\n'
    )
    run = override(ScaffoldRun(), flatten(read_toml(file)))
    assert (run.keep, run.corpus.length, run.corpus.setting) == ("log", 8, "familiar")
    assert run.recipe == Recipe(clip=1.0)
    words = parse_words(["recipe.epochs=3", "data=some/file.txt", "vocabulary=none"])
    text = override(TextRun(vocabulary=5), words)
    assert (text.recipe.epochs, text.data, text.vocabulary) == (3, "some/file.txt", None)
    assert text.recipe.learning_rate == 20.0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("recipe.epoch", 3, r"no setting 'recipe\.epoch'; did you mean 'recipe\.epochs'"),
        ("corpus.lenght", 3, r"did you mean 'corpus\.length'"),
        ("corpus.setting", "familar", "did you mean 'familiar'"),
        ("recipe.epochs", "many", "is 'many', a str; an int is expected"),
        ("recipe.epochs", True, "a bool; an int is expected"),
        ("recipe.epochs", 0, "epochs is 0; it must be at least 1"),
        ("recipe.anneal", 0.5, "use 1"),
        ("keep.every", 1, "did you mean 'keep'"),
        ("recipe.precision", "bf16", "known: 'float32', 'tf32'"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_nearest_name(name, value, message):
    with pytest.raises(ConfigError, match=message):
        override(ScaffoldRun(), {name: value})


def test_broken_files_and_words(tmp_path):
    with pytest.raises(FileError, match=r"no config to read at .*: No such file"):
        read_toml(tmp_path / "none.toml")
    with pytest.raises(FileError, match=r"no config to read at .*: Is a directory"):
        read_toml(tmp_path)
    (tmp_path / "bad.toml").write_text("a = = 1")
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(tmp_path / "bad.toml")
    with pytest.raises(ConfigError, match="write name=value"):
        parse_words(["recipe.clip"])
    with pytest.raises(ConfigError, match="engine is 'fast'"):
        TextRun(engine="fast")


def test_lists_become_tuples():
    changed = override(ScanRun(), {"splits": ["length", "upto:2,3"]})
    assert changed.splits == ("length", "upto:2,3")
    with pytest.raises(ConfigError, match="splits is 3, a int; a list is expected"):
        override(ScanRun(), {"splits": 3})
    with pytest.raises(ConfigError, match="splits is 3, a int; a str is expected"):
        override(ScanRun(), {"splits": ["length", 3]})
