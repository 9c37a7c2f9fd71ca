"""Mutated files and command lines: each is read, or refused with our own error.

python -m benchmarks.fuzz [--seconds N] writes results/fuzz.json and docs/results/faults.md; with
[--cases 100] [--first N] [--formats NAME ...] it only prints its table. Case number N of a format
is always the same bytes: `--only toml:17` shows one. odd-toml, odd-parquet and so on: whole files
with odd content, tried where they are named. An error of another library, more than 5 seconds
of computing, or a gigabyte of memory more than at the start is a finding. Cases run in forked
processes, many in each; a lost process is reported.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - here, so that no child has to
import pyarrow.parquet  # noqa: F401

from benchmarks.fault_page import write_page
from benchmarks.forked import Limits, run
from benchmarks.fuzz_structures import odd_targets
from benchmarks.fuzz_targets import Target, targets
from benchmarks.harness import report
from espalier.errors import EspalierError
from espalier.runs import resident_bytes

CASES, SECONDS, MEMORY, BATCH = 10_000, 5.0, 1 << 30, 200
CHANGES = ("flip", "flip", "cut", "lose", "noise", "nasty", "nasty", "twice", "swap")
FLAGS = (b"--help", b"--out", b"--set", b"-o", b"--seed")
NASTY = [
    *(b"\x00", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\r\n", b"\n", b"\t", b" ", b"\xc2\x85"),
    *(b"-1", b"0", b"1e999", b"nan", b"9" * 25, b"-0.0", b"true", b"''", b"[]", b"{}", b"=", b"--"),
    *(b"[" * 300, b"x" * 5_000, b"1-2", b"_", b"#", b"\xed\xa0\x80", "漢é\u2028".encode(), b"%s"),
]


def mutate(good: bytes, dice: random.Random) -> bytes:
    """Some bytes changed, lost, added, doubled or in each other's place; up to four times."""
    found = bytearray(good)
    for _ in range(dice.choice([1, 1, 2, 4])):
        size = max(1, len(found))
        first, length = dice.randrange(size), min(size, 2 ** dice.randrange(7))
        match dice.choice(
            ["flip", "flip", "cut", "lose", "noise", "nasty", "nasty", "twice", "swap"]
        ):
            case "flip":
                found[first : first + 1] = bytes([(found or b"\0")[first] ^ 1 << dice.randrange(8)])
            case "cut":
                del found[first:]
            case "lose":
                del found[first : first + length]
            case "noise":
                found[first : first + length] = dice.randbytes(length)
            case "nasty":
                found[first : first + dice.choice([0, 1, length])] = dice.choice(NASTY)
            case "twice":
                found[first:first] = found[first : first + length]
            case _:
                other = dice.randrange(size)
                piece = found[other : other + length]
                found[first : first + length] = piece
    return bytes(found)


def mutate_words(good: bytes, dice: random.Random) -> bytes:
    """Words lost, doubled, taken from elsewhere or changed within."""
    words = good.split(b" ")
    for _ in range(dice.choice([1, 1, 2, 3])):
        place = dice.randrange(len(words) + 1)
        match dice.choice(["lose", "twice", "nasty", "flag", "within", "within"]):
            case "lose":
                del words[place : place + 1]
            case "twice":
                words[place:place] = words[place : place + 2]
            case "nasty":
                words[place : place + 1] = [dice.choice(NASTY).replace(b" ", b"_")]
            case "flag":
                words[place:place] = [
                    dice.choice([b"--help", b"--out", b"--set", b"-o", b"--seed"])
                ]
            case _ if place < len(words):
                words[place] = mutate(words[place], dice).replace(b" ", b"_").replace(b"/", b"_")
            case _:
                pass
    return b" ".join(words)


def case_of(target: Target, number: int) -> tuple[str, bytes]:
    """The suffix and bytes of one case."""
    dice = random.Random(f"{target.name} {number}")
    suffix, good = dice.choice(list(target.good))
    change = target.change or (mutate_words if target.name == "commands" else mutate)
    return suffix, change(good, dice)


def try_case(target: Target, number: int, place: Path) -> str:
    """What went wrong in reading a case; nothing where it is read or refused properly."""
    suffix, data = case_of(target, number)
    file = place / f"case{suffix}"
    file.write_bytes(data)
    began, held = time.process_time(), resident_bytes()
    try:
        with warnings.catch_warnings(action="ignore"):
            target.read(file)
    except EspalierError as error:
        if not str(error).strip():
            return f"{type(error).__name__} without a word"
    except BaseException:
        return traceback.format_exc(limit=-4)
    took = time.process_time() - began
    if took > SECONDS and not any(place.glob("*/manifest.json")):  # a training that was requested
        return f"{took:.1f} s"
    return "memory" if resident_bytes() - held > MEMORY else ""


def findings(target: Target, numbers: range, seconds: float) -> Iterator[tuple[int, str]]:
    """Every case that was tried, by its number, with what went wrong, if anything did."""
    first, last = numbers.start, time.monotonic() + seconds
    while first < numbers.stop and time.monotonic() < last:
        batch = range(first, min(first + BATCH, numbers.stop))
        with tempfile.TemporaryDirectory() as folder:
            work = partial(_batch, target, batch, Path(folder))
            ended = run(work, Limits(seconds=900, unprivileged=True))
            file = Path(folder) / "done"
            done = file.read_text().split("\0")[:-1] if file.exists() else []
        for line in done:
            number, _, wrong = line.partition(" ")
            yield int(number), wrong
        first += len(done)
        if ended.status and first < batch.stop:
            yield first, f"the process was lost, status {ended.status}: {ended.text[-300:]}"
            first += 1


def _batch(target: Target, numbers: range, place: Path) -> None:
    import resource

    held = next(
        int(line.split()[1]) * 1024
        for line in Path("/proc/self/status").read_text().splitlines()
        if line.startswith("VmSize")
    )
    resource.setrlimit(resource.RLIMIT_AS, (held + 2 * MEMORY, held + 2 * MEMORY))
    work = place / "work"
    work.mkdir()
    with (place / "done").open("a") as done:
        for number in numbers:
            wrong = try_case(target, number, work)
            done.write(f"{number} {wrong}\0")
            done.flush()


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("--cases", type=int, default=CASES)
    asked.add_argument("--first", type=int, default=0)
    asked.add_argument("--seconds", type=float, default=600.0, help="most for each format")
    asked.add_argument("--formats", nargs="*")
    asked.add_argument("--only", help="format:number")
    given = asked.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        usual = targets(Path(folder))
        known = usual | odd_targets(usual)
        if given.only:
            name, _, number = given.only.partition(":")
            print(repr(case_of(known[name], int(number))))
            print(try_case(known[name], int(number), Path(tempfile.mkdtemp())))
            return
        for name in given.formats or usual:
            began = time.monotonic()
            numbers = range(given.first, given.first + given.cases)
            tried = dict(findings(known[name], numbers, given.seconds))
            found = {number: wrong for number, wrong in tried.items() if wrong}
            rows.append(
                {
                    "format": name,
                    "first case": given.first,
                    "tried": len(tried),
                    "wrong": len(found),
                    "cases/s": len(tried) / (time.monotonic() - began),
                }
            )
            alike = {wrong.strip()[-60:]: (number, wrong) for number, wrong in found.items()}
            for number, wrong in alike.values():
                print(f"{name}:{number}: {wrong}", flush=True)
    whole = not given.formats and given.first == 0 and given.cases >= CASES
    report("fuzz", rows, whole=whole)
    if whole:
        write_page()
    if any(row["wrong"] for row in rows):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
