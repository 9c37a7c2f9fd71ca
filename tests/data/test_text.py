import hashlib
import http.server
import io
import os
import threading
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.data import sources
from espalier.data.batches import fold
from espalier.data.text import text_corpus
from espalier.errors import DataError, FileError

LINES = ["the cat sat", "the dog sat on the mat", "", "a cat"]


@pytest.fixture
def folder(tmp_path):
    for part, lines in {"train": LINES, "valid": ["the bird sat"], "test": ["a cat"]}.items():
        (tmp_path / f"{part}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def test_a_directory_of_parts(folder):
    corpus = text_corpus(folder)
    assert corpus.words == ("the", "cat", "sat", "<eos>", "dog", "on", "mat", "a", "<unk>")
    assert [corpus.words[t] for t in corpus.train] == [
        *[
            "the",
            "cat",
            "sat",
            "<eos>",
            "the",
            "dog",
            "sat",
            "on",
            "the",
            "mat",
            "<eos>",
            "<eos>",
            "a",
            "cat",
            "<eos>",
        ]
    ]
    assert [corpus.words[t] for t in corpus.valid] == ["the", "<unk>", "sat", "<eos>"]
    assert corpus.unknown == {"train": 0, "valid": 1, "test": 0}


def test_a_small_vocabulary_keeps_the_most_frequent(folder):
    corpus = text_corpus(folder, vocabulary=5)
    assert set(corpus.words) == {"the", "cat", "sat", "<eos>", "<unk>"}
    assert corpus.unknown["train"] == 4


def test_one_file_is_split_by_lines(tmp_path):
    file = tmp_path / "all.txt"
    file.write_text("\n".join(f"line {n}" for n in range(100)), encoding="utf-8")
    corpus = text_corpus(file)
    assert len(corpus.train) == 90 * 3
    assert len(corpus.valid) == len(corpus.test) == 5 * 3


def test_refusals(folder, tmp_path):
    with pytest.raises(FileError, match="there is no text at"):
        text_corpus(tmp_path / "nothing")
    (folder / "valid.txt").unlink()
    with pytest.raises(FileError, match=r"should hold one valid file, such as valid\.txt; 0 match"):
        text_corpus(folder)
    (folder / "train.txt").write_bytes(b"\xff\xfe\xff")
    with pytest.raises(FileError, match="is not UTF-8"):
        text_corpus(folder)
    (folder / "train.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(DataError, match="holds no words"):
        text_corpus(folder)


def test_a_missing_data_set_is_named_with_the_way_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path))
    with pytest.raises(FileError, match=r"wiki\.train\.tokens is missing\. Set ESPALIER_DATA"):
        text_corpus("wikitext-2")
    with pytest.raises(DataError, match="did you mean 'wikitext-2'"):
        sources.find("wikitext2")


def test_wikitext_2_has_its_standard_vocabulary():
    if "ESPALIER_DATA" not in os.environ:
        pytest.skip("set ESPALIER_DATA to a folder that holds wikitext-2")
    corpus = text_corpus("wikitext-2")
    assert len(corpus.words) == 33_278
    assert (len(corpus.train), len(corpus.valid), len(corpus.test)) == (
        2_051_910 + 36_718,
        213_886 + 3_760,
        241_211 + 4_358,
    )
    assert corpus.unknown == {"train": 0, "valid": 0, "test": 0}


@pytest.fixture
def server(tmp_path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as opened:
        for part in ("train", "valid", "test"):
            opened.writestr(f"wikitext-2/wiki.{part}.tokens", f" = {part} = \n")
    body = archive.getvalue()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/a.zip", hashlib.md5(body).hexdigest()
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_download_is_checked_and_unpacked(server, tmp_path, monkeypatch):
    url, md5 = server
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path / "data"))
    known = replace(sources.SOURCES["wikitext-2"], url=url, md5=md5)
    monkeypatch.setitem(sources.SOURCES, "wikitext-2", known)
    seen = []
    folder = sources.fetch("wikitext-2", progress=lambda done, total: seen.append((done, total)))
    assert (folder / "wiki.valid.tokens").read_text() == " = valid = \n"
    assert seen[-1][0] == seen[-1][1] > 0
    assert sources.fetch("wikitext-2") == folder  # found, not fetched again


def test_a_wrong_download_is_not_kept(server, tmp_path, monkeypatch):
    url, _ = server
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path / "data"))
    known = replace(sources.SOURCES["wikitext-2"], url=url)
    monkeypatch.setitem(sources.SOURCES, "wikitext-2", known)
    with pytest.raises(DataError, match="the expected checksum: the download was cut short"):
        sources.fetch("wikitext-2")
    assert not (tmp_path / "data").exists()


def test_a_download_that_does_not_come_says_where_files_can_be_put_by_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("ESPALIER_DATA", str(tmp_path / "data"))
    known = replace(sources.SOURCES["ud-english-ewt"], url="http://127.0.0.1:9/none")
    monkeypatch.setitem(sources.SOURCES, "ud-english-ewt", known)
    with pytest.raises(FileError, match="could not be downloaded") as caught:
        sources.fetch("ud-english-ewt")
    said = str(caught.value)
    folder = tmp_path / "data" / "ud-english-ewt"
    assert f"into {folder} by hand" in said
    assert all(file in said for file in known.files)
    assert not folder.exists()
    folder.mkdir(parents=True)
    for file in known.files:
        (folder / file).write_text("")
    assert sources.fetch("ud-english-ewt") == folder  # what the message says is enough


@given(st.integers(1, 7), st.integers(1, 9), st.integers(0, 300))
def test_folding_keeps_the_order_of_every_row(batch, window, extra):
    stream = np.arange(batch * (window + 1) + extra)
    folded = fold(stream, batch=batch, window=window)
    assert folded.shape[1] == batch
    assert (len(folded) - 1) % window == 0
    assert (np.diff(folded, axis=0) == 1).all()
    assert (folded[0] == np.arange(batch) * (len(stream) // batch)).all()
    assert len(stream) - folded.size < batch * (window + 1)


def test_too_short_a_stream_is_refused():
    with pytest.raises(DataError, match="30 tokens in 20 rows are 1 each"):
        fold(np.arange(30), batch=20, window=35)


def test_a_mark_at_the_start_of_a_file_joins_no_word(tmp_path):
    plain, marked = tmp_path / "plain.txt", tmp_path / "marked.txt"
    plain.write_text("the cat\n" * 40, encoding="utf-8")
    marked.write_text("the cat\n" * 40, encoding="utf-8-sig")
    assert text_corpus(marked).words == text_corpus(plain).words
