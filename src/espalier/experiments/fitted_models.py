"""Five seeds of the models of which Tables 2, 3 and 6 have one, stacked, trained until fitted.

Decided before any of these was trained: there are twenty measures up to the paper's last step.
Training ends at the first after three in a row at which every member, of all seeds and splits, had
at least 99% of a fixed sample of training's examples right, whatever the test accuracy. An MLP is
trained on traces until all lessons were right at ten in a row: a sub-layer is applied again and
again, and at the small scale all lessons are right long before answers beyond training's lengths
settle, so that three in a row would end it too soon.

Two things were added later, before any of the models concerned was trained. Table 6's deeper
Transformers, none of which was trained before, have one seed by the same rule, since the last step
costs two to three times as much. Sum + Modulo, which has 400,000 steps where the other programs
have 50,000, is measured every 5,000, so that it is trained at least as long as their full training.
"""

from __future__ import annotations

from dataclasses import replace

from espalier.experiments.experiment import Scale, check_scale
from espalier.experiments.parity_models import Traced, end_to_end, traced, translators
from espalier.nets.transformer import TransformerShape
from espalier.training import ParityRun, ScanRun, StepRecipe

SEEDS, MEASURES, SHARE = 5, 20, 0.99
LESSONS_IN_A_ROW = 10  # measures at which an MLP has to have every lesson right
LONGEST = 5_000  # steps between two measures of an MLP
DEPTHS = {"paper": (2, 6), "small": (), "smoke": (1,)}  # of Table 6, with five seeds
TO_THE_LAST_STEP = (16, 32)  # deeper ones, shared and relative, that need no other run


def traced_until_fitted(scale: Scale) -> tuple[Traced, ...]:
    """The programs that have one seed at the paper's scale."""
    found = []
    for one in {"paper": traced(scale)[1:], "small": (), "smoke": traced(scale)[1:2]}[scale]:
        measures = max(MEASURES, one.settings.recipe.steps // LONGEST)
        recipe = until_fitted(one.settings.recipe, share=1.0, measures=measures)
        recipe = replace(recipe, stop_measures=LESSONS_IN_A_ROW)
        found.append(replace(one, settings=replace(one.settings, recipe=recipe), seeds=SEEDS))
    return tuple(found)


def end_to_end_until_fitted(scale: Scale) -> tuple[ParityRun, ...]:
    """Table 3's Transformers, all eight at the paper's scale."""
    runs = {"paper": end_to_end(scale), "small": (), "smoke": end_to_end(scale)[:1]}[scale]
    share = 0.2 if scale == "smoke" else SHARE  # so that a few steps reach it
    return tuple(
        replace(run, recipe=until_fitted(run.recipe, share=share), seeds=SEEDS) for run in runs
    )


def translators_until_fitted(scale: Scale) -> tuple[ScanRun, ...]:
    """Table 6's Transformers: five seeds of 2 and 6 layers, one of the deeper ones."""
    runs = [run for run in translators(scale) if run.shape.layers in DEPTHS[check_scale(scale)]]
    if scale == "smoke":  # few enough commands to be learnt by heart
        recipe = StepRecipe(100, 8, 3e-2, "adam", precision="float32")
        runs = [replace(run, splits=run.splits[:1], recipe=recipe) for run in runs[::3]]
    several = [replace(run, recipe=until_fitted(run.recipe), seeds=SEEDS) for run in runs]
    deeper = [run for run in translators(scale) if scale == "paper" and _is_missing(run.shape)]
    alone = [replace(run, recipe=until_fitted(run.recipe), seeds=1) for run in deeper]
    return (*several, *sorted(alone, key=lambda run: run.shape.layers))


def _is_missing(shape: TransformerShape) -> bool:
    """A depth of the paper's of which there is no run to the last step."""
    trained = shape.shared and shape.positions == "relative" and shape.layers in TO_THE_LAST_STEP
    return shape.layers not in DEPTHS["paper"] and not trained


def until_fitted(
    recipe: StepRecipe, *, share: float = SHARE, measures: int = MEASURES
) -> StepRecipe:
    """The same recipe, ended by a share of training's examples.

    >>> until_fitted(StepRecipe(100_000)).stop_share
    0.99
    """
    steps = max(recipe.steps, measures)  # at the smoke scale there are fewer
    return replace(recipe, steps=steps, measures=measures, stop_share=share)
