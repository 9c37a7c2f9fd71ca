"""Text in UTF-16 without a mark at its start can be read as UTF-8, with NUL in every word."""

from functools import partial

import pytest

from espalier.data import stretches, text_corpus, treebank
from espalier.errors import DataError

LINE = "1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n"
FIX = r"the character NUL, which no text has; is the file in UTF-16\? Save it as UTF-8"


def in_parts(file, **kind):
    return stretches([file], pairs=9, **kind)


def refuse(text, bank, *, lines):
    """Every reader of a text and of a treebank names the first of these lines, or the second."""
    for file, line, readers in (
        (text, lines[0], (text_corpus, partial(in_parts, format="text"))),
        (bank, lines[1], (treebank, in_parts)),
    ):
        for read in readers:
            with pytest.raises(DataError, match=rf"^{file}, line {line}: {FIX}"):
                read(file)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_by_its_first_line(tmp_path, encoding):
    text, bank = tmp_path / "a.txt", tmp_path / "a.conllu"
    text.write_bytes(("the cat\n" * 40).encode(encoding))
    bank.write_bytes(LINE.encode(encoding))
    refuse(text, bank, lines=(1, 1))


def test_one_nul_is_refused_by_its_line(tmp_path):
    text, bank = tmp_path / "a.txt", tmp_path / "a.conllu"
    text.write_text("the cat\n" * 30 + "the\0cat\n" + "the cat\n" * 9)
    bank.write_text(f"{LINE}\n# text = G\0\n{LINE}")
    refuse(text, bank, lines=(31, 3))
