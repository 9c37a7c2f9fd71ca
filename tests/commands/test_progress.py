"""What would take more than an hour is refused before it has begun, and pipes hear of progress."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from espalier.cli import main
from espalier.commands import progress
from espalier.commands.progress import LONG, TRIAL, TooLongError, Trial, counting, duration
from espalier.runs import Moment

SMALL = [
    "corpus.tokens=3000", "corpus.vocabulary=20", "corpus.rules=100", "corpus.scaffolds=10",
    "corpus.copies=20", "corpus.tests=30", "recipe.batch=5", "recipe.window=10", "network.hidden=8",
]  # fmt: skip


def refusal(step, total, *, warming, begun):
    """After how many steps a run of steady pace is refused, if it is."""
    trial, count = Trial(lambda moment: None, "less"), 0
    stride = max(1, int(0.5 / step))
    while count < total and not trial.done:
        count = min(total, count + stride)
        try:
            trial(Moment(begun + count, begun + total, 10, warming + count * step, count))
        except TooLongError:
            return count
    return None


@given(
    step=st.floats(1e-3, 100),
    total=st.integers(10, 10**7),
    warming=st.floats(0, 1000),
    begun=st.integers(0, 1000),
)
def test_it_is_refused_if_and_only_if_it_takes_over_an_hour(step, total, warming, begun):
    """Whatever the first steps waited for, and wherever the run resumes."""
    count = refusal(step, total, warming=warming, begun=begun)
    if count is None:
        assert total * step < LONG + TRIAL + 2 * max(step, 0.5) + 2
    else:
        assert (total - count) * step > 0.999 * LONG
        assert count * step < TRIAL + 3 * max(step, 0.5) + 2


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(170_000, "2 days"), (7_300, "2 hours"), (100, "2 minutes"), (12, "12 seconds")],
)
def test_durations_are_said_as_people_do(seconds, said):
    assert duration(seconds) == said


def test_a_refused_run_leaves_nothing_and_a_yes_trains_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "TRIAL", 0.0)
    monkeypatch.setattr(progress, "LONG", 0.0)
    out = tmp_path / "run"
    words = ["train", "scaffold", "--length", "3", "--epochs", "2", "-o", str(out)]
    words += ["--device", "cpu", "--set", *SMALL]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert "would take about" in said
    assert "fewer --epochs" in said
    assert not out.exists()
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--yes"])
    assert not stopped.value.code
    assert (out / "epoch-2.safetensors").exists()


def test_a_reproduction_is_refused_and_goes_on_after_a_yes(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(progress, "TRIAL", 0.0)
    monkeypatch.setattr(progress, "LONG", 0.0)
    monkeypatch.chdir(tmp_path)
    words = ["reproduce", "bottom-up-figure-7", "--scale", "smoke", "--device", "cpu"]
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert "--yes" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--yes"])
    assert not stopped.value.code


def test_a_pipe_hears_a_line_now_and_then(monkeypatch, capsys):
    with counting("pairs") as report:
        report(1, 9)
        monkeypatch.setattr(progress, "EVERY", 0.0)
        report(5, 9)
    assert capsys.readouterr().err == "5 of 9 pairs\n"
