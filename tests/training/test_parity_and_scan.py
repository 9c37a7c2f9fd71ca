"""Parity and SCAN from examples alone: the tasks by their definitions, and runs in folders."""

import json
import os
import signal
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.data.parity import ParityConfig, parity_set
from espalier.data.scan import Example
from espalier.nets import Dice, bfloat16_products
from espalier.nets.transformer import CELLS, layer_stack
from espalier.nets.transformer.model import TransformerShape, decode, encode, random_transformers
from espalier.runs import Interrupted
from espalier.training import SYMBOLS, ParityRun, ScanRun, StepRecipe, transformers
from espalier.training.optimisers import optimiser_of
from espalier.training.parity import ParityTask, predict
from espalier.training.scan import LONGEST, TranslationTask, _packed
from espalier.training.scan_batches import END, PAD, START, Packing, Pairs, read_split
from espalier.training.scan_counts import action_logits, counted, end_given, exactly

CPU = torch.device("cpu")
SIZES = {"width": 8, "hidden": 8, "heads": 2, "head_width": 4, "layers": 2, "longest": 16}
RECIPE = StepRecipe(12, 6, 1e-2, "adafactor", measures=3, precision="float32")


def parity_run(**more):
    shape = TransformerShape(3, 2, **SIZES)
    strings = {"train": ParityConfig(4, 5), "test": ParityConfig(8, 4, 1)}
    return ParityRun(shape, **(strings | {"seeds": 2, "recipe": RECIPE} | more))


def scan_run(**more):
    size = len(SYMBOLS)
    shape = TransformerShape(size, size, decoder=True, **SIZES)
    defaults = {"splits": ("upto:1,2", "upto:2,3"), "tests": 9, "recipe": RECIPE}
    return ScanRun(shape, **(defaults | more))


def test_a_parity_batch_is_judged_at_the_last_bit():
    run = parity_run()
    task, weights = ParityTask.of(run, CPU), random_transformers(run.shape, [0, 1])
    dice = Dice(torch.tensor([0, 1]), torch.tensor(5))
    strings = parity_set(run.train).strings()
    chosen = dice.choices(0, 6, torch.tensor([len(strings)] * 2))
    for member, loss in enumerate(task.losses(weights, dice).tolist()):
        own = {name: tensor[member : member + 1] for name, tensor in weights.items()}
        losses = []
        for row in chosen[member].tolist():
            tokens = torch.tensor([[[2, *map(int, strings[row])]]])
            lengths = torch.tensor([[tokens.shape[2]]])
            last = encode(own, run.shape, tokens, lengths=lengths).stream[0, 0, -1]
            shares = (last @ own["unembedding"][0]).log_softmax(0)
            losses.append(-float(shares[strings[row].count("1") % 2]))
        assert loss == pytest.approx(np.mean(losses), rel=1e-4)


def test_a_step_in_short_mantissas_is_the_one_that_gradients_through_a_cast_would_take():
    run = parity_run(recipe=replace(RECIPE, precision="bfloat16"))
    learner = run.prepare(CPU).learner
    weights = {name: tensor.detach().clone() for name, tensor in learner.weights.items()}
    known = [tensor.requires_grad_() for tensor in weights.values()]
    short = {name: tensor.bfloat16() for name, tensor in weights.items()}
    with bfloat16_products(CPU):
        losses = learner.task.losses(short, Dice(torch.tensor([0, 1]), torch.tensor(0)))
        gradients = torch.autograd.grad(losses.sum(), known)
    optimiser_of("adafactor", weights, 1e-2).update(gradients)
    learner.advance(1)
    assert all(torch.equal(learner.weights[name], weights[name]) for name in weights)


def test_predictions_do_not_depend_on_company(monkeypatch):
    run = parity_run()
    weights, test = random_transformers(run.shape, [0, 1]), parity_set(run.test)
    together = predict(weights, run.shape, test)
    monkeypatch.setattr(transformers, "CPU_CELLS", 1)
    assert np.array_equal(predict(weights, run.shape, test), together)
    assert together.shape == (2, len(test))
    right = (together == test.parities)[:, test.lengths > 4].mean(1)
    measured = ParityTask.of(run, CPU).measure(weights)
    assert [row["long"] for row in measured] == right.tolist()


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path):
    whole = es.train(parity_run(), device="cpu").rows

    def stop(moment):
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="saved in"):
        es.train(parity_run(), tmp_path / "run", device="cpu", progress=stop)
    assert json.loads((tmp_path / "run/manifest.json").read_text())["status"] == "interrupted"
    assert es.train(parity_run(), tmp_path / "run", device="cpu").rows == whole
    assert not list((tmp_path / "run").glob(".*"))
    with pytest.raises(es.ConfigError, match=r"holds another run: train.per_count 5 -> 6"):
        es.train(parity_run(train=ParityConfig(4, 6)), tmp_path / "run", device="cpu")


def test_scan_is_words_with_start_and_end():
    pairs = Pairs.of([Example("jump", "I_JUMP"), Example("walk twice", "I_WALK I_WALK")])
    jump, walk, twice = (SYMBOLS.index(word) for word in ("jump", "walk", "twice"))
    i_jump, i_walk = (SYMBOLS.index(word) for word in ("I_JUMP", "I_WALK"))
    assert pairs.commands.tolist() == [[jump, PAD], [walk, twice]]
    assert pairs.actions.tolist() == [[i_jump, END, PAD], [i_walk, i_walk, END]]


def test_one_pass_decides_what_greedy_decoding_would_give():
    """Of actions that are the model's own, of those where it stops too soon, and of true ones."""
    run = scan_run()
    test = Pairs.of(read_split("upto:1,2").test[:12])
    weights = random_transformers(run.shape, [0])
    weights["unembedding"][:, :, END] += 0.5  # some stop soon
    written = [greedy(weights, run.shape, command, 3) for command in test.commands]
    unstopped = [greedy(weights, run.shape, command, 3, stops=False) for command in test.commands]
    actions = test.actions.clone()
    for row in range(0, 12, 3):
        actions[row] = torch.tensor([*written[row], PAD, PAD][:3])
        actions[row + 1] = torch.tensor([*unstopped[row + 1][:2], END])
    ways = {"exactly": exactly, "told": end_given}
    found = counted(weights, run.shape, Pairs(test.commands, actions), ways)
    right, told = (found[name].bool() for name in ways)
    wanted = [[code for code in row if code != PAD] for row in actions.tolist()]
    assert right.tolist() == [one == other for one, other in zip(written, wanted, strict=True)]
    without = [[code for code in row if code != END] for row in wanted]
    assert told.tolist() == [
        one[: len(other)] == other for one, other in zip(unstopped, without, strict=True)
    ]
    assert right[::3].all()
    assert (told & ~right).any()
    assert not told.all()


def greedy(weights, shape, command, longest, *, stops=True):
    command = command[command != PAD].view(1, 1, -1)
    encoded = encode(weights, shape, command, lengths=torch.tensor([[command.shape[2]]]))
    written = []
    while len(written) < longest and END not in written:
        before = torch.tensor([[[START, *written]]])
        logits = decode(weights, shape, before, encoded)[0, 0, -1]
        if not stops:
            logits[END] = -torch.inf
        written.append(int(logits.argmax()))
    return written


def test_scan_members_learn_from_their_own_split():
    """Each member's loss in company is its loss alone."""
    run = scan_run()
    dice = Dice(torch.tensor([0, 0]), torch.tensor(3))
    together = TranslationTask.of(run, CPU).losses(random_transformers(run.shape, [0, 0]), dice)
    for member, split in enumerate(run.splits):
        alone = scan_run(splits=(split,))
        own = Dice(torch.tensor([0]), torch.tensor(3))
        loss = TranslationTask.of(alone, CPU).losses(random_transformers(run.shape, [0]), own)
        torch.testing.assert_close(loss[0], together[member])
    rows = es.train(run, device="cpu").rows
    assert [row["split"] for row in rows[:2]] == ["upto:1,2", "upto:2,3"]
    assert rows[-1]["train_loss"] < rows[0]["train_loss"]


@settings(deadline=None, max_examples=6)
@given(st.integers(0, 10_000), st.integers(1, 20))
def test_packed_examples_are_judged_as_if_each_were_alone(step, batch):
    run = scan_run(recipe=replace(RECIPE, batch=batch))
    task, weights = TranslationTask.of(run, CPU), random_transformers(run.shape, [0, 1])
    dice = Dice(torch.tensor([0, 1]), torch.tensor(step))
    chosen = task.drawn(dice)
    for member, loss in enumerate(task.losses(weights, dice).tolist()):
        own = {name: tensor[member : member + 1] for name, tensor in weights.items()}
        total, count = 0.0, 0
        for row in chosen[member].tolist():
            command, actions = (codes[row] for codes in (task.pairs.commands, task.pairs.actions))
            command, actions = command[command != PAD], actions[actions != PAD]
            logits = action_logits(own, run.shape, command[None, None], actions[None, None])
            shares = logits[0, 0].log_softmax(-1)
            total -= float(shares[torch.arange(len(actions)), actions].sum())
            count += len(actions)
        assert loss == pytest.approx(total / count, rel=1e-4)


@pytest.mark.parametrize("words", [LONGEST, 30, 60])
def test_losses_are_the_same_in_blocks(words):
    run = scan_run(recipe=replace(RECIPE, batch=20))
    task, weights = TranslationTask.of(run, CPU), random_transformers(run.shape, [0, 1])
    sizes = torch.bincount(task.packing.sequences[task.packing.filled]).tolist()
    blocks = replace(task, packing=Packing.in_blocks(sizes, words))
    assert blocks.packing.parts.shape != task.packing.parts.shape
    dice = Dice(torch.tensor([0, 1]), torch.tensor(3))
    torch.testing.assert_close(blocks.losses(weights, dice), task.losses(weights, dice))


def test_batches_are_in_blocks_where_kernels_train(monkeypatch):
    """Without the way to a device, which need not be there."""
    monkeypatch.setattr(Packing, "to", lambda packing, device: packing)
    monkeypatch.setattr(layer_stack, "_copies_blocks", lambda device: True)
    papers, cuda = ScanRun(), torch.device("cuda")
    exact = replace(papers, recipe=replace(papers.recipe, precision="float32"))
    for run, device, size in (
        (papers, cuda, (1, CELLS)),
        (papers, CPU, (2, 9)),
        (exact, cuda, (2, 9)),
        (scan_run(), cuda, (2, 9)),
    ):
        assert _packed(run, [9, 4], device).parts.shape == size


@given(st.integers(1, 300), st.integers(1, 50))
def test_examples_are_drawn_equally_often(count, batch):
    """Over all that the dice may say, each is drawn by as many throws as any other."""

    class EveryThrow:
        def choices(self, place, size, below):
            return torch.arange(count)[:, None].expand(-1, size)

    task = replace(
        TranslationTask.of(scan_run(recipe=replace(RECIPE, batch=batch)), CPU),
        firsts=torch.full((count,), 5),
        counts=torch.full((count,), count),
    )
    drawn = task.drawn(EveryThrow())
    assert torch.equal(torch.bincount(drawn.flatten() - 5), torch.full((count,), batch))
    assert torch.equal(drawn, drawn.sort(1).values)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: parity_run(seeds=0), "seeds are 0; say how many"),
        (lambda: scan_run(splits=()), "splits are none; give one at least"),
        (lambda: scan_run(seeds="a"), "seeds are 'a'; say how many"),
        (lambda: ScanRun(TransformerShape(22, 22)), "written by a decoder"),
        (lambda: ScanRun(TransformerShape(22, 9, decoder=True)), r"are \(22, 9\); SCAN has 22 sym"),
        (
            lambda: ScanRun(
                TransformerShape(22, 22, decoder=True, positions="absolute", longest=8)
            ),
            "longest is 8; SCAN's commands have up to 9 words",
        ),
        (lambda: scan_run(tests=0), "tests is 0; it must be at least 1"),
        (lambda: scan_run(splits=("mcd1", "mcd1")), "give none twice: `seeds` trains several"),
        (lambda: ParityRun(TransformerShape(2, 2)), r"need \(3, 2, False\)"),
        (
            lambda: ParityRun(TransformerShape(3, 2, positions="absolute", longest=40)),
            "strings of 40 bits need 41 positions",
        ),
    ],
)
def test_runs_that_cannot_be_are_refused(make, message):
    with pytest.raises(es.ConfigError, match=message):
        make()


def test_a_split_that_is_none_is_refused():
    with pytest.raises(es.DataError, match="'upto:3' is not a split of SCAN; write 'upto:8,16'"):
        read_split("upto:3")


@pytest.mark.parametrize("split", ["upto:0,3", "upto:3,2"])
def test_a_split_without_examples_is_refused_before_there_is_a_folder(tmp_path, split):
    with pytest.raises(es.DataError, match=rf"the split '{split}' has .*; choose one with both"):
        es.train(scan_run(splits=(split,)), tmp_path / "run", device="cpu")
    assert not (tmp_path / "run").exists()


def test_only_strings_that_there_are_are_measured():
    """A test of no more bits than training had has no long strings, and says nothing of them."""
    run = parity_run(test=ParityConfig(4, 4, 1))
    rows = ParityTask.of(run, CPU).measure(random_transformers(run.shape, [0, 1]))
    assert [list(row) for row in rows] == [["train_accuracy", "short"]] * 2
