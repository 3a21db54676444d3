"""The store: results in a Parquet dataset, a folder for each suite (`suite=NAME`), to which files are only added.

A file is written under another name, brought to the disk, and renamed, so it is there whole or not at all. Its name has
a hash of its content; a file that is not what its name says is reported and left out. Of several results of the same
measurement the newest counts, so nothing is there twice, whoever wrote it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.errors import LabError
from workbench.lab.result import Measured, Result, Status

TEXTS = ("key", "experiment", "point", "code", "run", "status", "reason", "outputs", "limited_by", "commit", "command",
         "started", "machine", "versions", "log")  # fmt: skip
NUMBERS = ("wall_seconds", "cpu_seconds", "peak_mb", "load", "steal", "gpu_seconds", "gpu_peak_mb")
INTEGERS = ("repetition", "seed")
COLUMNS = (*TEXTS, *INTEGERS, *NUMBERS, "reliable")
REPAIR = "`workbench lab run` measures again what is in no other file; then such files can be deleted"
MISSING = "install the extra 'lab': pip install 'workbench[lab]'"


def arrow() -> Any:
    """The package pyarrow.

    Raises
    ------
    LabError: it is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise LabError("results are kept in Parquet files, and pyarrow is not installed", hint=MISSING) from error
    return pyarrow


@dataclass(frozen=True)
class Broken:
    """A file of the store that cannot be read."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Store:
    """The results of one suite.

    Parameters
    ----------
    folder: the whole store; the suite's folder is made in it when something is added.
    """

    def __init__(self, folder: Path, suite: str) -> None:
        self.folder = folder / f"suite={suite}"
        self.suite = suite

    # --- writing --------------------------------------------------------------------------------------------

    def add(self, results: Sequence[Result], name: str = "") -> Path | None:
        """Add results as one file; the file, None where there is nothing to add.

        A `name` makes it replace an earlier file of that name: a batch that is done again is there once.

        Raises
        ------
        LabError: it cannot be written: the disk is full, for example.
        """
        if not results:
            return None
        name = name or new_name()
        data = _encoded(results)
        final = self.folder / f"part-{name}.{_hash(data)}.parquet"
        aside = self.folder / f".part-{name}-{secrets.token_hex(4)}.incoming"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with aside.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(aside, final)
            for other in self.folder.glob(f"part-{name}.*.parquet"):
                if other != final:
                    other.unlink(missing_ok=True)
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with contextlib.suppress(OSError):
                aside.unlink()
        return final

    def remove(self, beginning: str) -> None:
        """Take away the files whose names begin so: what they have is in another by now."""
        for path in self.folder.glob(f"part-{beginning}*.parquet"):
            with contextlib.suppress(OSError):
                path.unlink()

    def try_to_write(self) -> None:
        """See, before anything is measured, that results could be stored.

        Raises
        ------
        LabError: they could not.
        """
        aside = self.folder / f".part-{secrets.token_hex(4)}.incoming"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            aside.write_bytes(bytes(1))
        except OSError as error:
            raise self._unwritable(error) from error
        finally:
            with contextlib.suppress(OSError):
                aside.unlink()

    def _unwritable(self, error: OSError) -> LabError:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        what = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or str(error)
        remedy = "make room" if full else "see to it that it can be written, or choose another folder with --data"
        return LabError(
            f"results cannot be stored: {what}", where=str(self.folder),
            hint=f"what was stored before is kept; {remedy}, and run the same command again to go on",
        )  # fmt: skip

    # --- reading --------------------------------------------------------------------------------------------

    def files(self, beginning: str = "") -> tuple[dict[Path, Any], list[Broken]]:
        """The files that can be read, with their contents as Arrow tables, and those that cannot."""
        pa = arrow()
        good, broken = {}, []
        for path in sorted(self.folder.glob(f"part-{beginning}*.parquet")):
            try:
                good[path] = read(path)
            except FileNotFoundError:  # replaced meanwhile
                continue
            except (OSError, ValueError, pa.ArrowException) as error:
                broken.append(Broken(path, first_line(error)))
        return good, broken

    def table(self, beginning: str = "") -> tuple[Any, list[Broken]]:
        """All results, of every run, as an Arrow table, and the files that could not be read.

        With a `beginning` those of the files whose names begin so.
        """
        pa = arrow()
        good, broken = self.files(beginning)
        return pa.concat_tables(good.values()) if good else schema().empty_table(), broken

    def results(self, beginning: str = "") -> tuple[list[Result], list[Broken]]:
        """All results, of every run, oldest first; those of `table`."""
        table, broken = self.table(beginning)
        return sorted(map(unflat, table.to_pylist()), key=lambda r: (r.started, r.id)), broken

    def points(self, keys: Iterable[str]) -> dict[tuple[str, str], list[str]]:
        """Experiment and point (as text) of the results whose keys begin like these, and which of these it was."""
        table, _ = self.table()
        found: dict[tuple[str, str], list[str]] = {}
        rows = table.select(["key", "experiment", "point"]).to_pydict()
        for own, experiment, point in zip(rows["key"], rows["experiment"], rows["point"], strict=True):
            for key in keys:
                if own.startswith(key) and key not in found.setdefault((experiment, point), []):
                    found[experiment, point].append(key)
        return {place: met for place, met in found.items() if met}

    def done(self) -> tuple[dict[str, str], list[Broken]]:
        """The measurements that there are (`key.repetition`), each with its newest status."""
        table, broken = self.table()
        wanted = table.select(["key", "repetition", "status", "started"]).to_pydict()
        rows = sorted(zip(wanted["started"], wanted["key"], wanted["repetition"], wanted["status"], strict=True))
        return {f"{key}.{repetition}": status for _, key, repetition, status in rows}, broken


def read(path: Path) -> Any:
    """A file as an Arrow table.

    Raises
    ------
    OSError, ValueError, pyarrow.ArrowException: it cannot be read, or is not what it was when it was written.
    """
    pa = arrow()
    data = path.read_bytes()
    if path.name.split(".")[-2] != _hash(data):
        raise ValueError(f"damaged or half-written ({len(data)} bytes)")
    return pa.parquet.read_table(pa.BufferReader(data), schema=schema())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _encoded(results: Sequence[Result]) -> bytes:
    pa = arrow()
    rows = [flat(result) for result in results]
    table = pa.table({name: [row[name] for row in rows] for name in COLUMNS}, schema=schema())
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(table, sink, compression="zstd")
    return bytes(sink.getvalue())


def new_name() -> str:
    """A name for a file that no other has."""
    return f"{time.time_ns():x}-{secrets.token_hex(4)}"


def schema() -> Any:
    """The columns of a file."""
    pa = arrow()
    kinds = {**dict.fromkeys(TEXTS, pa.string()), **dict.fromkeys(INTEGERS, pa.int64()),
             **dict.fromkeys(NUMBERS, pa.float64()), "reliable": pa.bool_()}  # fmt: skip
    return pa.schema([(name, kinds[name]) for name in COLUMNS])


def flat(result: Result) -> dict[str, Any]:
    """A result as a row."""
    own = {**vars(result.measured), **vars(result)}
    own["status"] = str(result.measured.status)
    for name in ("point", "outputs", "machine", "versions"):
        own[name] = as_text(own[name])
    for name in TEXTS:  # a file holds no half of a character, which a text may have from a damaged name or output
        own[name] = own[name].encode("utf-8", "replace").decode()
    return {name: own[name] for name in COLUMNS}


def unflat(row: Mapping[str, Any]) -> Result:
    """A row as a result."""
    own = dict(row)
    for name in ("point", "outputs", "machine", "versions"):
        own[name] = json.loads(own[name])
    own["status"] = Status(own["status"])
    of = {name: own[name] for name in vars(Measured(Status.OK))}
    return Result(measured=Measured(**of), **{k: own[k] for k in Result.__dataclass_fields__ if k != "measured"})


def as_text(data: Mapping[str, Any]) -> str:
    """Plain data as JSON, always the same text for the same data."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def first_line(error: Exception) -> str:
    """What an error says first."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def newest(results: Iterable[Result]) -> dict[str, Result]:
    """Of each experiment, point and repetition the newest result, whatever code it was measured with."""
    found: dict[tuple[str, str, int], Result] = {}
    for result in sorted(results, key=lambda r: r.started):
        found[result.experiment, as_text(result.point), result.repetition] = result
    return {result.id: result for result in found.values()}
