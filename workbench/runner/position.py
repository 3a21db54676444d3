"""The position of runs in the files of their log (`--state`).

The rule of this module: a row is identified by its file and its number among the readable rows. A run that continues
reads the log from the beginning, and skips the rows that have been run.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.domain import Domain
from workbench.errors import StateError
from workbench.events.account import Account
from workbench.events.batch import LogBatch
from workbench.executors.snapshot import describe
from workbench.stored import checksum
from workbench.tesla.event_block import EventBlock

OTHER_LOG = "name the same log, which may have grown, or start afresh with another --state"


@dataclass
class LogPosition:
    """The rows that have been run. A log that is not a file continues with whatever comes, and has no position.

    Attributes
    ----------
    rows: the number of rows of each file that have been run.
    last: the mark of the last one of these.
    read: the number of rows of each file that have been decoded, bad ones among them.
    bad: the number of these that were bad, and have been reported.
    late: the number of events that came too late, and have been reported.
    undeclared: the number of rows of each undeclared type.
    """

    rows: dict[str, int] = field(default_factory=dict)
    last: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    bad: dict[str, int] = field(default_factory=dict)
    late: int = 0
    undeclared: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._left, self._undeclared_left, self._late_left = Counter(self.rows), Counter(self.undeclared), self.late

    def leave_out(self, batch: LogBatch, domains: Mapping[str, Domain], account: Account) -> LogBatch:
        """Remove the rows that have been run from a batch.

        Raises
        ------
        StateError: the last row that has been run has changed.
        """
        count = min(self._left[batch.file], len(batch))
        if not count:
            return batch
        self._left[batch.file] -= count
        file, number = batch.file, self.rows[batch.file]
        if not self._left[file] and row_mark(batch, count - 1, domains) != self.last[file]:
            raise StateError(f"row {number:,} has changed since it was run", where=file, hint=OTHER_LOG)
        old = batch.part(slice(count))
        account.earlier += count
        account.events_in -= 0 if account.rows_are_events else old.events
        return batch.part(slice(count, None))

    def is_new_late(self, account: Account) -> bool:
        """Whether a late event has not been reported by an earlier run."""
        if not self._late_left:
            return True
        self._late_left -= 1
        account.earlier += 1
        return False

    def new_undeclared(self, type: str, rows: int, account: Account) -> int:
        """Return how many of some rows of an undeclared type have not been reported by an earlier run."""
        old = min(self._undeclared_left[type], rows)
        self._undeclared_left[type] -= old
        account.earlier += old
        return rows - old

    def advance(self, batch: LogBatch, count: int, domains: Mapping[str, Domain]) -> None:
        """Record that the first `count` rows of a batch have been run."""
        if count and (batch.file in self.rows or is_reread(batch.file)):  # a rotated file may be gone
            self.rows[batch.file] = self.rows.get(batch.file, 0) + count
            self.last[batch.file] = row_mark(batch, count - 1, domains)

    def check_reached(self, files: Iterable[str]) -> None:
        """Raise StateError if a file has ended before the rows that have been run."""
        if short := next((file for file in files if self._left[file]), None):
            what = f"the file has fewer rows than the {self.rows[short]:,} that have been run"
            raise StateError(what, where=short, hint=OTHER_LOG)


def is_reread(file: str) -> bool:
    """Whether the rows of a log can be read again: it is a file, or a folder of files."""
    return os.path.isfile(file) or os.path.isdir(file)


def row_mark(batch: LogBatch, at: int, domains: Mapping[str, Domain]) -> str:
    """Return a checksum that identifies a row; `domains` are those of the inputs."""
    events, row = batch.occurrences, list[Any]()
    if isinstance(events, EventBlock):
        row += [events.names[int(events.types[at])], int(events.times[at])]
    elif events:
        row += [events[at].type, events[at].time]
    else:
        row += sorted(batch.part(slice(at, at + 1)).as_rows(domains)[0].items())
    return checksum(describe(row).encode()).hex()
