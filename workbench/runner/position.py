"""How far the runs of a program have come in the files of their log (`--state`).

The rule of this module: a row is known by its file and its number among the rows that can be read. A run that goes on
reads the log from the beginning, and leaves the rows out that have been run.
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

OTHER_LOG = "give the same log, which may have grown, or start afresh: name another --state"


@dataclass
class LogPosition:
    """How far runs have come; what is no file goes on with whatever comes, and is not in here.

    Attributes
    ----------
    rows: how many rows of each file have been run.
    last: what the last one of these was.
    read: how many rows of each file have been decoded, bad ones among them.
    bad: how many of these were bad, and have been reported.
    late: how many events came too late, and have been reported.
    undeclared: how many rows were of each type that is not declared.
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
        """The rows of a batch that have not been run.

        Raises
        ------
        StateError: the last row that has been run was another one.
        """
        count = min(self._left[batch.file], len(batch))
        if not count:
            return batch
        self._left[batch.file] -= count
        file, number = batch.file, self.rows[batch.file]
        if not self._left[file] and row_mark(batch, count - 1, domains) != self.last[file]:
            raise StateError(f"row {number:,} was another one when it was run", where=file, hint=OTHER_LOG)
        old = batch.part(slice(count))
        account.earlier += count
        account.events_in -= 0 if account.rows_are_events else old.events
        return batch.part(slice(count, None))

    def is_new_late(self, account: Account) -> bool:
        """Whether an event that comes too late has not been reported by an earlier run."""
        if not self._late_left:
            return True
        self._late_left -= 1
        account.earlier += 1
        return False

    def new_undeclared(self, type: str, rows: int, account: Account) -> int:
        """How many of some rows of a type that is not declared no earlier run has reported."""
        old = min(self._undeclared_left[type], rows)
        self._undeclared_left[type] -= old
        account.earlier += old
        return rows - old

    def advance(self, batch: LogBatch, count: int, domains: Mapping[str, Domain]) -> None:
        """So many of the first rows of a batch have been run."""
        if count and (batch.file in self.rows or is_reread(batch.file)):  # one that is rotated may be nowhere
            self.rows[batch.file] = self.rows.get(batch.file, 0) + count
            self.last[batch.file] = row_mark(batch, count - 1, domains)

    def check_reached(self, files: Iterable[str]) -> None:
        """StateError where a file has ended before the rows that have been run."""
        if short := next((file for file in files if self._left[file]), None):
            what = f"there are fewer rows than the {self.rows[short]:,} that have been run"
            raise StateError(what, where=short, hint=OTHER_LOG)


def is_reread(file: str) -> bool:
    """Whether the rows of a log can be read again: it is a file, or a folder of files."""
    return os.path.isfile(file) or os.path.isdir(file)


def row_mark(batch: LogBatch, at: int, domains: Mapping[str, Domain]) -> str:
    """What tells a row from others; `domains` are those of the inputs."""
    events, row = batch.occurrences, list[Any]()
    if isinstance(events, EventBlock):
        row += [events.names[int(events.types[at])], int(events.times[at])]
    elif events:
        row += [events[at].type, events[at].time]
    else:
        row += sorted(batch.part(slice(at, at + 1)).as_rows(domains)[0].items())
    return checksum(describe(row).encode()).hex()
