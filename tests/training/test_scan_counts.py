"""Ways of counting answers, each against answers that were written symbol by symbol."""

import functools
import itertools
import math
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from espalier.nets.transformer import TransformerShape, decode, encode, random_transformers
from espalier.training import SYMBOLS, ways_of_counting
from espalier.training.scan_batches import END, PAD, START, Pairs, read_split
from espalier.training.scan_beams import beam_search, found_by_beams
from espalier.training.scan_counts import LOWERED, counted, end_not_before

SIZES = {"width": 8, "hidden": 8, "heads": 2, "head_width": 4, "layers": 1, "decoder": True}
SHAPE = TransformerShape(len(SYMBOLS), len(SYMBOLS), **SIZES)
LONGEST = 2  # as if training had ended there
CUT = "cut at training's longest"


def drawn(seed, end):
    weights = random_transformers(SHAPE, [seed])
    weights["unembedding"][:, :, END] += end
    return weights


def reader(weights, command, shape=SHAPE):
    """A function from symbols written so far to logits, for one command."""
    command = command[command != PAD].view(1, 1, -1)
    encoded = encode(weights, shape, command, lengths=torch.tensor([[command.shape[2]]]))

    @functools.cache
    def logits_after(*written):
        return decode(weights, shape, torch.tensor([[[START, *written]]]), encoded)[0, 0, -1]

    return logits_after


def write(logits_after, most, change=lambda logits, place: None):
    """Greedy decoding of up to `most` symbols; `change` may do something to logits in place."""
    written = []
    while len(written) < most and END not in written:
        logits = logits_after(*written).clone()
        change(logits, len(written))
        written.append(int(logits.argmax()))
    return written


def never(logits, place):
    logits[END] = -math.inf


def slowly(read, actions):
    """Every way by writing the answer down."""
    truth = [code for code in actions.tolist() if code != PAD]
    size = len(truth)

    def lower(much):
        def change(logits, place):
            logits[END] -= much

        return change

    def later(logits, place):
        if place < LONGEST:
            logits[END] = -math.inf

    greedy, untold = write(read, size), write(read, size, never)
    likeliest = [int(read(*truth[:n]).argmax()) == truth[n] for n in range(size)]
    return {
        "greedy": greedy == truth,
        "END given": untold[:-1] == truth[:-1],
        "END not before training's longest": write(read, size, later) == truth,
        **{f"END lowered by {much}": write(read, size, lower(much)) == truth for much in LOWERED},
        CUT: greedy[:LONGEST] == truth[:LONGEST],
        f"{CUT}, END given": untold[: min(LONGEST, size - 1)] == truth[:-1][:LONGEST],
        "cut at half of training's longest": greedy[:1] == truth[:1],
        "share of symbols": sum(likeliest) / size,
    }


@settings(deadline=None, max_examples=5)
@given(st.integers(0, 10_000), st.floats(-0.5, 1.0))
def test_one_pass_counts_what_written_answers_would(seed, end):
    """Of true actions, and of what the model itself writes with END as it is, late or never."""
    weights, test = drawn(seed, end), Pairs.of(read_split("upto:2,3").test[:6])
    read = [reader(weights, command) for command in test.commands]
    actions = torch.zeros(6, 5, dtype=torch.long)
    actions[:, :4] = test.actions
    for row, change in enumerate((lambda logits, place: None, never)):
        own = write(read[row], 4, change)
        own = own if END in own else [*own, END]
        if PAD not in own:
            actions[row] = torch.tensor([*own, *[PAD] * (5 - len(own))])
    found = counted(weights, SHAPE, Pairs(test.commands, actions), ways_of_counting(LONGEST))
    for row, truth in enumerate(actions):
        wanted = slowly(read[row], truth)
        assert found.keys() == wanted.keys()
        for way, share in wanted.items():
            assert float(found[way][row]) == pytest.approx(float(share)), way


def test_where_end_may_come_at_once_nothing_is_changed():
    logits, actions = torch.randn(4, 3, len(SYMBOLS)), torch.full((4, 3), END)
    assert torch.equal(
        end_not_before(0)(logits, actions), (logits.argmax(-1) == END).all(1).float()
    )


@settings(deadline=None, max_examples=4)
@given(st.integers(0, 10_000), st.floats(0, 2.0), st.floats(0.0, 1.5))
def test_beams_that_hold_everything_find_the_best_of_all_answers(seed, end, penalty):
    shape = replace(SHAPE, outputs=6)  # so few that all answers can be tried
    weights = random_transformers(shape, [seed])
    weights["unembedding"][:, :, END] += end
    command = Pairs.of(read_split("upto:1,2").test[:1]).commands
    read, others = reader(weights, command[0], shape), [n for n in range(6) if n != END]
    best, score = None, -math.inf
    for size in (1, 2, 3):
        for symbols in itertools.product(others, repeat=size - 1):
            answer = [*symbols, END]
            likely = sum(
                float(read(*answer[:n]).log_softmax(-1)[code]) for n, code in enumerate(answer)
            )
            if likely / ((5 + size) / 6) ** penalty > score:
                best, score = answer, likely / ((5 + size) / 6) ** penalty
    found = beam_search(weights, shape, command, longest=3, beams=30, penalty=penalty)
    assert found.tolist() == [[*best, *[PAD] * (3 - len(best))]]


def test_beams_are_right_where_they_write_the_truth():
    weights, test = drawn(1, 0.5), Pairs.of(read_split("upto:1,2").test[:5])
    answers = beam_search(weights, SHAPE, test.commands, longest=test.actions.shape[1])
    actions = test.actions.clone()
    actions[::2] = answers[::2]
    right = found_by_beams(weights, SHAPE, Pairs(test.commands, actions))
    assert right.tolist() == (answers == actions).all(1).tolist()
    assert right[::2].all()
