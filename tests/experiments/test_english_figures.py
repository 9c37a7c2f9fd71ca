import pandas as pd
import pytest

from espalier.experiments import find

RATES = (0.0, 0.3, 0.5, 0.6)


@pytest.mark.parametrize("name", ["english-dropout", "english-model", "english-gru"])
def test_rates_are_told_apart_without_colours(name):
    rows = pd.DataFrame(
        [(r, s, e, 300.0 / e + 9 * r + s) for r in RATES for s in (0, 1) for e in (1, 2, 3)],
        columns=["dropout", "seed", "epoch", "valid_perplexity"],
    )
    (panel,) = find(name).draw(rows).axes
    assert panel.get_ylabel() == "validation perplexity"
    lines = panel.get_lines()
    assert [line.get_label() for line in lines] == [f"dropout {rate:g}" for rate in RATES]
    for look in ("get_color", "get_linestyle", "get_marker"):
        assert len({getattr(line, look)() for line in lines}) == len(RATES)
