"""The table of networks and calls in docs/networks.md says what happens, cell by cell."""

import re

import pytest
from benchmarks.network_cells import CALLS, GROUPS, PAGE, Case, outcome

DRAWN = ("`.plot()`", "`.save()`")  # once for every column
PAIRS = [(group, kind) for group, kinds in GROUPS.items() for kind in kinds]


def table():
    page = PAGE.read_text().partition("begin networks-and-calls")[2]
    lines = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| ")]
    rows = {call: dict(zip(lines[0][1:], cells, strict=True)) for call, *cells in lines[1:]}
    return rows, dict(re.findall(r"(?m)^(\d+)\. (.+)$", page))


def test_the_table_has_every_call_and_every_kind():
    rows, notes = table()
    assert list(rows) == list(CALLS)
    assert {tuple(row) for row in rows.values()} == {tuple(GROUPS)}
    assert {cell for row in rows.values() for cell in row.values()} == {
        "yes", *(f"no ({number})" for number in notes),
    }  # fmt: skip


@pytest.mark.parametrize(("group", "kind"), PAIRS, ids=[kind for _, kind in PAIRS])
def test_every_cell_is_what_the_table_says(group, kind):
    (rows, notes), case = table(), Case(kind)
    for call, row in rows.items():
        if call in DRAWN and kind != GROUPS[group][0]:
            continue
        found = outcome(case, call)
        wanted = "" if row[group] == "yes" else notes[row[group].strip("no ()")]
        assert found == wanted, call
