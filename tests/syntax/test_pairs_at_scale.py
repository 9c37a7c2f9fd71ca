"""Pairs of any number of sentences: the same rows on any worker, in bounded memory."""

import hashlib
import tracemalloc

import numpy as np
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.data import stretches, treebank
from espalier.errors import ConfigError, DataError, FileError
from espalier.nets.lstm import Vocabulary
from espalier.runs import (
    FolderHeldError,
    Workers,
    choose_device,
    function_files,
    partitions,
    run_jobs,
)
from espalier.syntax import write_pairs, writing
from treebanks import WORDS, banks

LINES = st.lists(st.lists(st.sampled_from([*WORDS, "ä", "—"]), max_size=7), min_size=1, max_size=30)


def model(seed=1, **more):
    words = Vocabulary((*WORDS[:4], "<unk>"), (5, 4, 3, 2, 9))
    return es.language_model(vocabulary_size=5, hidden=6, seed=seed, words=words, **more)


def conllu(bank):
    rows = []
    for one in bank:
        rows.append(f"# sent_id = {one.name}")
        for n, (word, tag, head, relation) in enumerate(
            zip(one.words, one.tags, one.heads, one.relations, strict=True), start=1
        ):
            rows.append(f"{n}\t{word}\t_\t{tag}\t_\t_\t{head + 1}\t{relation}\t_\t_")
        rows.append("")
    return "\n".join(rows) + "\n"


def files_of(folder):
    return {file.name: file.read_bytes() for file in sorted((folder / "pairs").iterdir())}


@settings(max_examples=settings().max_examples // 3, deadline=None)
@given(banks(count=12), st.integers(1, 60), st.integers(1, 14))
def test_stretches_of_a_treebank_are_the_treebank(tmp_path_factory, bank, most, count):
    file = tmp_path_factory.mktemp("bank") / "a.conllu"
    file.write_text(conllu(bank), encoding="utf-8")
    whole, found = treebank(file), stretches([file], pairs=most)
    assert [one for part in found.parts for one in part.read()] == list(whole)
    assert (found.sentences, found.words, found.pairs) == (
        len(whole), len(whole.tags), whole.pairs
    )  # fmt: skip
    assert [part.first for part in found.parts] == np.cumsum(
        [0, *(part.sentences for part in found.parts[:-1])]
    ).tolist()
    some = found.sample(count)
    assert [one for part in some.parts for one in part.read()] == list(whole.sample(count))
    assert some.pairs == whole.sample(count).pairs


@settings(max_examples=settings().max_examples // 3, deadline=None)
@given(LINES, st.integers(1, 60), st.sampled_from(["", "\ufeff"]))
def test_stretches_of_a_text_are_its_lines(tmp_path_factory, lines, most, mark):
    file = tmp_path_factory.mktemp("text") / "a.txt"
    text = mark + "\n".join(" ".join(line) for line in lines)
    file.write_text(text, encoding="utf-8")
    wanted = [(str(n), tuple(line)) for n, line in enumerate(lines, start=1) if line]
    if not wanted:
        with pytest.raises(DataError, match="holds no sentence"):
            stretches([file], format="text", pairs=most)
        return
    found = stretches([file, file], format="text", pairs=most)
    read = [(one.name, one.words) for part in found.parts for one in part.read()]
    assert read == wanted * 2
    assert found.sha256 == hashlib.sha256(file.read_bytes() * 2).hexdigest()
    assert all(part.stop > part.start for part in found.parts)


@pytest.fixture
def text(tmp_path):
    source = np.random.default_rng(0)
    lines = [" ".join(source.choice(WORDS, size=source.integers(1, 9))) for _ in range(60)]
    (tmp_path / "text.txt").write_text("\n".join(lines))
    return tmp_path / "text.txt"


def test_a_model_that_is_large_is_sent_once(tmp_path, text, monkeypatch):
    """Of other architectures than the LSTM, which is read from its own file."""
    source, other = stretches([text], format="text", pairs=300), model(architecture="gru")
    write_pairs(other, source, tmp_path / "here")
    monkeypatch.setattr(function_files, "LARGE", 0)
    monkeypatch.setattr(partitions, "run_jobs", lambda function, jobs, _: run_jobs(function, jobs))
    write_pairs(other, source, tmp_path / "there", workers=1)
    assert len(function_files._read) == 1
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")


@pytest.mark.filterwarnings("ignore")
def test_the_same_files_by_any_number_of_workers_or_a_cluster(tmp_path, text):
    distributed = pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    source = stretches([text], format="text", pairs=90)
    assert len(source.parts) > 5
    rows = write_pairs(model(), source, tmp_path / "here")
    assert rows == source.pairs
    write_pairs(model(), source, tmp_path / "two", workers=Workers(2))
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        there = Workers(cluster=cluster.scheduler_address)
        write_pairs(model(), source, tmp_path / "there", workers=there)
        # A device that this machine need not have: the scheduler is asked, not torch.
        for asked in (model(), model(architecture="gru")):
            cuda = {"device": choose_device("cuda", elsewhere=True), "workers": there}
            with pytest.raises(ConfigError, match=r"0000000 wants a GPU"):
                write_pairs(asked, source, tmp_path / asked.rnn.mode, **cuda)
    assert files_of(tmp_path / "here") == files_of(tmp_path / "two")
    assert files_of(tmp_path / "here") == files_of(tmp_path / "there")
    write_pairs(model(), source, tmp_path / "one.parquet")
    one, parts = (parquet.read_table(tmp_path / name) for name in ("one.parquet", "here/pairs"))
    assert one.to_pylist() == parts.to_pylist()
    assert "tree_distance" not in one.column_names
    assert {file.name for file in tmp_path.iterdir()} >= {"one.parquet", "here"}
    assert not list(tmp_path.glob(".*"))


def test_it_goes_on_where_it_was_stopped_and_refuses_another_model(tmp_path, text, monkeypatch):
    source = stretches([text], format="text", pairs=90)
    wanted = write_pairs(model(), source, tmp_path / "whole")
    seen = []

    def stop(rows):
        seen.append(rows)
        if len(seen) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_pairs(model(), source, tmp_path / "stopped", report=stop)
    monkeypatch.setattr(writing.PartReader, "__call__", _counting(writing.PartReader.__call__))
    assert write_pairs(model(), source, tmp_path / "stopped") == wanted
    assert len(CALLS) == len(source.parts) - 3
    assert files_of(tmp_path / "stopped") == files_of(tmp_path / "whole")
    with pytest.raises(ConfigError, match="model_sha256"):
        write_pairs(model(2), source, tmp_path / "stopped")
    text.write_text(text.read_text() + "\nmore of it")
    with pytest.raises(ConfigError, match="holds another run: sentences"):
        write_pairs(model(), stretches([text], format="text", pairs=90), tmp_path / "stopped")


CALLS = []


def _counting(original):
    def counted(self, *given):
        CALLS.append(given)
        return original(self, *given)

    return counted


def test_what_cannot_be_read_is_refused_by_its_line(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("a b\n" + "word " * 2_001)
    with pytest.raises(DataError, match=r"a\.txt, line 2: 2,001 words; at most 2,000"):
        stretches([file], format="text", pairs=9)
    file.write_bytes(b"a b\n\xff\xfe\n")
    with pytest.raises(FileError, match=r"a\.txt, line 2: not UTF-8"):
        stretches([file], format="text", pairs=9)
    with pytest.raises(FileError, match="there is no text at"):
        stretches([tmp_path / "none"], format="text", pairs=9)


def test_any_number_of_sentences_is_bookkept_in_little_memory(tmp_path):
    file = tmp_path / "long.txt"
    with file.open("w") as opened:
        for _ in range(20):
            opened.write("a b c\n" * 1_000)
    tracemalloc.start()
    found = stretches([file], format="text", pairs=3_000)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(found.parts) == 20
    assert (found.sentences, found.pairs) == (20_000, 60_000)
    assert most < 300_000


def test_a_second_command_does_not_take_the_parts_while_they_are_joined(
    tmp_path, text, monkeypatch
):
    source, out = stretches([text], format="text", pairs=90), tmp_path / "one.parquet"
    join, second = writing._join, []

    def join_beside_another(parts, path):
        with monkeypatch.context() as patch:
            patch.setattr(writing, "_join", join)
            with pytest.raises(FolderHeldError) as held:
                write_pairs(model(), source, out)
        second.append(str(held.value))
        join(parts, path)

    monkeypatch.setattr(writing, "_join", join_beside_another)
    rows = write_pairs(model(), source, out)
    assert "is being worked on by process" in second[0]
    assert parquet.read_metadata(out).num_rows == rows
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("removed", range(3))
def test_a_kill_while_the_parts_are_removed_does_no_harm(tmp_path, text, monkeypatch, removed):
    source, out, count = stretches([text], format="text", pairs=90), tmp_path / "one.parquet", 0

    def killed(remove):
        def fewer(*given, **more):
            nonlocal count
            count += 1
            if count > removed:
                raise KeyboardInterrupt
            return remove(*given, **more)

        return fewer

    clear = writing._clear

    def clear_some(folder):
        with monkeypatch.context() as patch:
            patch.setattr(writing.shutil, "rmtree", killed(writing.shutil.rmtree))
            patch.setattr(writing.Path, "unlink", killed(writing.Path.unlink))
            clear(folder)

    monkeypatch.setattr(writing, "_clear", clear_some)
    with pytest.raises(KeyboardInterrupt):
        write_pairs(model(), source, out)
    monkeypatch.setattr(writing, "_clear", clear)
    whole = out.read_bytes()
    write_pairs(model(), source, out)
    assert out.read_bytes() == whole
    assert not list(tmp_path.glob(".*"))
