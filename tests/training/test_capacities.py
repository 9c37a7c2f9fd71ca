"""Steps whose batches differ in size: which one is taken, and that it holds the batch."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.data import ParityConfig
from espalier.nets import Dice
from espalier.nets.transformer import TransformerShape, random_transformers
from espalier.training import ParityRun, StepRecipe, parity, task_learner
from espalier.training.parity import ParityTask, capacities_for, cells_needed
from espalier.training.task_learner import OfDifferentSizes, TaskLearner, by_seed

CPU = torch.device("cpu")
SHAPE = TransformerShape(3, 2, width=8, hidden=8, heads=1, head_width=16, layers=1)
RUN = ParityRun(
    SHAPE,
    ParityConfig(20, 20),
    ParityConfig(24, 2, seed=1),
    StepRecipe(40, 64, measures=4, precision="bfloat16"),
    seeds=(3, 7),
)


@given(st.lists(st.integers(0, 1 << 40), min_size=1, max_size=4, unique=True), st.integers(0, 99))
@settings(max_examples=25)
def test_a_step_holds_what_its_members_draw(seeds, first):
    task = ParityTask.of(RUN, CPU)
    seeds, steps = torch.tensor(seeds), range(first, first + 7)
    found = cells_needed(task.lengths, RUN.recipe.batch, seeds, steps)
    sizes = capacities_for(task.lengths, RUN.recipe.batch, len(seeds))
    for step, cells in zip(steps, found, strict=True):
        below = torch.full_like(seeds, len(task.lengths))
        chosen = Dice(seeds, torch.tensor(step)).choices(0, RUN.recipe.batch, below)
        largest = int(task.lengths[chosen].sum(1).max())
        assert cells == min(size for size in sizes if size >= largest)


@given(st.lists(st.integers(1, 50), min_size=1), st.integers(1, 70), st.integers(1, 200))
def test_the_last_size_holds_every_batch(lengths, batch, members):
    sizes = capacities_for(torch.tensor(lengths), batch, members)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == batch * max(lengths)
    assert len(sizes) <= 3


def test_most_steps_fit_into_the_first_size():
    task = ParityTask.of(ParityRun(SHAPE, ParityConfig(20, 1_000)), CPU)
    for members in (1, 5, 50):
        sizes = capacities_for(task.lengths, 64, members)
        found = cells_needed(task.lengths, 64, torch.arange(members), range(200))
        assert found.count(sizes[0]) > 120
        assert found.count(sizes[-1]) < 20


def test_sizes_are_told_apart_only_where_batches_lie_end_to_end(monkeypatch):
    task = ParityTask.of(RUN, CPU)
    seeds, whole = torch.tensor([3, 7]), 64 * 21
    assert isinstance(task, OfDifferentSizes)
    assert task.capacities(seeds, range(50)) == [whole] * 50
    monkeypatch.setattr(parity, "trained_end_to_end", lambda *asked: True)
    assert len(set(task.capacities(seeds, range(50)))) > 1


def learner(monkeypatch, taken):
    """One that notes for which cells a step was captured, and which one is taken when."""
    monkeypatch.setattr(parity, "trained_end_to_end", lambda *asked: True)

    def captured(step, mutable, device):
        (task,) = step.args
        taken.append(f"captured {task.cells}")
        return lambda: (taken.append(task.cells), step())

    monkeypatch.setattr(task_learner, "captured", captured)
    task = ParityTask.of(RUN, CPU)
    weights = random_transformers(SHAPE, RUN.seeds)
    return TaskLearner(task, weights, RUN.recipe, members=by_seed(RUN.seeds), device=CPU)


def test_every_step_is_one_that_was_captured_for_its_size(monkeypatch):
    taken = []
    whole = learner(monkeypatch, taken)
    for steps in (1, 12, 27):
        whole.advance(steps)
    needed = whole.task.capacities(whole.seeds, range(40))
    assert [one for one in taken if isinstance(one, int)] == needed
    assert sorted(taken.count(f"captured {size}") for size in set(needed)) == [1] * len(set(needed))

    again = []
    resumed = learner(monkeypatch, again)
    resumed.restore(whole.state())
    resumed.advance(5)
    needed = whole.task.capacities(whole.seeds, range(40, 45))
    assert [one for one in again if isinstance(one, int)] == needed


def test_sizes_change_nothing_that_is_learnt(monkeypatch):
    several = learner(monkeypatch, [])
    several.advance(20)
    monkeypatch.undo()
    task = replace(ParityTask.of(RUN, CPU), cells=None)
    weights = random_transformers(SHAPE, RUN.seeds)
    one = TaskLearner(task, weights, RUN.recipe, members=by_seed(RUN.seeds), device=CPU)
    one.advance(20)
    for name, tensor in one.weights.items():
        torch.testing.assert_close(several.weights[name], tensor, rtol=0, atol=0)
