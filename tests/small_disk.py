"""A disk on which no file can grow beyond a size: real failures, in whatever library writes."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def small_disk(most: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
