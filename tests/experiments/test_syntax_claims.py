import numpy as np
import pandas as pd
import pytest

from espalier.experiments.syntax_claims import decide, tabulate
from espalier.syntax import TREE


def rows_of(seeds, *, effect, uuas, falls=0.1):
    """What `summarise` would give of models whose numbers are these, and the baseline."""
    found = [{"seed": -1, "table": "probe", "space": "none", "weights": "neighbours", "uuas": 0.4}]
    for seed, space in [(s, space) for s in range(seeds) for space in ("hidden", "logits")]:
        own = {"seed": seed, "space": space}
        for distance in range(1, 11):
            mean = 1 - falls * distance + 0.001 * seed
            found.append(own | {"table": "distance", "distance": distance, "mean": mean})
        for distance in range(11):
            for name, value in ((TREE, effect), (f"{TREE}, frequency not held", -effect)):
                labels = {"table": "effect", "outcome": "log DI", "distance": distance}
                found.append(own | labels | {"name": name, "estimate": value + 0.001 * seed})
        labels = {"table": "probe", "weights": "DI", "shape": "noncrossing"}
        found.append(own | labels | {"uuas": uuas + 0.001 * seed})
    return pd.DataFrame(found)


def test_every_statement_is_decided_over_seeds():
    rows = rows_of(5, effect=-0.03, uuas=0.37)
    decided = pd.DataFrame(decide(rows))
    assert decided["holds"].all()
    assert len(decided) == 10
    assert (decided["seeds"] == 5).all()
    probe = decided[decided["claim"] == "S5"].iloc[0]
    wanted = np.mean([0.37 + 0.001 * seed - 0.4 for seed in range(5)])
    assert probe["mean"] == pytest.approx(wanted)
    assert set(tabulate(rows)["verdict"]) == {"holds"}


@pytest.mark.parametrize(
    ("claim", "changed"),
    [("S1", {"falls": -0.1}), ("S2", {"effect": 0.03}), ("S5", {"uuas": 0.41})],
)
def test_what_is_otherwise_does_not_hold(claim, changed):
    decided = pd.DataFrame(decide(rows_of(5, **({"effect": -0.03, "uuas": 0.37} | changed))))
    assert not decided[decided["claim"] == claim]["holds"].any()
