import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.data.conllu import parse_conllu, read_conllu, treebank
from espalier.data.treebank import ROOT, Treebank, load_treebank
from espalier.errors import DataError, FileError
from treebanks import banks, conllu, sentences

GOOD = """\
# sent_id = one
# text = They don't
1\tThey\tthey\tPRON\t_\t_\t4\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t4\taux\t_\t_
3\tn't\tnot\tPART\t_\t_\t4\tadvmod\t_\t_
4\tknow\tknow\tVERB\t_\tMood=Ind\t0\troot\t_\tSpaceAfter=No
4.1\tit\tit\tPRON\t_\t_\t_\t_\t4:obj\t_

"""


def parse(text):
    return list(parse_conllu(text.splitlines(keepends=True), "f.conllu"))


def test_multiword_tokens_and_empty_nodes_leave_their_words():
    [sentence] = parse(GOOD)
    assert sentence.name == "one"
    assert sentence.words == ("They", "do", "n't", "know")
    assert sentence.tags == ("PRON", "AUX", "PART", "VERB")
    assert sentence.heads == (3, 3, 3, ROOT)
    assert sentence.relations == ("nsubj", "aux", "advmod", "root")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("\tSpaceAfter=No", "", "line 7: 9 columns, where CoNLL-U has 10"),
        ("4\tnsubj", "9\tnsubj", r"line 3: the head of word 1 is 9, but the words are 1\.\.4"),
        ("4\tnsubj", "_\tnsubj", "line 3: word 1 has the head '_'; give a number"),
        ("4\tnsubj", "x\tnsubj", "line 3: word 1 has the head 'x'; give a number"),
        ("4\tnsubj", "-1\tnsubj", "line 3: word 1 has the head '-1'; give a number"),
        ("4\tnsubj", "2-3\tnsubj", "line 3: word 1 has the head '2-3'; give a number"),
        ("4\tnsubj", "0\tnsubj", r"line 7: words 1 and 4 are both roots \(head 0\)"),
        ("4\taux", "2\taux", "line 5: word 2 is its own ancestor"),
        ("0\troot", "1\troot", "line [37]: word [14] is its own ancestor: heads run in a cycle"),
        ("3\tn't", "5\tn't", "line 6: word '5' stands where 3 is due"),
        ("PRON", "PRN", "line 3: 'PRN' is no universal part of speech; did you mean 'PRON'"),
        ("PRON", "_", "line 3: '_' is no universal part of speech"),
        ("Mood=Ind", "Mood", "line 7: not CoNLL-U; features are Name=Value"),
        ("4:obj", "obj", "line 8: not CoNLL-U; .* enhanced dependencies head:relation"),
        ("\tSpaceAfter=No", "\tSpaceAfter=No\t_", "line 7: 11 columns, where CoNLL-U has 10"),
        ("\t", " ", "line 3: 9 columns, where CoNLL-U has 10, separated by tabs"),
        ("\tThey\t", "\t\t", "line 3: column 2 is empty; what is not known is written _"),
        ("\tThey\t", "\t \t", "line 3: the word is blank, ' '; what is not known is written _"),
        ("\tThey\t", "\t\u2003\t", r"line 3: the word is blank, '\\u2003'; "),
        ("2-3", "1-2", "line 4: 1-2 does not span the words that follow it"),
        ("2-3", "3-2", "line 4: 3-2 does not span"),
        ("2-3", "2-9", "line 4: 2-9 does not span"),
        ("2-3", "2-x", "line 4: 2-x does not span"),
        ("4.1", "3.1", "line 8: empty node 3.1 stands after word 4"),
    ],
)
def test_what_is_broken_is_refused_with_its_line(old, new, message):
    with pytest.raises(DataError, match=rf"^f\.conllu, {message}"):
        parse(GOOD.replace(old, new, 1))


def test_multiword_tokens_do_not_overlap():
    again = "3-4\tn'tknow\t_\t_\t_\t_\t_\t_\t_\t_\n3\tn't"
    with pytest.raises(DataError, match="line 6: 3-4 does not span"):
        parse(GOOD.replace("3\tn't", again))


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.rstrip("\n"),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "\ufeff" + text,
        lambda text: "\n\n" + text + "\n# a remark by itself\n\n",
        lambda text: text.replace("2-3", "# a remark\n2-3"),
        lambda text: text.replace("\n\n", "\n \t\n"),
    ],
    ids=["no last newline", "CRLF", "byte order mark", "blank lines", "remark inside", "spaces"],
)
def test_what_does_not_matter(change, tmp_path):
    (tmp_path / "f.conllu").write_bytes(change(GOOD).encode())
    assert list(treebank(tmp_path / "f.conllu")) == parse(GOOD)


def test_a_line_without_end_is_refused_before_it_is_taken_apart():
    for old, new in (("PRON", "X" * 70_000), ("Mood=Ind", "|".join(["a=b"] * 20_000))):
        with pytest.raises(DataError, match=r"line [37]: \d+,\d+ characters; .* at most 65,536"):
            parse(GOOD.replace(old, new))


def test_lines_are_those_of_the_file():
    with pytest.raises(DataError, match="line 17: words 1 and 4 are both roots"):
        parse(GOOD + "\n" + GOOD.replace("4\tnsubj", "0\tnsubj"))
    with pytest.raises(DataError, match="line 1: a sentence without words"):
        parse("1.1\tx\tx\tX\t_\t_\t_\t_\t0:root\t_\n")


@given(st.lists(sentences(), min_size=1, max_size=4))
def test_what_is_written_is_what_is_read(given_sentences):
    lines = [line for one in given_sentences for line in conllu(one)]
    assert list(parse_conllu(lines)) == given_sentences


@given(banks())
def test_a_treebank_is_its_sentences(bank):
    again = Treebank.of(list(bank), bank.name)
    assert again.digest == bank.digest
    assert len(bank) == len(bank.lengths)
    some = bank.select([len(bank) - 1, 0])
    assert list(some) == [bank[len(bank) - 1], bank[0]]
    assert list(bank.sample(len(bank))) == list(bank)


def test_files_folders_and_prepared_ones(tmp_path):
    (tmp_path / "b.conllu").write_text(GOOD)
    (tmp_path / "a.conllu").write_text(GOOD.replace("They", "We"))
    bank = treebank(tmp_path)
    assert [one.words[0] for one in bank] == ["We", "They"]
    assert bank.name == "a+b"
    bank.save(tmp_path / "both.npz")
    again = treebank(tmp_path / "both.npz")
    assert (again.digest, again.name, again.ids) == (bank.digest, bank.name, bank.ids)
    assert list(again) == list(bank)
    assert len(treebank([tmp_path / "a.conllu", tmp_path / "a.conllu"])) == 2


@pytest.mark.parametrize(
    ("name", "change", "finding"),
    [
        ("heads", lambda held: held + 9, "its heads are not all from -1 to 7"),
        ("heads", lambda held: held - held - 1, "its heads are not trees"),
        ("heads", lambda held: [*held[:-1], 7], "its heads are not trees"),
        ("heads", lambda held: [1, 0, 3, -1, *held[4:]], "its heads are not trees"),
        ("heads", lambda held: held[:-1], "it has 7 heads and 8 tags"),
        ("tags", lambda held: held + 60, "its tags are not all from 0 to 16"),
        ("tags", lambda held: held[:-1], "it has 8 heads and 7 tags"),
        ("tags", lambda held: held / 2, "its tags are of type float64"),
        ("word_ids", lambda held: held[:, None], "its word_ids are of type int32 and shape"),
        ("relation_ids", lambda held: held - 1, "its relation_ids are not all from 0"),
        ("starts", lambda held: held[:-1], "its starts are not those of its sentences"),
        ("starts", lambda held: [0, 0, *held[1:]], "its starts are not those of its sentences"),
        ("ids", lambda held: held[:3], "2 sentences and 1 names"),
    ],
)
def test_a_prepared_treebank_that_is_none_is_refused(tmp_path, name, change, finding):
    file = tmp_path / "bank.npz"
    Treebank.of([*parse(GOOD), *parse(GOOD)], "both").save(file)
    with np.load(file) as held:
        arrays = dict(held)
    arrays[name] = np.asarray(change(arrays[name]))
    np.savez(file, **arrays)
    with pytest.raises(FileError, match=finding):
        load_treebank(file)


def test_files_that_are_not_there_or_not_treebanks(tmp_path):
    with pytest.raises(FileError, match="there is no treebank"):
        treebank(tmp_path / "none.conllu")
    with pytest.raises(FileError, match=r"holds no \*\.conllu"):
        treebank(tmp_path)
    with pytest.raises(FileError, match="cannot be read: Is a directory"):
        list(read_conllu(tmp_path))
    (tmp_path / "x.conllu").write_bytes(b"# fine\n# not \xff fine\n")
    with pytest.raises(FileError, match="line 2: not UTF-8"):
        treebank(tmp_path / "x.conllu")
    np.save(tmp_path / "x.npy", np.arange(3))
    for content in (b"nothing", (tmp_path / "x.npy").read_bytes()):
        (tmp_path / "x.npz").write_bytes(content)
        with pytest.raises(FileError, match="not a prepared treebank"):
            load_treebank(tmp_path / "x.npz")
    (tmp_path / "empty.conllu").write_text("# nothing\n\n")
    with pytest.raises(DataError, match=r"empty\.conllu holds no sentence"):
        treebank(tmp_path / "empty.conllu")


@pytest.mark.skipif("ESPALIER_DATA" not in os.environ, reason="ESPALIER_DATA is not set")
def test_english_ewt():
    folder = Path(os.environ["ESPALIER_DATA"]) / "ud-english-ewt"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    bank = treebank(folder)
    assert (len(bank), bank.pairs) == (16_622, 3_040_242)
