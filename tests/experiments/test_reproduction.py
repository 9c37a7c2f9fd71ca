import json
import shutil
import signal
import sys
import threading
import time
from dataclasses import replace

import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import espalier as es
from espalier.errors import ConfigError, FileError
from espalier.experiments import RunCache, find, names, read_reproduction, reproduce
from espalier.experiments.deadline import deadline
from espalier.experiments.parity_models import Learners, label_of
from espalier.experiments.scaffold_models import familiarity
from espalier.experiments.scaffold_rows import OverEpochs
from espalier.runs import Interrupted, RunFolder, Workers

LABELS = {
    "bottom-up-figure-7": ("epoch", "P(close)", "scaffold length 4", "familiar"),
    "bottom-up-figure-8": ("epoch", "P(close | open)", "scaffold length 4", "familiar"),
    "bottom-up-figure-9": ("k = 4", "P(close | open + i tokens)", "epoch 2", "unfamiliar"),
    "bottom-up-figure-10": ("epoch", "DI(open, scaffold), hidden", "scaffold length 2"),
    "bottom-up-figure-11": ("scaffold length k", "P(close | focus)", "20 rules", "open symbol"),
    "bottom-up-figure-12": ("place in the rule", "dE(close)/dh", "scaffold length 4"),
    "interdependence-figure-6": ("epoch", "DI(open, scaffold), logits", "familiar"),
    "english-dropout": ("epoch", "validation perplexity", "dropout 0.5"),
    "scaffold-claims": ("scaffold length k", "P(close | open) at the end", "holds"),
    "scaffold-claims-further": ("scaffold length k", "and is brittle to overtraining", "holds"),
}


def words_of(figure):
    """Everything that is written in a figure, however its lines are broken."""
    return " ".join(
        word
        for text in figure.findobj(lambda one: hasattr(one, "get_text"))
        for word in text.get_text().split()
    )


@pytest.mark.parametrize("name", names())
def test_every_experiment_at_the_smallest_scale(name, cache, tmp_path):
    found = reproduce(name, scale="smoke", out=tmp_path / "out", runs=cache)
    assert {file.name for file in found.path.iterdir()} == {
        "manifest.json", "rows.parquet", "figure.png", "figure.svg",
    }  # fmt: skip
    assert len(found.rows)
    tables = found.rows.groupby("table") if "table" in found.rows else [("", found.rows)]
    for _, some in tables:
        assert not some.dropna(axis="columns", how="all").isna().any().any()
    shown = words_of(found.plot()) if name in LABELS else ""
    assert [label for label in LABELS.get(name, ()) if label not in shown] == []
    assert name in repr(found)
    assert len(found.table())
    manifest = json.loads((found.path / "manifest.json").read_text())
    assert (manifest["status"], manifest["name"], manifest["scale"]) == ("finished", name, "smoke")
    assert manifest["seeds"] == list(range(5 if name.startswith("alta-table-") else 2))
    assert len(manifest["data"]["sha256"]) == 64
    assert {"espalier", "torch", "numpy", "pandas", "matplotlib"} <= manifest["versions"].keys()
    assert manifest["threads"] >= 1


def test_a_finished_one_is_read_and_not_computed(cache, tmp_path):
    first = reproduce("bottom-up-figure-7", scale="smoke", out=tmp_path, runs=cache)
    again = reproduce("bottom-up-figure-7", scale="smoke", out=tmp_path, runs=RunCache("/nowhere"))
    assert_frame_equal(first.rows, again.rows)
    assert first.manifest == again.manifest
    assert_frame_equal(read_reproduction(tmp_path).to_frame(), first.rows)
    first.save(tmp_path / "rows.csv")
    assert len(pd.read_csv(tmp_path / "rows.csv")) == len(first.rows)
    assert first._repr_png_().startswith(b"\x89PNG")
    (tmp_path / "rows.parquet").unlink()
    with pytest.raises(FileError, match=r"lacks rows\.parquet; remove the folder"):
        reproduce("bottom-up-figure-7", scale="smoke", out=tmp_path, runs=cache)


def test_both_papers_show_one_computation(cache):
    for earlier, later in (("3", "7"), ("4", "8"), ("5", "9"), ("6", "10"), ("10", "11")):
        one, other = find(f"interdependence-figure-{earlier}"), find(f"bottom-up-figure-{later}")
        assert one.measure is other.measure
        assert one.config("smoke") == other.config("smoke")
    ten = find("bottom-up-figure-10")
    rows = pd.DataFrame(cache.rows(ten.measure, ten.config("smoke")))
    assert not rows["hidden"].equals(rows["logits"])


def test_measures_and_readings_are_of_the_same_members(cache):
    seven, nine = find("bottom-up-figure-7"), find("bottom-up-figure-9")
    metrics = pd.DataFrame(cache.rows(seven.measure, seven.config("smoke")))
    readings = pd.DataFrame(cache.rows(nine.measure, nine.config("smoke")))
    key = ["length", "setting", "seed"]
    eight = pd.DataFrame(cache.rows(find("bottom-up-figure-8").measure, OverEpochs.at("smoke")))
    for rows in (readings, eight):
        assert set(map(tuple, rows[key].to_numpy())) <= set(map(tuple, metrics[key].to_numpy()))
    # the open symbol in focus alone is Figure 8's quantity and Figure 9's first point
    start = readings[readings["in_focus"] == 0].set_index([*key, "epoch", "domain"])["probability"]
    same = eight.set_index([*key, "epoch", "domain"])["probability"].reindex(start.index)
    assert start.to_numpy() == pytest.approx(same.to_numpy())


TINY = replace(familiarity("smoke"), lengths=(2,), seeds=1)


def test_an_interrupted_one_ends_with_the_same_numbers(tmp_path):
    config = OverEpochs(TINY)

    def stop(moment):
        if moment.rows:
            signal.raise_signal(signal.SIGINT)

    given = {"scale": "smoke", "config": config}
    out, runs = tmp_path / "out", tmp_path / "runs"
    cache = RunCache(runs, device="cpu", progress=stop)
    with pytest.raises(Interrupted, match="the same command resumes"):
        reproduce("bottom-up-figure-8", out=out, runs=cache, **given)
    assert RunFolder(out).manifest()["status"] == "interrupted"
    assert not (out / "rows.parquet").exists()
    with pytest.raises(ConfigError, match="no finished reproduction"):
        read_reproduction(out)
    steps = []
    later = RunCache(runs, device="cpu", progress=lambda moment: steps.append(moment.step))
    found = reproduce("bottom-up-figure-8", out=out, runs=later, **given)
    assert min(steps) > 39  # an epoch: it resumed and did not start over
    whole = RunCache(tmp_path / "others", device="cpu")
    straight = reproduce("bottom-up-figure-8", out=tmp_path / "straight", runs=whole, **given)
    assert_frame_equal(found.rows, straight.rows)
    assert found.manifest["data"] == straight.manifest["data"]


def test_what_is_not_there_or_something_else_is_refused(cache, tmp_path):
    with pytest.raises(ConfigError, match="no experiment 'bottom-up-figure-77'; did you mean"):
        es.reproduce("bottom-up-figure-77")
    with pytest.raises(ConfigError, match="no scale 'papre'; did you mean 'paper'"):
        reproduce("bottom-up-figure-7", scale="papre", out=tmp_path, runs=cache)
    out = tmp_path / "out"
    reproduce("bottom-up-figure-7", scale="smoke", out=out, runs=cache)
    with pytest.raises(ConfigError, match=r"holds bottom-up-figure-7 \(smoke\), not .* \(paper\)"):
        reproduce("bottom-up-figure-7", scale="paper", out=out, runs=cache)
    with pytest.raises(ConfigError, match=r"not bottom-up-figure-8 \(smoke\); give another"):
        reproduce("bottom-up-figure-8", scale="smoke", out=out, runs=cache)
    with pytest.raises(ConfigError, match=r"holds another run: models\.lengths\.1 4 -> None"):
        reproduce("bottom-up-figure-7", scale="smoke", out=out, runs=cache, config=OverEpochs(TINY))
    trained = cache.trained(familiarity("smoke")).folder.path
    with pytest.raises(ConfigError, match="of kind 'scaffold', not a reproduction"):
        reproduce("bottom-up-figure-7", scale="smoke", out=trained, runs=cache)
    for given in ({"workers": 2}, {"device": "cuda"}, {"progress": print}):
        with pytest.raises(ConfigError, match="a RunCache, which has a device, workers and prog"):
            reproduce("bottom-up-figure-7", scale="smoke", out=tmp_path / "x", runs=cache, **given)
    assert not (tmp_path / "x").exists()


def test_an_ensemble_of_other_models_is_refused(tmp_path):
    cache = RunCache(tmp_path, device="cpu")
    folder = cache.trained(TINY).folder.path
    other = replace(TINY, seeds=2)
    folder.rename(tmp_path / other.name)
    with pytest.raises(ConfigError, match="holds another run"):
        RunCache(tmp_path, device="cpu").trained(other)
    with pytest.raises(ConfigError, match=r"epoch 9 of .* was not saved"):
        RunCache(tmp_path / "new", device="cpu").trained(TINY).at(9)


def test_measures_that_were_lost_are_missed(tmp_path):
    def again():
        return RunCache(tmp_path, device="cpu")

    folder = again().trained(TINY).folder
    (folder.path / "metrics.parquet").unlink()
    with pytest.raises(FileError, match=r"has lost its measures \(metrics\.parquet\)"):
        again().trained(TINY).metrics()
    manifest = folder.manifest()
    folder.write_manifest(manifest | {"data": {}})
    with pytest.raises(FileError, match=r"has no sha256 of the run's data"):
        folder.data_sha256()

    places = {"out": tmp_path / "out", "runs": again()}
    words = {"scale": "smoke", "only": ["2 layers", "shared"]}
    reproduce("alta-table-6", **words, **places)
    (tmp_path / "out" / "rows.parquet").unlink()
    with pytest.raises(FileError, match=r"lacks rows\.parquet; remove the folder"):
        reproduce("alta-table-6", **words, **places)
    run = next(tmp_path.glob("scan-*"))
    (run / "metrics.parquet").unlink()
    shutil.rmtree(tmp_path / "out")
    with (
        pytest.warns(UserWarning, match="lacks rows of metrics"),
        pytest.raises(FileError, match=r"scan-.* has lost its measures"),
    ):
        reproduce("alta-table-6", **words, out=tmp_path / "out", runs=again())


def test_a_device_that_only_the_cluster_has(cache, tmp_path, monkeypatch):
    """There an ensemble is trained; here it is read, on the CPU."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    there = RunCache(tmp_path, device="cuda", workers=Workers(cluster="tcp://127.0.0.1:1"))
    assert (there.device.type, there.here.type) == ("cuda", "cpu")

    def by_a_worker(function, jobs, workers):
        (job,) = jobs
        *given, device = job.arguments
        assert (device, job.gpu, workers) == ("cuda", True, there.workers)
        yield job, function(*given, "cpu")

    monkeypatch.setattr("espalier.experiments.cache.run_jobs", by_a_worker)
    name, config = "bottom-up-figure-8", find("bottom-up-figure-8").config("smoke")
    assert find(name).measure(config, there) == find(name).measure(config, cache)


def test_some_of_several_models_are_chosen_by_words_of_their_names(cache, tmp_path):
    words = ["2 layers", "shared"]
    found = reproduce("alta-table-6", scale="smoke", out=tmp_path / "a", runs=cache, only=words)
    assert set(found.rows["layers"]) == {2}
    assert set(found.rows["sharing"]) == {"yes"}
    assert len(found.manifest["config"]["learners"]) == 2
    with pytest.raises(
        ConfigError, match="nothing here has '7 layers'; there are: 1 layers, shared"
    ):
        reproduce("alta-table-6", scale="smoke", out=tmp_path / "b", runs=cache, only=["7 layers"])
    with pytest.raises(ConfigError, match="reads one ensemble"):
        reproduce("bottom-up-figure-7", scale="smoke", out=tmp_path / "c", runs=cache, only=["2"])


def test_some_of_the_protocols_are_chosen_and_only_their_corpora_trained_on(tmp_path):
    name, places = "bottom-up-figure-12-protocols", {"runs": tmp_path / "runs", "scale": "smoke"}
    words = ["overwriting", "own step"]
    found = reproduce(name, out=tmp_path / "a", only=words, **places)
    cells = found.rows[["layout", "reading"]].drop_duplicates().to_numpy().tolist()
    assert cells == [words]
    assert len(list((tmp_path / "runs").iterdir())) == 1
    assert found.manifest["config"]["apart"] is None

    every = reproduce(name, out=tmp_path / "b", **places).rows
    same = every[(every["layout"] == words[0]) & (every["reading"] == words[1])]
    assert same.reset_index(drop=True).equals(found.rows)
    with pytest.raises(ConfigError, match=r"nothing here has 'close'.*; there are: apart, be"):
        reproduce(name, out=tmp_path / "c", only=["close", "own step"], **places)


class AskedError(Exception):
    """In place of training: the names of what would be trained."""


@pytest.mark.parametrize(
    ("words", "names"),
    [(["2 layers", "1 seed"], 4), (["6 layers", "until fitted"], 4), (["6 layers"], 8)],
)
def test_words_of_names_are_whole_ones(tmp_path, monkeypatch, words, names):
    """Neither 32 layers for 2, nor 16 and 256 for 6."""

    def told(cache, measure, config):
        raise AskedError([label_of(one) for one in config.learners])

    monkeypatch.setattr(RunCache, "rows", told)
    with pytest.raises(AskedError) as found:
        reproduce("alta-table-6", scale="paper", out=tmp_path / "a", only=words)
    (labels,) = found.value.args
    assert len(labels) == names
    assert all(label.startswith(words[0]) for label in labels)


class Alarm(threading.Timer):
    """A timer that fires on request."""

    def __init__(self, seconds, function, words):
        super().__init__(1e6, function, words)
        Alarm.ring = staticmethod(lambda: function(*words))


@pytest.mark.parametrize("moment", ["before it trains", "as it trains"])
def test_when_its_seconds_are_over_it_stops_and_goes_on_later(tmp_path, monkeypatch, moment):
    monkeypatch.setattr(threading, "Timer", Alarm)
    given = {"scale": "smoke", "only": ["1 layers", "own"], "runs": tmp_path / "runs"}
    given |= {"out": tmp_path / "out", "device": "cpu"}
    with monkeypatch.context() as patch:
        if moment == "before it trains":
            patch.setattr(RunCache, "rows", lambda *asked: Alarm.ring())
        with pytest.raises(Interrupted, match=r"saved in .*: the same command resumes from there"):
            reproduce("alta-table-3", seconds=1, progress=lambda moment: Alarm.ring(), **given)
    assert RunFolder(tmp_path / "out").manifest()["status"] == "interrupted"
    assert set(reproduce("alta-table-3", seconds=1, **given).rows["layers"]) == {1}


def test_time_that_is_up_at_the_end_of_a_block_is_not_heard_after_it(monkeypatch):
    monkeypatch.setattr(threading, "Timer", Alarm)
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(Alarm, "cancel", lambda timer: (timer.finished.set(), Alarm.ring()))
    with pytest.raises(KeyboardInterrupt), deadline(1):
        pass
    assert signal.getsignal(signal.SIGINT) is before


def test_time_is_up_also_where_ctrl_c_is_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(KeyboardInterrupt), deadline(0.01):
            time.sleep(60)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("asked", "finding"),
    [
        ({"seconds": float("nan")}, "seconds is nan; use a number above 0"),
        ({"seconds": -1.0}, "seconds is -1.0; use a number above 0"),
        ({"seconds": 0}, "seconds is 0; use a number above 0"),
        ({"seconds": 1e300}, "use a number above 0, up to"),
        ({"seconds": "a"}, "seconds is 'a'"),
        ({"only": [""]}, "give a list of words"),
        ({"only": "2 layers"}, "give a list of words"),
    ],
)
def test_limits_that_limit_nothing_are_refused(tmp_path, asked, finding):
    with pytest.raises(ConfigError, match=finding):
        reproduce("alta-table-2", scale="smoke", out=tmp_path / "out", runs=tmp_path, **asked)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("bottom-up-figure-3", ("scipy",)),
        ("syntax-claims", ("scipy",)),
        ("syntax-transformer", ("scipy",)),
        ("scaffold-claims-further", ("pandas", "scipy")),
    ],
)
def test_what_rows_need_is_asked_for_before_anything_is_trained(
    tmp_path, monkeypatch, name, lacking
):
    for module in lacking:
        monkeypatch.setitem(sys.modules, module, None)
    said = f"the rows of {name} need {' and '.join(lacking)}; install"
    with pytest.raises(ConfigError, match=said):
        reproduce(name, scale="smoke", out=tmp_path / "out", runs=tmp_path / "runs")
    assert not list(tmp_path.iterdir())


def test_what_is_finished_is_read_without_what_its_rows_needed(cache, tmp_path, monkeypatch):
    first = reproduce("syntax-branching", scale="smoke", out=tmp_path, runs=cache)
    monkeypatch.setitem(sys.modules, "scipy", None)
    again = reproduce("syntax-branching", scale="smoke", out=tmp_path, runs=tmp_path / "none")
    assert_frame_equal(first.rows, again.rows)


def test_a_config_with_nothing_that_the_figure_shows_is_refused(cache, tmp_path):
    config = find("alta-figure-10").config("smoke")
    absolute = tuple(one for one in config.learners if "absolute" in label_of(one))
    assert absolute
    with pytest.raises(ConfigError, match="none of those of config= has"):
        reproduce("alta-figure-10", config=Learners(absolute), out=tmp_path / "out", runs=cache)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", ["alta-figure-10", "alta-figure-11"])
def test_what_the_figure_does_not_show_is_refused_before_it_is_trained(cache, tmp_path, name):
    places = {"scale": "smoke", "out": tmp_path / "out", "runs": cache}
    refused = r"shows only models that have 'relative positions'.* 'absolute positions' has; choose"
    with pytest.raises(ConfigError, match=refused):
        reproduce(name, only=["absolute positions"], **places)
    assert not (tmp_path / "out").exists()
    reproduce(name, only=["1 layers"], **places)


def test_rows_of_another_reproduction_are_refused(cache, tmp_path):
    for name in ("alta-figure-10", "alta-figure-11"):
        reproduce(name, scale="smoke", out=tmp_path / name, runs=cache, only=["1 layers"])
    ten, eleven = (tmp_path / f"alta-figure-{n}" / "rows.parquet" for n in (10, 11))
    shutil.copy(ten, eleven)
    with pytest.raises(FileError, match=r"rows\.parquet is another run's"):
        read_reproduction(tmp_path / "alta-figure-11")
