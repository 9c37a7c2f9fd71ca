"""Where data comes from: a folder given, `ESPALIER_DATA`, the cache, or a download.

A download is checked against its published checksum before anything is saved.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from espalier.errors import DataError, FileError, nearest
from espalier.files import atomic_path

Progress = Callable[[int, int], None]  # bytes so far, bytes in all (0: not known)


@dataclass(frozen=True)
class Archive:
    """A public data set in one zip archive: its MD5, and the files of it that are wanted."""

    name: str
    url: str
    md5: str
    files: tuple[str, ...]


@dataclass(frozen=True)
class Folder:
    """A public data set as a folder of plain files, each with its MD5."""

    name: str
    url: str
    md5s: Mapping[str, str]

    @property
    def files(self) -> tuple[str, ...]:
        """The files that are wanted, relative to the folder."""
        return tuple(self.md5s)


Source = Archive | Folder

SOURCES: dict[str, Source] = {
    "wikitext-2": Archive(
        name="wikitext-2",
        url="https://wikitext.smerity.com/wikitext-2-v1.zip",
        md5="542ccefacc6c27f945fb54453812b3cd",
        files=("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
    ),
    "ud-english-ewt": Folder(
        name="ud-english-ewt",
        url="https://raw.githubusercontent.com/UniversalDependencies/UD_English-EWT/r2.15",
        md5s={
            "en_ewt-ud-dev.conllu": "cb1da95ff28a449cb9bc286c922e15e1",
            "en_ewt-ud-test.conllu": "01630da0129f8600ef761dbcfd18b9e2",
            "en_ewt-ud-train.conllu": "fa9865539033efcf99ea90f8b93d6646",
        },
    ),
    "scan": Folder(
        name="scan",
        url="https://raw.githubusercontent.com/brendenlake/SCAN/master",
        md5s={
            "tasks.txt": "ef3b0eb1847826039fdc5d51d4c96888",
            "length_split/tasks_train_length.txt": "9bb7aee6f3ad462c3d51af01bcfe937b",
            "length_split/tasks_test_length.txt": "ac3bd14b5a1f1154ee25c797387e0c9a",
            "mcd_split/tasks_train_mcd1.txt": "6ddbe2864ae524a6dee3972229ec206c",
            "mcd_split/tasks_train_mcd2.txt": "8f07cb96ca156fc718c39af296a8b29e",
            "mcd_split/tasks_train_mcd3.txt": "e6e40a61e7c2e1ba1211761621ac3646",
            "mcd_split/tasks_test_mcd1.txt": "9f261eb1ae0b9b7ee4fc0d5cd932b347",
            "mcd_split/tasks_test_mcd2.txt": "276c088cade21903a479fce93b2964be",
            "mcd_split/tasks_test_mcd3.txt": "d510765156984bb7ee67e908694f9cfb",
        },
    ),
}


def cache_folder() -> Path:
    """Where downloads are saved: ESPALIER_DATA, else the user's cache."""
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
        f"{name} is not here: {first / absent} is missing. Set ESPALIER_DATA to the folder "
        f"that holds {name}/, or fetch it with: espalier data fetch {name}"
    )


def fetch(name: str, *, progress: Progress | None = None) -> Path:
    """The folder of a known data set, downloaded into the cache if it is missing."""
    try:
        return find(name)
    except FileError:
        source = _known(name)
    folder = cache_folder() / name
    with tempfile.TemporaryDirectory() as scratch:
        for file, body in _bodies(source, Path(scratch), progress):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(folder / file) as temporary:
                temporary.write_bytes(body)
    return folder


def _bodies(
    source: Source, scratch: Path, progress: Progress | None
) -> Iterator[tuple[str, bytes]]:
    """Every wanted file with its contents, each checked first."""
    match source:
        case Archive():
            with zipfile.ZipFile(_download(source, "", source.md5, scratch, progress)) as opened:
                inside = {Path(entry).name: entry for entry in opened.namelist()}
                for file in source.files:
                    yield file, opened.read(inside[file])
        case Folder():
            for file, md5 in source.md5s.items():
                yield file, _download(source, f"/{file}", md5, scratch, progress).read_bytes()


class _Bar:
    """A progress bar for pooch that calls a function."""

    def __init__(self, progress: Progress) -> None:
        self._progress, self._done, self.total = progress, 0, 0

    def update(self, more: int) -> None:
        self._done += more
        self._progress(self._done, self.total)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        self._progress(self.total, self.total)


def _download(
    source: Source, file: str, md5: str, scratch: Path, progress: Progress | None
) -> Path:
    """A file of a data set in the scratch folder, if its checksum is the one published."""
    import pooch

    pooch.get_logger().setLevel("WARNING")
    url = f"{source.url}{file}"
    downloader = pooch.HTTPDownloader(
        timeout=30, progressbar=False if progress is None else _Bar(progress)
    )
    try:
        return Path(
            pooch.retrieve(url, known_hash=f"md5:{md5}", path=scratch, downloader=downloader)
        )
    except ValueError as error:
        raise DataError(
            f"{url} does not have the expected checksum: the download was cut short, or the "
            f"file has changed; nothing was saved ({error})"
        ) from error
    except OSError as error:
        raise FileError(
            f"{url} could not be downloaded ({error}); where there is no network, put "
            f"{', '.join(source.files)} into {cache_folder() / source.name} by hand, or set "
            f"ESPALIER_DATA to a folder that holds {source.name}/ with them"
        ) from error


def _known(name: str) -> Source:
    if name not in SOURCES:
        raise DataError(f"{name!r} is not a known data set; {nearest(name, SOURCES)}")
    return SOURCES[name]
