import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import espalier as es
from espalier import zoo
from espalier.errors import ConfigError
from espalier.programs import Case, Compiled, Evaluation, Interpreter, engines, evaluate
from espalier.runs import Workers, cluster

ENGINES = [Interpreter(1), Compiled(1), Compiled(1, "float64")]


@pytest.fixture(scope="module")
def entry() -> zoo.Entry:
    return zoo.load("parity-sequential-relative")


def parity_cases(texts: list[str]) -> list[Case]:
    return [Case(text, text.count("1") % 2, len(text)) for text in texts]


@pytest.mark.parametrize("engine", ENGINES)
@given(texts=st.lists(st.text("01", max_size=9), min_size=1, max_size=20), wrong=st.data())
@settings(max_examples=15)
def test_it_counts_what_is_right(entry, engine, texts, wrong) -> None:
    flips = wrong.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts)))
    cases = [
        Case(case.given, case.answer ^ flip, case.size)
        for case, flip in zip(parity_cases(texts), flips, strict=True)
    ]
    result = evaluate(entry, cases, engine=engine)
    assert [row["right"] for row in result.rows] == [not flip for flip in flips]
    assert [row["number"] for row in result.wrong] == [n for n, flip in enumerate(flips) if flip]
    table = result.by_size()
    assert table["cases"].sum() == len(cases)
    assert (table["accuracy"] * table["cases"]).sum() == pytest.approx(len(cases) - sum(flips))


def test_several_processes_answer_as_one_does(entry, monkeypatch) -> None:
    monkeypatch.setattr(engines, "CHUNK", 7)
    cases = parity_cases(entry.samples(40, size=12))
    alone = evaluate(entry, cases, engine=Interpreter(1))
    assert evaluate(entry, cases, engine=Interpreter(2)).rows == alone.rows
    assert evaluate(entry, cases, engine=Compiled(Workers(2))).rows == alone.rows
    with pytest.raises(ConfigError, match="a cluster has workers of its own"):
        evaluate(entry, cases, engine=Interpreter(2, cluster="tcp://a:1"))


def test_a_worker_without_the_device_that_is_asked_for_says_so(entry, monkeypatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    there = engines.Machine(entry.program, Compiled(device="cuda"), None, entry.decode)
    with pytest.raises(ConfigError, match="finds no CUDA device"):
        there(0, [], [])


class StoppedError(Exception):
    pass


def test_a_run_that_was_stopped_is_resumed_and_ends_as_if_it_had_not(
    entry, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(engines, "CHUNK", 10)
    cases = parity_cases(entry.samples(45, size=12))
    whole = evaluate(entry, cases, engine=Interpreter(1))
    seen: list[int] = []

    def stop_in_the_middle(done: int, total: int) -> None:
        seen.append(done)
        if done >= 20:
            raise StoppedError

    with pytest.raises(StoppedError):
        evaluate(entry, cases, engine=Interpreter(1), out=tmp_path, progress=stop_in_the_middle)
    assert json.loads((tmp_path / "manifest.json").read_text())["status"] == "failed"
    assert len(pd.read_parquet(tmp_path / "cases")) == 20
    seen.clear()
    again = evaluate(
        entry, cases, engine=Interpreter(1), out=tmp_path, progress=lambda n, _: seen.append(n)
    )
    assert seen == [30, 40, 45]  # only what was left
    assert again.rows == whole.rows
    assert len(pd.read_parquet(tmp_path / "cases")) == 45
    finished = evaluate(entry, cases, engine=Interpreter(1), out=tmp_path)
    assert finished.rows == whole.rows


def test_another_run_in_the_folder_is_refused(entry, tmp_path) -> None:
    cases = parity_cases(["1", "01"])
    evaluate(entry, cases, engine=Interpreter(1), out=tmp_path)
    with pytest.raises(es.ConfigError, match="engine 'interpreter' -> 'compiled'"):
        evaluate(entry, cases, engine=Compiled(1), out=tmp_path)
    with pytest.raises(es.ConfigError, match="was begun on other data"):
        evaluate(entry, cases[:1], engine=Interpreter(1), out=tmp_path)
    small = es.minimal(entry.program, [entry.encode("1")])
    with pytest.raises(es.ConfigError, match="program_sha256"):
        evaluate(entry, cases, engine=Interpreter(1), program=small, out=tmp_path)


def test_a_device_is_not_asked_of_this_machine_where_a_cluster_answers(entry, monkeypatch) -> None:
    pytest.importorskip("distributed", reason="pip install 'espalier[cluster]'")
    monkeypatch.setattr(cluster, "ANSWER_SECONDS", 0.1)
    with pytest.raises(ConfigError, match="no dask scheduler answers"):
        evaluate(entry, parity_cases(["1"]), engine=Compiled("tcp://127.0.0.1:1", device="cuda"))


def test_no_cases_and_no_workers_are_refused(entry) -> None:
    with pytest.raises(es.DataError, match="no cases were given"):
        evaluate(entry, [])
    with pytest.raises(es.ConfigError, match="workers = -1"):
        evaluate(entry, parity_cases(["1"]), engine=Interpreter(-1))


def test_a_result_saves_and_shows_itself(tmp_path) -> None:
    rows = [
        {"number": n, "size": 1, "layers": 2 + n, "right": n == 0, "wrong": None} for n in (0, 1)
    ]
    result = Evaluation(tuple(rows), 1.0, 0)
    result.save(tmp_path / "rows.csv")
    assert list(pd.read_csv(tmp_path / "rows.csv")["layers"]) == [2, 3]
    assert str(result) == "1 of 2 right (50.00%), at most 3 layers, 1.0 s"


def test_a_part_cut_short_is_answered_again(entry, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(engines, "CHUNK", 10)
    cases = parity_cases(entry.samples(25, size=12))
    whole = evaluate(entry, cases, engine=Interpreter(1), out=tmp_path)
    part = tmp_path / "cases" / "part-000000010.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    (tmp_path / "cases" / ".part-000000020.parquet.abcd1234.unfinished").write_bytes(b"PAR1")
    seen: list[int] = []
    again = evaluate(
        entry, cases, engine=Interpreter(1), out=tmp_path, progress=lambda n, _: seen.append(n)
    )
    assert again.rows == whole.rows
    assert len(seen) == 1
    assert len(list((tmp_path / "cases").iterdir())) == 3
    monkeypatch.setattr(engines, "CHUNK", 7)
    with pytest.raises(es.ConfigError, match="chunk 10 -> 7"):
        evaluate(entry, cases, engine=Interpreter(1), out=tmp_path)


def test_what_cannot_be_done_is_refused_before_anything_is_written(entry, tmp_path) -> None:
    cases = parity_cases(["1"])
    with pytest.raises(es.ConfigError, match="is not a device"):
        evaluate(entry, cases, engine=Compiled(device="banana"), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(es.ConfigError, match="writes its answer token by token"):
        evaluate(zoo.load("parity-scratchpad"), cases)
    with pytest.raises(es.FileError, match="cannot make the folder"):
        evaluate(entry, cases, engine=Interpreter(1), out="/proc/none/run")
    with pytest.raises(es.ConfigError, match="workers = 0"):
        evaluate(entry, cases, engine=Interpreter(0))
