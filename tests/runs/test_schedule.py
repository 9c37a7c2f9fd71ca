import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.errors import ConfigError
from espalier.runs import (
    AtEpochs,
    AtSteps,
    EveryEpoch,
    LogSteps,
    checkpoint_name,
    parse_schedule,
    steps_of,
)


@given(st.integers(1, 60), st.integers(1, 2000), st.integers(1, 70), st.integers(1, 8))
def test_steps_lie_within_training_and_the_last_epoch_is_kept(epochs, per_epoch, every, octave):
    given_ = {"epochs": epochs, "steps_per_epoch": per_epoch}
    kept = steps_of(EveryEpoch(every), **given_)
    assert max(kept) == epochs * per_epoch
    assert all(step % per_epoch == 0 for step in kept)
    early = steps_of(LogSteps(octave), **given_)
    assert 1 in early
    assert max(early) <= epochs * per_epoch


@given(st.integers(1, 4), st.integers(1, 30))
def test_steps_by_octave_are_at_most_all_steps(epochs, per_epoch):
    total = epochs * per_epoch
    for octave in (total, total + 1, 10**30):
        kept = steps_of(LogSteps(octave), epochs=epochs, steps_per_epoch=per_epoch)
        assert kept == set(range(1, total + 1))
    slow = {round(2 ** (k / (4 * total))) for k in range(int(math.log2(total) * 4 * total) + 1)}
    assert slow == set(range(1, total + 1))


def test_names_and_words():
    assert checkpoint_name(0, 10) == "step-0"
    assert checkpoint_name(15, 10) == "step-15"
    assert checkpoint_name(40, 10) == "epoch-4"
    assert parse_schedule("epoch") == (EveryEpoch(1),)
    assert parse_schedule("epochs:0,2") == (AtEpochs((0, 2)),)
    assert steps_of(AtEpochs((0, 2, 9)), epochs=4, steps_per_epoch=10) == {0, 20}
    assert parse_schedule("epoch:5 + log:4 + step:1,7") == (
        EveryEpoch(5),
        LogSteps(4),
        AtSteps((1, 7)),
    )


@pytest.mark.parametrize(
    "text", ["", "epochs", "epochs:-2", "epoch:0", "log:x", "step:", "step:1,b", "step:-1"]
)
def test_other_words_are_refused_with_the_grammar(text):
    with pytest.raises(ConfigError, match="not a checkpoint schedule; use 'epoch'"):
        parse_schedule(text)
