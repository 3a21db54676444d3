"""SQLite databases of facts: read only, in one state for each event, and within a time limit.

The rule of this module: it knows SQL and nothing of rules. It writes nothing, and any failure is a
`FactsError` that names the file, the reason, and whether a retry may succeed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from workbench.errors import FactsError, InputError, refuse_unknown

Answered = TypeVar("Answered")
MAGIC = b"SQLite format 3\0"
INSTRUCTIONS = 10_000
"""Instructions of SQLite's machine between two readings of the clock: about a millisecond at most."""
PAGES = 64 << 10
"""Size of a database's page cache, in kibibytes."""
STATEMENTS = 1024
"""Number of cached prepared statements."""
LOCK_TIMEOUT = 5.0
"""Seconds to wait for a lock, if there is no time limit."""
PAUSES = (0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
"""Seconds between retries (`FactSettings.failure`)."""
WRONG = (sqlite3.Error, UnicodeDecodeError)
"""Exceptions of failed queries; the latter if SQLite's message has bytes of the database."""
FAILURES = ("error", "drop", "retry")


@dataclass(frozen=True)
class FactSettings:
    """The settings for queries to databases.

    Attributes
    ----------
    fixed: whether the user promises that nothing changes, so that changes are not detected.
    seconds: the maximum duration of a query; None: unlimited.
    failure: the reaction to a failed query: `error` ends the run, `drop` drops the matches that need it,
        `retry` repeats it several times before it is an error.
    """

    fixed: bool = False
    seconds: float | None = None
    failure: str = "error"

    def __post_init__(self) -> None:
        refuse_unknown("reaction", self.failure, FAILURES)
        if self.seconds is not None and not self.seconds > 0:
            raise InputError(f"queries cannot end in {self.seconds:g} seconds", hint="leave out the limit")


def is_database(path: str | Path) -> bool:
    """Whether a file is a SQLite database, or has the suffix of one.

    A file with such a suffix is not opened: closing a file releases all locks that the process has on it.
    """
    return Path(path).suffix.lower() in (".db", ".sqlite", ".sqlite3", ".db3") or _read_header(path) == MAGIC


def is_duckdb(path: str | Path) -> bool:
    """Whether a file that is no SQLite database is one of DuckDB, whatever its name."""
    return _read_header(path)[8:12] == b"DUCK"


def _read_header(path: str | Path) -> bytes:
    try:
        with Path(path).open("rb") as file:
            return file.read(len(MAGIC))
    except OSError:
        return b""


DUCKDB = (
    "this is a DuckDB database, but facts are read from SQLite",
    "copy the table to Parquet (COPY t TO 't.parquet'), and name that file: --facts TYPE=t.parquet",
)
"""The message and the hint for a DuckDB database."""


class FactDatabase:
    """A database file, or a database in memory.

    Parameters
    ----------
    path: the path of the file.
    memory: a database in memory, which never changes; `path` is then its name.

    Attributes
    ----------
    version: a number that changes when a change of the file by another program is detected.
    changed: functions called when that happens.
    open: whether a transaction fixes its state, until it is settled.
    """

    def __init__(
        self, path: str | Path, settings: FactSettings | None = None, memory: sqlite3.Connection | None = None
    ) -> None:
        self.path, self.settings, self.in_memory = str(path), settings or FactSettings(), memory is not None
        self.changed: list[Callable[[], object]] = []
        self.version = 0
        self._image: bytes | None = None
        self.open = False
        self._state: tuple[Any, ...] = ()
        self._deadline, self._asked = inf, False
        self._stopped: BaseException | None = None
        self._connection = memory and self._prepare(memory)

    def __str__(self) -> str:
        return self.path

    def __getstate__(self) -> Mapping[str, Any]:
        """Return the path and settings, to open the file again; a database in memory is serialized."""
        image = self._ensure_connection().serialize() if self.in_memory else None
        here: Mapping[str, Any] = {"_connection": None, "open": False, "changed": [], "_state": ()}
        return {**vars(self), **here, "_image": image}

    @property
    def is_fixed(self) -> bool:
        """Whether it cannot change."""
        return self.settings.fixed or self.in_memory

    def stamp(self) -> list[int]:
        """Return numbers that change when the file is written; FactsError if it does not exist."""
        self._file()
        stats = [os.stat(each) for each in (self.path, f"{self.path}-wal") if Path(each).exists()]
        return [number for each in stats for number in (each.st_mtime_ns, each.st_size) if each.st_size]

    # --- one event --------------------------------------------------------------------------------------

    def see(self) -> None:
        """Fix the state of the database until `settle`; call the functions in `changed` if it has changed."""
        if not self.open:
            self._retry(self._begin)

    def _begin(self) -> None:
        if self.open:
            return
        connection = self._ensure_connection()
        if self.is_fixed:
            if not self.in_memory:  # once for all; otherwise each query has to lock the file
                connection.execute("BEGIN")
            self.open = True
            return
        try:
            connection.execute("BEGIN")
            self.open = True
            state = (self._file(), *connection.execute("PRAGMA data_version").fetchone())
            if state != self._state:
                self._renew(state)
        except (*WRONG, FactsError) as error:
            self.settle()
            raise (error if isinstance(error, FactsError) else self.failure(error)) from error

    def _renew(self, state: tuple[Any, ...]) -> None:
        """React to a change: reopen the file if it was replaced, and call the functions in `changed`."""
        before, self._state = self._state, state
        if before and before[0] != state[0]:
            self.close()
            connection = self._ensure_connection()
            connection.execute("BEGIN")
            self.open = True
            self._state = (state[0], *connection.execute("PRAGMA data_version").fetchone())
        if before:
            self.version += 1
            try:
                for callback in self.changed:
                    callback()
            except FactsError:
                self._state = before  # the change is refused, and is detected again next time
                raise

    def schema(self) -> tuple[Any, ...]:
        """Return a value that changes when the columns of tables change."""
        return (*self._state[:1], *self.rows("PRAGMA schema_version"))

    def settle(self) -> None:
        """End the transaction of an event, so that others may write."""
        self._asked = False
        if self.open and not self.is_fixed:
            self.open = False
            try:
                if self._connection is not None and self._connection.in_transaction:
                    self._connection.execute("COMMIT")
            except sqlite3.Error:  # nothing was written, and the error has been reported
                self.close()

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of a query.

        Raises
        ------
        FactsError: it takes too long, the file is locked, damaged or gone, or SQLite fails. OverflowError,
                UnicodeEncodeError: SQLite cannot represent a value.
        """
        return self._retry(lambda: self._rows(sql, values))

    def _retry(self, work: Callable[[], Answered]) -> Answered:
        """Run a function, and retry it if the settings request that and a retry may succeed."""
        pauses = iter(PAUSES if self.settings.failure == "retry" else ())
        while True:
            version, has_queried = self.version, self._asked
            try:
                answer = work()
            except FactsError as error:
                pause = next(pauses, None)
                if pause is None or not error.passing:
                    raise
                sleep(pause)
                continue
            if has_queried and version != self.version:
                what = "the facts have changed before an event had all its answers"
                raise FactsError(what, where=self.path, hint="a query had to be repeated", reason="changed")
            return answer

    def _rows(self, sql: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        self._begin()
        connection = self._ensure_connection()
        if self.settings.seconds is not None:
            self._deadline = monotonic() + self.settings.seconds
        try:
            rows = connection.execute(sql, values).fetchall()
        except WRONG as error:
            raise self.failure(error) from error
        self._asked = True
        return rows

    # --- the connection ---------------------------------------------------------------------------------

    def _ensure_connection(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._connect()
        return self._connection

    def _connect(self) -> sqlite3.Connection:
        name = ":memory:" if self.in_memory else f"{Path(self.path).resolve().as_uri()}?mode=ro"
        try:
            connection = sqlite3.connect(
                name, self._lock_timeout, uri=not self.in_memory, isolation_level=None, check_same_thread=False,
                cached_statements=STATEMENTS,
            )  # fmt: skip
            if self._image is not None:
                connection.deserialize(self._image)
            return self._prepare(connection)
        except WRONG as error:
            raise self.failure(error) from error

    @property
    def _lock_timeout(self) -> float:
        """Seconds to wait while another program has locked the file."""
        return LOCK_TIMEOUT if self.settings.seconds is None else self.settings.seconds

    def _prepare(self, connection: sqlite3.Connection) -> sqlite3.Connection:
        connection.execute(f"PRAGMA cache_size = -{PAGES}")
        connection.execute("PRAGMA query_only = ON")
        looks = self._watch_clock()
        next(looks)
        connection.set_progress_handler(looks.__next__, INSTRUCTIONS)
        connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()  # reads the file
        return connection

    def _file(self) -> tuple[int, int]:
        try:
            status = os.stat(self.path)
        except OSError as error:
            what = f"the facts are gone: {error.strerror}"
            raise FactsError(what, where=self.path, reason="missing", passing=True) from error
        return status.st_dev, status.st_ino

    def _watch_clock(self) -> Generator[bool]:
        """Yield whether to stop the query, as a progress handler of SQLite.

        A signal is raised when Python code continues, which is here. In a plain function that would be before its first
        line, and SQLite would lose the exception.
        """
        ends = False
        while True:
            try:
                yield ends
                ends = monotonic() > self._deadline
            except GeneratorExit:
                return
            except BaseException as error:
                self._stopped, ends = error, True

    def failure(self, error: Exception) -> FactsError:
        """Translate an exception of SQLite to an error for the user."""
        if self._stopped is not None:
            stopped, self._stopped = self._stopped, None
            raise stopped
        damaged = sqlite3.SQLITE_CORRUPT if isinstance(error, UnicodeDecodeError) else 0
        code = getattr(error, "sqlite_errorcode", damaged) & 0xFF
        reason, what, hint = _FAILURES.get(code, ("other", f"the database reports: {error}", ""))
        if code == sqlite3.SQLITE_INTERRUPT:
            what = f"a query takes longer than {self.settings.seconds:g} seconds"
        if code == sqlite3.SQLITE_CANTOPEN and not Path(self.path).exists():
            what, hint = "there is no such file", ""
        if code == sqlite3.SQLITE_NOTADB and is_duckdb(self.path):
            what, hint = DUCKDB
        passing = code in (sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
        return FactsError(what, where=self.path, hint=hint, reason=reason, passing=passing)

    @contextmanager
    def writable(self) -> Iterator[sqlite3.Connection]:
        """Open a writable connection for the duration of a block."""
        if self.in_memory:
            connection = self._ensure_connection()
            connection.execute("PRAGMA query_only = OFF")
            yield connection
            connection.execute("PRAGMA query_only = ON")
            return
        self.close()  # its knowledge of indexes becomes invalid
        name = f"{Path(self.path).resolve().as_uri()}?mode=rw"
        with closing(sqlite3.connect(name, self._lock_timeout, uri=True)) as connection:
            yield connection
            connection.commit()

    def close(self) -> None:
        """Close the file; the next query opens it again."""
        if self._connection is not None:
            self._connection.close()
        self._connection, self.open = None, False


_FAILURES = {
    sqlite3.SQLITE_BUSY: (
        "locked", "another program has the database locked",
        "--facts-timeout waits longer, --on-facts-failure retry tries again; a database in WAL mode is never locked"
        " for readers",
    ),
    sqlite3.SQLITE_LOCKED: ("locked", "the database is locked", ""),
    sqlite3.SQLITE_INTERRUPT: (
        "slow", "a query takes too long", "workbench rules plan shows what it scans, and which index helps"
    ),
    sqlite3.SQLITE_CORRUPT: ("damaged", "the database is damaged", "PRAGMA integrity_check shows where"),
    sqlite3.SQLITE_NOTADB: ("damaged", "this is not a SQLite database", "name the type of other files: --facts Line=F"),
    sqlite3.SQLITE_CANTOPEN: (
        "missing", "the database cannot be opened",
        "it is opened read-only; in WAL mode, its -shm file must be creatable in its folder",
    ),
    sqlite3.SQLITE_READONLY: ("other", "the database cannot be written", "check who may write the file and its folder"),
    sqlite3.SQLITE_IOERR: ("damaged", "the database cannot be read, or not be written", ""),
}  # fmt: skip
"""For each error code of SQLite: the reason in a word, the message, and a hint."""
