"""SCAN's split by length: variants of training, and ways of counting the same answers.

`length_models` has the hypotheses. All ways of counting are applied to the same weights, so shares
differ either by counting alone or by training alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from jaxtyping import Float
from torch import Tensor

from espalier.experiments.cache import RunCache
from espalier.experiments.experiment import Experiment, Row, Scale
from espalier.experiments.intervals import summarise
from espalier.experiments.length_models import STEPS, length_variants
from espalier.experiments.parity_models import Learners, label_of, name_of
from espalier.runs import RunFolder
from espalier.training import (
    FITTED,
    ScanVariant,
    exactly,
    read_split,
    some_of,
    train,
    ways_of_counting,
)

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

BEAMED = 10  # beam search on one in so many test commands, after the last step only
TRAINING, BEAMS, BEST = "training's commands", "beams of 4", "greedy, best step"
_DRAWN = ("greedy", "END given", "END not before training's longest", "cut at training's longest")
_TITLES = {"END not before training's longest": "END not before\ntraining's longest"} | {
    "cut at training's longest": "cut at\ntraining's longest"
}
_COLOURS = ("#1b1f27", "#d02f2f", "#1f62d0", "#2f9e5b", "#b8860b", "#8e44ad", "#16a0a8", "#999999")
_DASHES, _MARKERS = ("-", "--", ":", "-."), "os^DvPX*"


def config(scale: Scale) -> Learners:
    """The reference and its variants."""
    return Learners(length_variants(scale))


def measure(config: Learners, cache: RunCache) -> list[Row]:
    """One row per variant, seed, step, way of counting and number of actions."""
    return cache.gather(variant_rows, config.learners, label_of)


def variant_rows(run: ScanVariant, cache: RunCache) -> list[Row]:
    """What each way of counting finds after every measure of one variant's training.

    `actions` are whole ones, however they are spelt, and 0 for training's commands. `within` says
    whether answers have no more symbols than training's longest.
    """
    out = cache.path / name_of(run)
    train(run, out, device=str(cache.device), progress=cache.progress)
    folder, (name,) = RunFolder(out), run.splits
    split, whole = read_split(name), read_split(name.partition("+")[0])
    longest = max(one.length for one in split.train)
    tests, fitted = some_of(split.test, run.tests), some_of(split.train, FITTED)
    sizes = [one.length for one in some_of(whole.test, run.tests)]
    short = [one.length <= longest for one in tests]
    rows: list[Row] = []
    checkpoints = folder.checkpoints()
    for checkpoint, step in checkpoints.items():
        models = run.models(folder.load_checkpoint(checkpoint), cache.device)
        found = models.judge(tests, ways_of_counting(longest))
        learnt = models.judge(fitted, {TRAINING: exactly})
        labels: list[Row] = [
            {"variant": run.name, "seed": seed, "step": step} for seed in _seeds(run)
        ]
        for label, own, known in zip(labels, found, learnt, strict=True):
            rows += [label | row for row in by_length(own, sizes, short)]
            rows += [label | row for row in by_length(known, [0] * len(fitted))]
        if step == max(checkpoints.values()):
            few = some_of(range(len(tests)), -(-len(tests) // BEAMED))
            beamed = models.judge_by_beams([tests[n] for n in few])
            for label, one in zip(labels, beamed, strict=True):
                some = ([sizes[n] for n in few], [short[n] for n in few])
                rows += [label | row for row in by_length({BEAMS: one}, *some)]
    return rows


def by_length(
    found: Mapping[str, Float[Tensor, " M"]], sizes: Sequence[int], within: Sequence[bool] = ()
) -> list[Row]:
    """For every way and number of actions, how many commands there are and how many are right."""
    kinds = list(zip(sizes, within or [True] * len(sizes), strict=True))
    commands, rows = Counter(kinds), list[Row]()
    for way, shares in found.items():
        right = dict.fromkeys(commands, 0.0)
        for kind, share in zip(kinds, shares.tolist(), strict=True):
            right[kind] += share
        for size, short in sorted(commands):
            row: Row = {"way": way, "actions": size, "within": int(short)}
            own = (size, short)
            rows.append(row | {"right": right[own], "commands": commands[own]})
    return rows


def _seeds(run: ScanVariant) -> list[int]:
    return [int(one["seed"]) for one in run.members().values()]


def shares(rows: pandas.DataFrame, *more: str) -> pandas.DataFrame:
    """Accuracy by variant, seed, step, way and `more`, over all numbers of actions."""
    by = ["variant", "seed", "step", "way", *more]
    found = rows.groupby(by, as_index=False)[["right", "commands"]].sum()
    return found.assign(accuracy=found["right"] / found["commands"])


def tabulate(rows: pandas.DataFrame) -> pandas.DataFrame:
    """Every variant and way after the last step, with t intervals over seeds.

    Also greedy decoding at each seed's best step, chosen on the test set itself: an upper bound.
    """
    import pandas as pd

    every = shares(rows)
    last = every[every["step"] == every.groupby("variant")["step"].transform("max")]
    greedy = every[every["way"] == "greedy"]
    best = greedy.groupby(["variant", "seed"], as_index=False)["accuracy"].max()
    both = pd.concat([last, best.assign(way=BEST)])
    steps = every.groupby("variant", as_index=False)["step"].max()
    return summarise(both, "accuracy", by=["variant", "way"]).merge(steps, on="variant")


def draw(rows: pandas.DataFrame) -> Figure:
    """Accuracy over training: a panel for each of four ways of counting, one line per variant."""
    from espalier.show.figures import Facets, Look, draw_bands

    every = shares(rows)
    drawn = every[every["way"].isin(_DRAWN)]
    names = sorted(STEPS, key=lambda name: name != "reference")
    styles = zip(names, _COLOURS, 2 * _DASHES, _MARKERS, strict=True)
    looks = {name: Look(colour, dash, mark, name) for name, colour, dash, mark in styles}
    facets = Facets(
        x="step",
        line="variant",
        across="way",
        x_label="steps",
        titles=_TITLES,
        side="share of test commands answered rightly",
        looks=looks,
        height=3.0,
        columns=_DRAWN,
    )
    table = summarise(drawn, "accuracy", by=["way", "variant", "step"])
    limits = (-0.01, max(0.25, 1.05 * float(table["high"].max())))
    return draw_bands(table, replace(facets, limits=limits))


EXPERIMENTS = {
    "alta-length-split": Experiment(
        "SCAN's split by length: variants of training and ways of counting",
        config,
        measure,
        tabulate,
        draw,
    )
}
