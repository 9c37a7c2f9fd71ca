"""Items of an experiment on workers: the rows that one process finds, in the same order."""

import pytest

from espalier.experiments import RunCache, find
from espalier.runs import Workers, describe


def rows_of(item, cache):
    return [{"item": item, "n": n, "place": cache.path.name} for n in range(item)]


def test_rows_are_the_same_and_in_order_by_workers(tmp_path):
    items = [3, 0, 2, 5]
    here = RunCache(tmp_path, device="cpu").gather(rows_of, items)
    told = []
    apart = RunCache(tmp_path, device="cpu", workers=Workers(2), progress=told.append)
    assert apart.gather(rows_of, items, label=lambda item: f"item {item}") == here
    assert [describe(moment).partition(" cells done:")[1] for moment in told] == [
        " cells done:"
    ] * 4
    assert {moment.cell.partition(",")[0] for moment in told} == {f"item {n}" for n in items}
    assert [row["item"] for row in here] == [3, 3, 3, 2, 2, 5, 5, 5, 5, 5]


@pytest.mark.parametrize("name", ["minimal-versions", "syntax-over-training"])
def test_an_experiment_by_workers_finds_the_same(name, tmp_path):
    config = find(name).config("smoke")
    here = find(name).measure(config, RunCache(tmp_path / "here", device="cpu"))
    apart = RunCache(tmp_path / "apart", device="cpu", workers=Workers(2))
    assert find(name).measure(config, apart) == here
