"""Variants of training on SCAN: what each changes, and that nothing else does."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier.nets.noise import Dice
from espalier.nets.transformer import Dropout, TransformerShape
from espalier.training import ScanRun, ScanVariant, StepRecipe, symbols_of, train
from espalier.training.scan_batches import END, PAD, SPELLINGS, Pairs, read_split
from espalier.training.scan_counts import action_logits

CPU = torch.device("cpu")
SIZES = {"width": 8, "hidden": 8, "heads": 2, "head_width": 4, "layers": 2}
RECIPE = StepRecipe(4, 6, 1e-2, "adafactor", measures=2, precision="float32")


def variant(split="upto:1,2", **more):
    size = len(symbols_of([split]))
    shape = TransformerShape(size, size, decoder=True, **SIZES)
    return ScanVariant(shape, (split,), RECIPE, seeds=2, tests=9, **more)


def dice(step=3):
    return Dice(torch.tensor([0, 1]), torch.tensor(step))


def test_a_variant_that_changes_nothing_is_the_run_itself():
    own = variant()
    same = ScanRun(own.shape, own.splits, own.recipe, own.seeds, own.tests)
    rows, plain = (train(run, device="cpu").rows for run in (own, same))
    assert rows == plain


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_pieces_put_together_are_the_actions(spelling):
    whole, spelt = read_split("upto:2,4"), read_split(f"upto:2,4+{spelling}")
    for part in ("train", "test"):
        for one, other in zip(getattr(whole, part), getattr(spelt, part), strict=True):
            text = other.actions.replace("_ ", "_")
            text = text.replace("L TURN", "I_TURN_LEFT").replace("R TURN", "I_TURN_RIGHT")
            assert (other.command, text) == (one.command, one.actions)
            assert other.length > one.length or "TURN" not in text
    assert int(Pairs.of(spelt.test).actions.max()) < len(symbols_of([spelt.name]))


def test_a_spelling_that_is_none_is_refused():
    with pytest.raises(es.DataError, match=r"has no spelling 'turn'; did you mean 'turns'"):
        read_split("upto:1,2+turn")
    with pytest.raises(es.ConfigError, match="SCAN has 22 symbols"):
        replace(variant("upto:1,2+turns"), splits=("upto:1,2",))
    for wrong in ({"dropout": 1.0}, {"dropout": -0.1}, {"decoder_positions": "none"}):
        with pytest.raises(es.ConfigError, match=next(iter(wrong))):
            variant(**wrong)


def mean_loss(run, weights, task, member, *, skipped=()):
    """The mean over symbols of a batch's examples, each read alone."""
    own = {name: tensor[member : member + 1] for name, tensor in weights.items()}
    losses = []
    for row in task.drawn(dice())[member].tolist():
        command, actions = (codes[row] for codes in (task.pairs.commands, task.pairs.actions))
        command, actions = command[command != PAD], actions[actions != PAD]
        logits = action_logits(own, run.shape, command[None, None], actions[None, None])
        shares = logits[0, 0].log_softmax(-1)[torch.arange(len(actions)), actions]
        losses += [
            -float(x) for x, code in zip(shares, actions, strict=True) if code not in skipped
        ]
    return sum(losses) / len(losses)


@pytest.mark.parametrize("positions", ["relative", "absolute"])
@pytest.mark.parametrize("trained_end", [True, False])
def test_losses_are_those_of_examples_alone_with_or_without_end(positions, trained_end):
    run = variant("upto:2,3+turns", decoder_positions=positions, trained_end=trained_end)
    weights, task = run.first_weights([0, 1]), run.task(CPU)
    assert ("decoder.relative" in weights) == (positions == "relative")
    skipped = () if trained_end else (END,)
    for member, loss in enumerate(task.losses(weights, dice()).tolist()):
        wanted = mean_loss(run, weights, task, member, skipped=skipped)
        assert loss == pytest.approx(wanted, rel=1e-4)


def test_absolute_positions_tell_repeated_symbols_apart_and_end_somewhere():
    run = variant(decoder_positions="absolute")
    weights = run.first_weights([0])
    same = torch.full((1, 1, 4), 17)
    command = Pairs.of(read_split("upto:1,2").test[:1]).commands[None]
    logits = action_logits(weights, run.shape, command, same)[0, 0]
    assert not torch.allclose(logits[2], logits[3])
    with pytest.raises(es.ModelError, match="has 129 positions; this model has embeddings for 128"):
        action_logits(weights, run.shape, command, torch.full((1, 1, 129), 17))


@settings(deadline=None, max_examples=10)
@given(st.integers(0, 10_000), st.floats(0.05, 0.9))
def test_dropout_drops_so_much_and_scales_up_the_rest(step, rate):
    values = torch.full((2, 8, 10, 50), 3.0)
    dropped = Dropout(rate, dice(step))(values)
    kept = dropped != 0
    torch.testing.assert_close(dropped[kept], torch.full_like(dropped[kept], 3 / (1 - rate)))
    assert float(kept.float().mean()) == pytest.approx(1 - rate, abs=0.05)
    assert not torch.equal(kept[0], kept[1]), "members have masks of their own"


def test_dropout_is_drawn_anew_at_every_use_and_step_and_is_the_same_again():
    values = torch.ones(2, 2, 3, 8)
    one, again = Dropout(0.5, dice(1)), Dropout(0.5, dice(1))
    first, second = one(values), one(values)
    assert torch.equal(first, again(values))
    assert not torch.equal(first, second)
    assert not torch.equal(first, Dropout(0.5, dice(2))(values))
    added = Dropout(0.5, dice(1)).after(lambda z: z + 1, values)
    torch.testing.assert_close(added, values + first)


def test_dropout_changes_losses_and_not_measures():
    plain, dropping = variant(), variant(dropout=0.3)
    weights = plain.first_weights([0, 1])
    tasks = [run.task(CPU) for run in (plain, dropping)]
    losses = [task.losses(weights, dice()) for task in tasks]
    assert not torch.allclose(*losses)
    assert tasks[0].measure(weights) == tasks[1].measure(weights)
