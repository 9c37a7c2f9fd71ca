"""Text in UTF-16 without a mark at its start can be read as UTF-8, with NUL in every word."""

import pytest

from espalier.data import stretches, text_corpus, treebank
from espalier.errors import DataError

LINE = "1\tGo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n"
FIX = r"the character NUL, which no text has; is the file in UTF-16\? Save it as UTF-8"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_refused_by_its_first_line(tmp_path, encoding):
    text, bank = tmp_path / "a.txt", tmp_path / "a.conllu"
    text.write_bytes(("the cat\n" * 40).encode(encoding))
    bank.write_bytes(LINE.encode(encoding))
    with pytest.raises(DataError, match=rf"^{text}, line 1: {FIX}"):
        text_corpus(text)
    with pytest.raises(DataError, match=rf"^{text}, line 1: {FIX}"):
        stretches([text], format="text", pairs=9)
    for read in (treebank, lambda file: stretches([file], pairs=9)):
        with pytest.raises(DataError, match=rf"^{bank}, line 1: {FIX}"):
            read(bank)


def test_one_nul_is_refused_by_its_line(tmp_path):
    text, bank = tmp_path / "a.txt", tmp_path / "a.conllu"
    text.write_text("the cat\n" * 30 + "the\0cat\n" + "the cat\n" * 9)
    bank.write_text(f"{LINE}\n# text = G\0\n{LINE}")
    with pytest.raises(DataError, match=rf"line 31: {FIX}"):
        text_corpus(text)
    with pytest.raises(DataError, match=rf"line 31: {FIX}"):
        stretches([text], format="text", pairs=9)
    for read in (treebank, lambda file: stretches([file], pairs=9)):
        with pytest.raises(DataError, match=rf"line 3: {FIX}"):
            read(bank)
