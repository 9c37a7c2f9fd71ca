import numpy as np
import pandas as pd

from espalier.show.figures import (
    draw_distances,
    draw_effects,
    draw_over_training,
    draw_probe,
    draw_strata,
)


def words_of(figure):
    return "\n".join(text.get_text() for text in figure.findobj(lambda o: hasattr(o, "get_text")))


def lines_of(panel):
    return {line.get_label(): line.get_xydata() for line in panel.get_lines()}


def bounded(frame):
    return frame.assign(low=frame["mean"] - 0.1, high=frame["mean"] + 0.1)


def test_distances_are_a_line_a_space():
    rows = pd.DataFrame(
        [("hidden", d, 0.5 / d) for d in (3, 1, 2)], columns=["space", "distance", "mean"]
    )
    figure = draw_distances(bounded(rows))
    [found] = lines_of(figure.axes[0]).values()
    np.testing.assert_allclose(found, [[1, 0.5], [2, 0.25], [3, 0.5 / 3]])


def test_a_panel_a_sequential_distance_and_a_line_a_class():
    rows = pd.DataFrame(
        [(d, c, t, 1 / (d + t)) for d in range(1, 8) for c in ("open", "closed") for t in (1, 2)],
        columns=["distance", "class", "tree", "mean"],
    )
    figure = draw_strata(bounded(rows), "DI, somewhere")
    panels = [panel for panel in figure.axes if panel.get_title()]
    titles = ["1 word apart", *(f"{d} words apart" for d in range(2, 8))]
    assert [panel.get_title() for panel in panels] == titles
    numbered = [panel.xaxis.get_tick_params()["labelbottom"] for panel in panels]
    assert numbered == [False] * 3 + [True] * 4  # below the fourth there is none
    for distance, panel in enumerate(panels, start=1):
        both = lines_of(panel)
        opens = both["both words open-class"][:, 1]
        np.testing.assert_allclose(opens, [1 / (distance + t) for t in (1, 2)])
        assert len(both["one of each"]) == 0
    assert "DI, somewhere" in words_of(figure)


def test_effects_name_all_distances_together():
    rows = pd.DataFrame({"space": "hidden", "distance": [0, 1, 2], "estimate": [-0.3, 0.1, 0.2]})
    rows = rows.assign(low=rows["estimate"] - 0.1, high=rows["estimate"] + 0.1)
    figure = draw_effects(pd.concat([rows.assign(held=held) for held in (True, False)]))
    assert [tick.get_text() for tick in figure.axes[0].get_xticklabels()] == ["all", "1", "2"]
    told = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert told == ["hidden states, frequency not held", "hidden states"]


def test_training_and_probe():
    rows = pd.DataFrame(
        [("effect", s, e, -e) for s in ("hidden", "logits") for e in (0.0, 0.5, 2.0)],
        columns=["measure", "space", "epoch", "mean"],
    )
    rows = bounded(rows).rename(columns={"mean": "value"})
    figure = draw_over_training(rows, {"effect": "the effect"})
    assert "the effect" in words_of(figure)
    table = pd.DataFrame(
        {
            "model": ["trained", "none"],
            "weights": ["DI", "neighbours"],
            "space": ["hidden", "none"],
            "shape": ["spanning", "-"],
            "uuas": [0.2, 0.4],
        }
    ).assign(low=0.1, high=0.5)
    shown = [tick.get_text() for tick in draw_probe(table).axes[0].get_yticklabels()]
    assert shown == ["trained: DI, hidden, spanning", "neighbours"]
