"""The process that computes: it reads questions and writes answers, one per line, as JSON.

It is a process of its own so that it can be stopped when it takes too long; another one is started.
What a program's own file prints goes to stderr and not between the answers.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import IO, Any

from espalier.explorer.session import Session

LONGEST = 60.0  # seconds that one question may take
MOST_WAITING = 16
IDLE = 1.0  # seconds without a question after which the next is prepared for
Question = tuple[str, dict[str, Any]]


class BusyError(Exception):
    """Too many questions are waiting."""


class Worker:
    """One process that answers one question at a time, ended where it takes longer than `longest`.

    `expected` are questions that may come: it answers the first immediately, the others when idle,
    and drops the answers, so that what they import and build is ready when they are asked.

    >>> with Worker(Session()) as worker:
    ...     len(worker.ask("programs", {})["programs"]) > 10
    True
    """

    def __init__(
        self, session: Session, longest: float = LONGEST, expected: Sequence[Question] = ()
    ) -> None:
        self._session, self._longest, self._expected = session, longest, expected
        self._turn, self._waiting = threading.Lock(), threading.Semaphore(MOST_WAITING)
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def ask(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        """The answer, {"error": ...} or, where something is broken, {"fault": ...}."""
        if not self._waiting.acquire(blocking=False):
            raise BusyError
        try:
            with self._turn:
                return self._ask(name, asked)
        finally:
            self._waiting.release()

    def _ask(self, name: str, asked: dict[str, Any]) -> dict[str, Any]:
        process = self._started()
        assert process.stdin is not None
        try:
            process.stdin.write(json.dumps([name, asked]) + "\n")
            process.stdin.flush()
            line = self._lines.get(timeout=self._longest)
        except queue.Empty:
            self.close()
            return {"error": f"this took longer than {self._longest:g} s and was stopped"}
        except OSError:
            line = ""
        if not line:
            self.close()
            return {"fault": "the process that computes has ended; another is started"}
        found: dict[str, Any] = json.loads(line)
        return found

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            given = json.dumps([self._session.to_dict(), self._expected])
            command = [sys.executable, "-m", "espalier.explorer.worker", given]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                encoding="utf-8",
                start_new_session=True,  # Ctrl-C in the shell is the server's, which ends this
            )
            self._lines = queue.Queue()
            reading = (self._process.stdout, self._lines)
            threading.Thread(target=_read, args=reading, daemon=True).start()
        return self._process

    def warm(self) -> None:
        """Start the process, so that the first question need not wait for it."""
        with self._turn:
            self._started()

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read(stream: IO[str], lines: queue.Queue[str]) -> None:
    with stream:
        for line in stream:
            lines.put(line)
    lines.put("")


def _answered(session: Session, question: Question) -> str:
    """The answer as JSON; {"fault": ...} where something is broken."""
    from espalier.explorer.answers import answer

    try:
        return json.dumps(answer(session, *question), allow_nan=False)
    except Exception as error:
        traceback.print_exc()
        return json.dumps({"fault": f"{type(error).__name__}: {error}"[:500]})


def main() -> None:
    """Answer until the questions end."""
    about, expected = json.loads(sys.argv[1])
    session = Session(**about)
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read, args=(sys.stdin, lines), daemon=True).start()
    is_first = True
    while True:
        try:
            line = lines.get(timeout=0 if is_first else IDLE) if expected else lines.get()
        except queue.Empty:
            is_first = False
            _answered(session, expected.pop(0))
            continue
        if not line:
            return
        out.write(_answered(session, json.loads(line)) + "\n")
        out.flush()


if __name__ == "__main__":
    main()
