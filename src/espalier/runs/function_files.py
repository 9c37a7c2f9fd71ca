"""A function that is too large to send with every job: written once, read once by each process.

With a third-party network, or the counts of a large text, it has hundreds of megabytes. Sent with
every job, they would pass through a cluster's scheduler, which holds them for all waiting jobs.
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from espalier.errors import FileError
from espalier.files import atomic_path, check_readable

LARGE = 1 << 20  # bytes; a smaller function is sent with every job
FILE = ".function.pickle"  # readers of Parquet pass over names with a dot

# The function that this process has read, by its digest; one at a time.
_read: dict[str, Callable[..., Any]] = {}


@contextmanager
def sent_once(function: Callable[..., Any], folder: Path) -> Iterator[Callable[..., Any]]:
    """A block with the function, or one that reads it from a file in the folder if it is large.

    The file is removed at the end of the block.

    >>> with sent_once(abs, getfixture("tmp_path")) as small:
    ...     small
    <built-in function abs>
    """
    from joblib.externals.loky.backend.reduction import dumps  # what jobs are pickled by

    held, file = dumps(function), folder / FILE
    if len(held) < LARGE:
        yield function
        return
    with atomic_path(file) as temporary:
        temporary.write_bytes(held)
    sha256 = hashlib.sha256(held).hexdigest()
    del held
    try:
        yield _FromFile(str(file.resolve()), sha256)
    finally:
        file.unlink(missing_ok=True)


@dataclass(frozen=True)
class _FromFile:
    """The function in a file. Another file in its place is not read: reading it may run code."""

    file: str
    sha256: str

    def __call__(self, *arguments: Any) -> Any:
        """What the function returns."""
        if self.sha256 not in _read:
            _read.clear()
            _read[self.sha256] = self._load()
        try:
            return _read[self.sha256](*arguments)
        except BaseException:  # interrupted, it may be in an inconsistent state
            _read.clear()
            raise

    def _load(self) -> Callable[..., Any]:
        check_readable(self.file)
        held = Path(self.file).read_bytes()
        if hashlib.sha256(held).hexdigest() != self.sha256:
            raise FileError(f"{self.file} is not what was written there; run the command again")
        found: Callable[..., Any] = pickle.loads(held)
        return found
