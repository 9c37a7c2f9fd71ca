"""Items of an experiment by workers: the rows that one process finds, in the same order."""

from espalier.experiments import RunCache
from espalier.runs import Workers


def rows_of(item, cache):
    return [{"item": item, "n": n, "place": cache.path.name} for n in range(item)]


def test_rows_are_the_same_and_in_order_by_workers(tmp_path):
    items = [3, 0, 2, 5]
    here = RunCache(tmp_path, device="cpu").gather(rows_of, items)
    there = RunCache(tmp_path, device="cpu", workers=Workers(2)).gather(rows_of, items)
    assert there == here
    assert [row["item"] for row in here] == [3, 3, 3, 2, 2, 5, 5, 5, 5, 5]
