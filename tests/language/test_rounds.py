"""How often paths are run again, and in which orders."""

import pytest

from espalier.language.rounds import CHEAP_RUNS, MOST_RUNS_OF_A_PATH, RUNS_OF_A_PATH, rounds


@pytest.mark.parametrize("paths", [1, 2, 60, 166, 1_000, 1_666, 4_096, 100_000])
def test_code_that_could_be_a_coin_is_asked_twelve_times_and_more_where_there_are_few(paths):
    asked = 1 + len(list(rounds(paths, is_steady=False)))
    expected = min(max(RUNS_OF_A_PATH, CHEAP_RUNS // paths), MOST_RUNS_OF_A_PATH)
    assert asked == expected
    steady = 1 + len(list(rounds(paths, is_steady=True)))
    assert steady == min(max(20_000 // paths, 2), RUNS_OF_A_PATH)


def test_every_order_has_all_values_and_they_differ():
    found = [tuple(order(6)) for order in rounds(100, is_steady=False)]
    assert found[0] == (5, 4, 3, 2, 1, 0)
    assert all(sorted(order) == [0, 1, 2, 3, 4, 5] for order in found)
    assert len(set(found)) > len(found) / 2
