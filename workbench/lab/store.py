"""The store: results in a Parquet dataset, with an append-only folder of files for each suite (`suite=NAME`).

A file is written under another name, synced to the disk, and renamed, so it exists completely or not at all. Names are
unique and end in a hash of the content; a file that does not match its hash is reported and left out, and so is a row
that is not a result. Of several results of the same measurement, the newest counts, so there are no duplicates,
whoever wrote them. A file is removed only if another has all of its measurements (`Contents`), so concurrent writers
never lose one.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import LabError, StateError
from workbench.lab.result import Result
from workbench.lab.rows import arrow, as_text, flat, schema, sound, unflat
from workbench.stored import FORM, other_form

REPAIR = "`workbench lab run` repeats the measurements that no other file has; then such files can be deleted"
FORM_KEY = b"workbench.form"
"""The key in a file's schema for the format version of its rows."""
NEWER = "a newer workbench may have written such rows, and reads them; `workbench lab run` measures those points again"


@dataclass(frozen=True)
class Broken:
    """A file of the store that cannot be read completely; `hint` says what to do."""

    path: Path
    reason: str
    hint: str = REPAIR

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


@dataclass(frozen=True)
class Contents:
    """The measurements in a file: run, key and repetition of each, and when it began."""

    path: Path
    began: dict[tuple[str, str, int], str]

    @classmethod
    def of(cls, path: Path, table: Any) -> Contents:
        """Return the measurements of a file that has been read."""
        run, key, repetition, started = (table.column(n).to_pylist() for n in ("run", "key", "repetition", "started"))
        return cls(path, dict(zip(zip(run, key, repetition, strict=True), started, strict=True)))

    def needless_beside(self, other: Contents) -> bool:
        """Whether the other has all of these measurements; of two files with the same ones, the older is needless.

        This is a strict order, so however many writers remove needless files at once, the greatest files remain, with
        all measurements.
        """
        if self.began.keys() == other.began.keys():
            return (sorted(self.began.items()), self.path.name) < (sorted(other.began.items()), other.path.name)
        return self.began.keys() <= other.began.keys()

    def newer_somewhere(self, other: Contents) -> bool:
        """Whether a common measurement is newer here."""
        return any(began > other.began.get(which, began) for which, began in self.began.items())


class ResultStore:
    """The results of one suite.

    Parameters
    ----------
    folder: the folder of the whole store; adding a result creates the suite's folder in it.
    """

    def __init__(self, folder: Path, suite: str) -> None:
        self.folder = folder / f"suite={suite}"

    # --- writing --------------------------------------------------------------------------------------------

    def add(self, results: Sequence[Result], name: str = "") -> Path | None:
        """Add results as one file, and return its path; None without results.

        With a `name`, earlier files with this prefix are removed if this one has all of their measurements, so that a
        repeated batch is stored once.

        Raises
        ------
        LabError: the file cannot be written, for example because the disk is full.
        """
        if not results:
            return None
        stamp = new_name()
        data = _encode(results)
        final = self.folder / f"part-{name}{'.' * bool(name)}{stamp}.{_hash(data)}.parquet"
        with self._aside(stamp) as aside:
            with aside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, final)
        if name:
            self.tidy(name, newer=False)
        return final

    def tidy(self, beginning: str = "", *, newer: bool = True) -> None:
        """Remove the files (with this prefix) whose measurements are all in another file.

        A batch that was interrupted, or made by two workers, leaves such files. Runs are kept apart, so measurements
        repeated in another run stay.

        Parameters
        ----------
        newer: whether to remove also files with a measurement that is newer than its copy in the same run.
        """
        if len(self._paths(beginning)) < 2:
            return
        good, broken = self.files(beginning)
        files = [Contents.of(path, table) for path, table in good.items()]
        broken_paths = {item.path for item in broken}  # another version of workbench may read some of their rows
        having: dict[tuple[str, str, int], list[Contents]] = {}
        for one in files:
            for which in one.began:
                having.setdefault(which, []).append(one)
        for one in files:
            rivals = having[next(iter(one.began))] if one.path not in broken_paths and one.began else ()
            if any(one.needless_beside(other) and (newer or not one.newer_somewhere(other)) for other in rivals):
                with contextlib.suppress(OSError):
                    one.path.unlink()

    def try_to_write(self) -> None:
        """Check, before any measurement, that results can be stored.

        Raises
        ------
        LabError: results cannot be stored.
        """
        with self._aside(secrets.token_hex(4)) as aside:
            aside.write_bytes(bytes(1))

    @contextlib.contextmanager
    def _aside(self, stamp: str) -> Iterator[Path]:
        """Yield a temporary path, and remove its file at the end; raise LabError if it cannot be written."""
        aside = self.folder / f".part-{stamp}.incoming"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            yield aside
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with contextlib.suppress(OSError):
                aside.unlink()

    def _unwritable(self, error: OSError) -> LabError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        remedy = "free some space" if full else "make the folder writable, or choose another with --data"
        return LabError(
            f"results cannot be stored: {what}", where=str(self.folder),
            hint=f"earlier results stay; {remedy}, and run the same command again to continue",
        )  # fmt: skip

    # --- reading --------------------------------------------------------------------------------------------

    def files(self, beginning: str = "") -> tuple[dict[Path, Any], list[Broken]]:
        """Return the readable files, with their sound rows as Arrow tables, and those with errors."""
        pa = arrow()
        good: dict[Path, Any] = {}
        broken: list[Broken] = []
        paths: set[Path] = set()
        while unread := self._paths(beginning) - paths:  # again, since another file replaces one that vanishes
            paths |= unread
            for path in sorted(unread):
                try:
                    good[path], bad = sound(read(path))
                except FileNotFoundError:
                    continue
                except StateError as error:
                    broken.append(Broken(path, error.what, error.hint))
                except (OSError, ValueError, pa.ArrowException) as error:
                    broken.append(Broken(path, first_line(error)))
                else:
                    broken += [Broken(path, bad, NEWER)] * bool(bad)
        return good, broken

    def _paths(self, beginning: str) -> set[Path]:
        return set(self.folder.glob(f"part-{beginning}*.parquet"))

    def table(self, beginning: str = "") -> tuple[Any, list[Broken]]:
        """Return all results, of every run, as an Arrow table, and the files that could not be read.

        With a `beginning`, only the files with this prefix count.
        """
        pa = arrow()
        good, broken = self.files(beginning)
        # not `empty_table`, which imports pandas
        return pa.concat_tables(good.values()) if good else pa.Table.from_batches([], schema()), broken

    def results(self, beginning: str = "") -> tuple[list[Result], list[Broken]]:
        """Return the results of `table`, oldest first, and the files that could not be read."""
        table, broken = self.table(beginning)
        return sorted(map(unflat, table.to_pylist()), key=lambda r: (r.started, r.id)), broken

    def points(self, keys: Iterable[str]) -> dict[tuple[str, str], list[str]]:
        """Return, by experiment and point (as text), those of the prefixes `keys` that keys of its results have."""
        table, _ = self.table()
        prefixes: dict[tuple[str, str], list[str]] = {}
        rows = table.select(["key", "experiment", "point"]).to_pydict()
        for own, experiment, point in zip(rows["key"], rows["experiment"], rows["point"], strict=True):
            for key in keys:
                if own.startswith(key) and key not in prefixes.setdefault((experiment, point), []):
                    prefixes[experiment, point].append(key)
        return {identity: met for identity, met in prefixes.items() if met}

    def done(self) -> tuple[dict[str, str], list[Broken]]:
        """Return the measurements in the store (`key.repetition`), each with its newest status."""
        table, broken = self.table()
        columns = table.select(["key", "repetition", "status", "started"]).to_pydict()
        rows = sorted(zip(columns["started"], columns["key"], columns["repetition"], columns["status"], strict=True))
        return {f"{key}.{repetition}": status for _, key, repetition, status in rows}, broken


def read(path: Path) -> Any:
    """Read a file as an Arrow table.

    Raises
    ------
    OSError, ValueError, pyarrow.ArrowException: the file cannot be read, or has changed since it was written.
    StateError: the file has a newer format. (Old files without a format version are read.)
    """
    pa = arrow()
    data = path.read_bytes()
    if path.name.split(".")[-2] != _hash(data):
        raise ValueError(f"damaged or half-written ({len(data)} bytes)")
    form = int((pa.parquet.read_schema(pa.BufferReader(data)).metadata or {}).get(FORM_KEY, FORM))
    if form > FORM:
        raise other_form("it", form, NEWER, path)
    table = pa.parquet.read_table(pa.BufferReader(data), schema=schema())
    table.validate(full=True)
    return table


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _encode(results: Sequence[Result]) -> bytes:
    pa = arrow()
    file_schema = schema().with_metadata({FORM_KEY: str(FORM)})
    table = pa.Table.from_pylist([flat(result) for result in results], schema=file_schema)
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def new_name() -> str:
    """Return a unique name for a file."""
    return f"{time.time_ns():x}-{secrets.token_hex(4)}"


def first_line(error: Exception) -> str:
    """Return the first line of an error."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def newest(results: Iterable[Result]) -> dict[str, Result]:
    """Return the newest result of each experiment, point and repetition, by id, whatever code it was measured with."""
    latest: dict[tuple[str, str, int], Result] = {}
    for result in sorted(results, key=lambda r: r.started):
        latest[result.experiment, as_text(result.point), result.repetition] = result
    return {result.id: result for result in latest.values()}
