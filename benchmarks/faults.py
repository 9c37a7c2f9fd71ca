"""What happens to every kind of run when things go wrong: killed, no room, read-only, two at once.

python -m benchmarks.faults writes results/faults.json and the page docs/results/faults.md; with
[--moments 2] [--seed 1] [--kinds NAME ...] [--faults NAME ...] it only prints its table. A run is
killed by SIGKILL at random moments, half of them drawn in time and half among the files it writes;
it is started again, and its files are compared with those of an undisturbed run: rows, tensors,
metadata, manifests, pictures, bit for bit. Every other fault has to end with a clear message, and
with the same result once the fault is gone.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - here, so that no child has to
import pyarrow.parquet  # noqa: F401
import safetensors.torch  # noqa: F401

import espalier.experiments
import espalier.learnability.supervision  # noqa: F401
from benchmarks.fault_kinds import Kind, content, kinds, save_often
from benchmarks.fault_page import write_page
from benchmarks.forked import Child, Ended, Limits, count_moments, run, start
from benchmarks.harness import report
from espalier.runs import LOCK, MANIFEST

MOMENTS, SEED = 20, 0  # the page's
YEAR = 365 * 86_400.0
EDITS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    "not UTF-8": lambda found: b"\xff\xfe" + json.dumps(found).encode(),
    "cut short": lambda found: json.dumps(found).encode()[:-20],
    "seconds as text": lambda found: json.dumps(found | {"seconds": "2 s"}).encode(),
    "data null": lambda found: json.dumps(found | {"data": None}).encode(),
    "another kind": lambda found: json.dumps(found | {"kind": "holiday"}).encode(),
    "another setting": lambda found: json.dumps(found | {"config": {"x": 1}}).encode(),
    "a list": lambda found: b"[]",
}


@dataclass
class Trial:
    """One kind of run, the folder of an undisturbed run, and how long that took."""

    kind: Kind
    place: Path
    whole: Path
    seconds: float
    files: int
    pick: random.Random
    number: int = 0

    def fresh(self) -> Path:
        self.number += 1
        out = self.place / f"{self.kind.name}-{self.number}"
        out.mkdir()
        return out

    def work(self, out: Path) -> Callable[[], None]:
        def often() -> None:
            save_often()
            self.kind.work(out)

        return often

    def finish(self, out: Path) -> str:
        """What is wrong after the same run is started again; nothing if all is as it should be."""
        ended = run(self.work(out))
        if ended.status:
            return f"does not resume: {ended.text.strip()[-300:]}"
        found = run(lambda: self._compare(out))
        shutil.rmtree(out)
        return found.text.strip()[-300:] if found.status else ""

    def _compare(self, out: Path) -> None:
        here, there = content(out), content(self.whole)
        here, there = (json.loads(_plain(one, o)) for one, o in ((here, out), (there, self.whole)))
        wrong = [n for n in sorted({*here, *there}) if here.get(n) != there.get(n)]
        if wrong:
            print(f"differs in {', '.join(wrong)}")
            raise SystemExit(1)


def _plain(found: dict[str, Any], out: Path) -> str:
    """As text, without the folder's own name."""
    return json.dumps({n: repr(v) for n, v in found.items()}).replace(str(out), "OUT")


def prepare(kind: Kind, place: Path, seed: int) -> Trial:
    """The trial of a kind, after an undisturbed run."""
    whole = place / f"{kind.name}-whole"
    whole.mkdir()
    trial = Trial(kind, place, whole, 0.0, 0, random.Random(f"{seed} {kind.name}"))
    counted = count_moments(trial.work(whole))
    if counted.status:
        raise SystemExit(f"{kind.name}: {counted.text[-2000:]}")
    trial.files = next(int(x) for x in reversed(counted.text.split("\n")) if x.isdecimal())
    warm = trial.fresh()
    trial.seconds = run(trial.work(warm)).seconds
    shutil.rmtree(warm)
    return trial


Outcome = tuple[str, str]  # what was said, and what was wrong in the end


def killed(trial: Trial, count: int) -> Iterator[Outcome]:
    """SIGKILL, in time or among the files written; then the run is started again."""
    for number in range(count):
        out = trial.fresh()
        if number % 2:
            limits = Limits(kill_at=trial.pick.randint(1, max(1, trial.files)))
        else:
            limits = Limits(kill_after=trial.pick.uniform(0, trial.seconds))
        ended = run(trial.work(out), limits)
        yield _trouble(ended) or "killed", trial.finish(out)


def no_room(trial: Trial, count: int) -> Iterator[Outcome]:
    """A disk on which no file can grow beyond some bytes."""
    largest = max(file.stat().st_size for file in trial.whole.rglob("*") if file.is_file())
    for _ in range(count):
        out = trial.fresh()
        ended = run(trial.work(out), Limits(file_bytes=trial.pick.randint(1, largest - 1)))
        yield _said(ended, "cannot write"), trial.finish(out)


def read_only(trial: Trial, count: int) -> Iterator[Outcome]:
    """A folder that may not be written to."""
    out = trial.fresh()
    out.chmod(0o555)
    ended = run(trial.work(out), Limits(unprivileged=True))
    out.chmod(0o755)
    yield _said(ended, "Permission denied"), trial.finish(out)


HELD = ("is being worked on by process", "was removed as work on it began")


def two_at_once(trial: Trial, count: int) -> Iterator[Outcome]:
    """A second process on a folder while the first one holds it."""
    out = trial.fresh()
    first = start(trial.work(out))
    while not list(out.rglob(LOCK)) and time.monotonic() - first.began < trial.seconds:
        time.sleep(0.0005)
    second = run(trial.work(out))
    while (ended := first.ended()) is None:
        time.sleep(0.001)
    # Where nothing is saved on the way, both do all of it, and the file is written twice.
    both = ended.status == second.status == 0
    refused = [one for one in (ended, second) if any(word in one.text for word in HELD)]
    said = "refused" if refused else "both ended" if both else ended.text + second.text
    yield _trouble(ended) or _trouble(second) or said, trial.finish(out)


def jumping_clock(trial: Trial, count: int) -> Iterator[Outcome]:
    """The clock jumps back a year and forward two years during a run, and again when it resumes."""
    out = trial.fresh()

    def work() -> None:
        real, calls = time.time, 0

        def jumping() -> float:
            nonlocal calls
            calls += 1
            return real() + (-YEAR if calls % 2 else YEAR)

        time.time, time.gmtime = jumping, lambda *given: real_gmtime(jumping())  # type: ignore
        trial.work(out)()

    real_gmtime = time.gmtime
    ended = run(work, Limits(kill_at=max(1, trial.files // 2)))
    again = run(work)
    yield _trouble(ended) or _trouble(again) or "went on", trial.finish(out)


def edited(trial: Trial, count: int) -> Iterator[Outcome]:
    """Manifests changed by hand, and restored again."""
    out = trial.fresh()
    run(trial.work(out), Limits(kill_at=max(1, trial.files * 3 // 4)))
    for manifest in sorted(out.rglob(MANIFEST)):
        whole = manifest.read_bytes()
        for edit in EDITS.values() if manifest.exists() else ():
            manifest.write_bytes(edit(json.loads(whole)))
            ended = run(trial.work(out))
            if manifest.exists():
                manifest.write_bytes(whole)
            words = ("manifest.json", "holds another run", "holds a run of kind", "holds ")
            yield next((_said(ended, w) for w in words if w in ended.text), ended.text[-200:]), ""
    yield "put right", trial.finish(out)


def _said(ended: Ended, word: str) -> str:
    """The message if it was given and nothing else went wrong; a run may also have gone through."""
    if ended.raw or ended.status == -9:
        return _trouble(ended) or "killed"
    return (
        "refused" if word in ended.text else "went on" if ended.status == 0 else ended.text[-300:]
    )


def _trouble(ended: Ended) -> str:
    return f"status {ended.status}: {ended.text[-400:]}" if ended.raw else ""


FAULTS: dict[str, Callable[[Trial, int], Iterator[Outcome]]] = {
    "kill -9": killed,
    "full disk": no_room,
    "read-only folder": read_only,
    "two processes": two_at_once,
    "clock that jumps": jumping_clock,
    "manifest edited": edited,
}
FINE = {"killed", "refused", "went on", "both ended", "put right"}


def row_of(trial: Trial, fault: str, count: int) -> dict[str, Any]:
    """One line of the table, with all that was not as it should be."""
    found = list(FAULTS[fault](trial, count))
    said = [one for one, _ in found]
    wrong = [f"{one[-300:]}" for one in said if one not in FINE] + [w for _, w in found if w]
    return {
        "run": trial.kind.name,
        "fault": fault,
        "tried": len(found),
        "refused with a word": said.count("refused"),
        "equal in the end": len(found) - len(wrong),
        "wrong": wrong,
    }


def try_all(chosen: list[Kind], place: Path, given: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of every kind, some kinds at once, each in a process of its own."""

    def work(kind: Kind) -> None:
        trial, rows = prepare(kind, place, given.seed), []
        for fault in given.faults or FAULTS:
            count = given.moments if fault == "kill -9" else max(1, given.moments // 4)
            rows.append(row_of(trial, fault, count))
        (place / f"{kind.name}.json").write_text(json.dumps(rows))

    waiting, running = list(chosen), list[tuple[Kind, Child]]()
    while waiting or running:
        while waiting and len(running) < given.at_once:
            kind = waiting.pop(0)
            running.append((kind, start(partial(work, kind))))
        for kind, child in list(running):
            ended = child.ended()
            if ended is not None:
                running.remove((kind, child))
                print(kind.name, f"{ended.seconds:.0f} s", ended.text[-2_000:], flush=True)
        time.sleep(0.05)
    return [row for kind in chosen for row in json.loads((place / f"{kind.name}.json").read_text())]


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--moments", type=int, default=MOMENTS)
    asked.add_argument("--seed", type=int, default=SEED)
    asked.add_argument("--at-once", type=int, default=2, help="kinds that are tried side by side")
    asked.add_argument("--kinds", nargs="*")
    asked.add_argument("--faults", nargs="*", choices=list(FAULTS))
    given = asked.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        place.chmod(0o755)  # another user has to reach it
        (place / "data").mkdir()
        chosen = [
            kind
            for kind in kinds(place / "data")
            if given.kinds is None or kind.name in given.kinds
        ]
        rows = try_all(chosen, place, given)
    whole = given.kinds is given.faults is None and (given.moments, given.seed) == (MOMENTS, SEED)
    report("faults", rows, whole=whole)
    if whole:
        write_page()
    if any(row["wrong"] for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
