import pytest

import espalier as es
from espalier.data import BranchingConfig
from espalier.errors import ConfigError, DataError, FileError, ModelError
from espalier.training import (
    Recipe,
    ScaffoldRun,
    ScanRun,
    TextRun,
    flatten,
    override,
    parse_words,
    read_sweep,
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
        ("recipe.anneal", 0.5, "use a number that is 1 or more"),
        ("keep.every", 1, "did you mean 'keep'"),
        ("recipe.precision", "bf16", "known: 'float32', 'tf32'"),
        ("recipe.learning_rate", 1e300, "learning_rate is 1e.300; use a number above 0"),
        ("recipe.learning_rate", 10**400, "an int|a int; a float is expected"),
        ("corpus.seed", -1, "seed is -1; use a whole number from 0 to"),
        ("corpus.seed", 1 << 63, "use a whole number from 0 to"),
    ],
)
def test_a_wrong_setting_is_refused_with_the_nearest_name(name, value, message):
    with pytest.raises((ConfigError, DataError), match=message):
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


def test_seeds_and_epochs_that_no_machine_takes():
    for make, error in (
        (lambda: TextRun(seed=1 << 63), ConfigError),
        (lambda: TextRun(seed=True), ConfigError),
        (lambda: BranchingConfig(seed=-1), DataError),
        (lambda: es.language_model(vocabulary_size=3, hidden=2, seed=10**30), ModelError),
        (lambda: es.train(ScaffoldRun(), seeds=10**30), ConfigError),
        (lambda: override(ScaffoldRun(), {"recipe.epochs": 10**9}).plan(), ConfigError),
    ):
        with pytest.raises(error, match=r"^seeds? |1,000,000 are the most"):
            make()
    assert TextRun(seed=-1).seed == -1


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("anneal", float("nan")),
        ("anneal", float("inf")),
        ("anneal", 0.5),
        ("clip", float("nan")),
        ("clip", 0.0),
        ("clip", "a"),
        ("settle", 1.5),
        ("settle", -1),
        ("smallest_rate", float("nan")),
        ("smallest_rate", -1.0),
        ("warm_up", -5),
        ("warm_up", True),
        ("weight_decay", float("nan")),
        ("weight_decay", -1.0),
        ("weight_decay", None),
    ],
)
def test_numbers_of_a_recipe_that_mean_nothing(name, value):
    adamw = {"optimiser": "adamw"} if name in ("warm_up", "weight_decay") else {}
    with pytest.raises(ConfigError, match=f"{name} is {value}|{name} is '{value}'"):
        Recipe(**adamw, **{name: value})
    assert Recipe(clip=float("inf"))


def test_a_word_is_one_setting_and_is_given_once():
    assert parse_words(["data=1\nvocabulary=2"]) == {"data": "1\nvocabulary=2"}
    deep = "[" * 100_000
    assert parse_words([f"keep={deep}"]) == {"keep": deep}
    with pytest.raises(ConfigError, match=r"recipe\.epochs is set twice"):
        parse_words(["recipe.epochs=3", "recipe.epochs =4"])


def test_a_file_nested_too_deeply_is_refused(tmp_path):
    (tmp_path / "deep.toml").write_text("a = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="is not TOML"):
        read_toml(tmp_path / "deep.toml")


def test_a_setting_spelt_in_two_ways_is_refused_with_both_values(tmp_path):
    file = tmp_path / "twice.toml"
    file.write_text('"recipe.epochs" = 2\n[recipe]\nepochs = 1\n')
    with pytest.raises(
        ConfigError, match=r"recipe\.epochs is set twice, to 2 and to 1; set it once"
    ):
        flatten(read_toml(file))
    file.write_text('[grid]\n"corpus".seed = [0]\n"corpus.seed" = [1]\n')
    with pytest.raises(ConfigError, match=r"corpus\.seed is set twice, to \[0\] and to \[1\]"):
        read_sweep(file)
