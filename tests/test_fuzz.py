"""Mutated files and command lines, some of each with fixed seeds: read, or refused with a word."""

import pytest
from benchmarks.fuzz import case_of, try_case
from benchmarks.fuzz_structures import odd_targets
from benchmarks.fuzz_targets import targets
from hypothesis import settings

CASES = min(settings().max_examples, 1_000)


@pytest.fixture(scope="module")
def known(tmp_path_factory):
    usual = targets(tmp_path_factory.mktemp("good"))
    return usual | odd_targets(usual)


@pytest.mark.parametrize(
    ("name", "share"),
    [
        *[("safetensors", 3), ("parquet", 3), ("toml", 2), ("conllu", 1), ("text", 1), ("npz", 2)],
        *[("odd-safetensors", 3), ("odd-parquet", 3), ("odd-toml", 2), ("odd-conllu", 1)],
        *[("odd-text", 3), ("odd-npz", 2), ("commands", 6)],
    ],
)
def test_a_mutated_file_is_read_or_refused_with_a_word(known, name, share, tmp_path):
    for number in range(CASES // share):
        wrong = try_case(known[name], number, tmp_path)
        assert not wrong, f"{name}:{number} {case_of(known[name], number)[1][:200]!r}: {wrong}"
