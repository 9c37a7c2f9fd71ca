"""Where data comes from: a folder given, `ESPALIER_DATA`, the cache, or a download.

A download is checked against its published checksum before anything is kept.
"""

from __future__ import annotations

import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from espalier.errors import DataError, FileError, nearest
from espalier.storage import atomic_path

Progress = Callable[[int, int], None]  # bytes so far, bytes in all (0: not known)
BLOCK = 1 << 16


@dataclass(frozen=True)
class Source:
    """A public data set: a zip archive, its MD5, and the files of it that are wanted."""

    name: str
    url: str
    md5: str
    files: tuple[str, ...]


SOURCES = {
    "wikitext-2": Source(
        name="wikitext-2",
        url="https://wikitext.smerity.com/wikitext-2-v1.zip",
        md5="542ccefacc6c27f945fb54453812b3cd",
        files=("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
    )
}


def cache_folder() -> Path:
    """Where downloads are kept: ESPALIER_DATA, else the user's cache."""
    given = os.environ.get("ESPALIER_DATA")
    base = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(given) if given else Path(base) / "espalier"


def find(name: str, data: str | os.PathLike[str] | None = None) -> Path:
    """The folder of a known data set, in `data`, ESPALIER_DATA or the cache; never a download."""
    source = _known(name)
    roots = [Path(data)] if data is not None else [cache_folder()]
    places = [place for root in roots for place in (root / name, root)]
    for place in places:
        if all((place / file).is_file() for file in source.files):
            return place
    first = places[0]
    absent = next(file for file in source.files if not (first / file).is_file())
    raise FileError(
        f"{name} is not here: {first / absent} is missing. Set ESPALIER_DATA (or --data) to the "
        f"folder that holds {name}/, or fetch it with: espalier data fetch {name}"
    )


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """The folder of a known data set, downloaded into the cache if it is not there."""
    try:
        return find(name)
    except FileError:
        source = _known(name)
    archive = download(source.url, md5=source.md5, progress=progress)
    folder = cache_folder() / name
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        inside = {Path(entry).name: entry for entry in opened.namelist()}
        for file in source.files:
            with atomic_path(folder / file) as temporary:
                temporary.write_bytes(opened.read(inside[file]))
    return folder


def download(url: str, *, md5: str, progress: Progress | None = None) -> bytes:
    """The bytes at a URL, if their checksum is the one published."""
    held = io.BytesIO()
    try:
        with urllib.request.urlopen(url, timeout=30) as response:
            total = int(response.headers.get("Content-Length") or 0)
            while block := response.read(BLOCK):
                held.write(block)
                if progress is not None:
                    progress(held.tell(), total)
    except (urllib.error.URLError, OSError) as error:
        raise FileError(
            f"{url} could not be downloaded ({error}); without a network, copy the files by hand "
            f"and set ESPALIER_DATA to their folder"
        ) from error
    found = hashlib.md5(held.getvalue(), usedforsecurity=False).hexdigest()
    if found != md5:
        raise DataError(
            f"{url} has the checksum {found}, but {md5} was expected: the download was cut short, "
            f"or the file has changed; nothing was kept"
        )
    return held.getvalue()


def _known(name: str) -> Source:
    if name not in SOURCES:
        raise DataError(f"{name!r} is not a known data set; {nearest(name, SOURCES)}")
    return SOURCES[name]
