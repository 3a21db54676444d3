"""The rows of a log in the batches that a session takes.

The rule of this module: rows that can be read make a batch, and what is wrong with the row behind them goes with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from workbench.core.domain import Value
from workbench.errors import WorkbenchError
from workbench.events.account import Account
from workbench.events.rows import LogBlock
from workbench.executors.session import COLUMNS, LISTS, LogBatch, RowEvents, Session

WAIT = 0.05
"""Seconds after which what comes out is given away, where somebody waits for it."""


class BatchPace:
    """How many rows are read one by one, or come as lists, before they are run.

    Parameters
    ----------
    most: so many at most.
    waited: whether somebody waits for what comes out: then they are as many as run in about `WAIT` seconds.
    """

    def __init__(self, most: int, *, waited: bool) -> None:
        self.most, self.waited = most, waited
        self.size = 1 if waited else most

    def see(self, rows: int, seconds: float) -> None:
        """So many rows have taken so long."""
        if not self.waited:
            return
        if seconds > WAIT:
            self.size = max(1, self.size // 2)
        elif rows == self.size and seconds < WAIT / 4:
            self.size = min(self.most, self.size * 2)


def batches_of(blocks: Iterator[LogBlock], session: Session, pace: BatchPace, account: Account) -> Iterator[LogBatch]:
    """The rows of blocks in batches, each read when the one before it has been run."""
    for block in blocks:
        columns = block.columns() if COLUMNS in session.takes else None
        if columns is not None:
            first = account.rows + 1
            account.take(columns)
            yield LogBatch(range(first, account.rows + 1), columns=columns)
            continue
        lists = block.lists() if LISTS in session.takes else None
        yield from _of_rows(block, session, pace, account) if lists is None else _of_lists(lists, pace, account)


def _of_lists(lists: Mapping[str, list[Value]], pace: BatchPace, account: Account) -> Iterator[LogBatch]:
    rows, at = min(map(len, lists.values())), 0
    while at < rows:
        size = min(rows - at, pace.size if pace.waited else rows)
        first = account.rows + 1
        account.rows += size
        account.events_in += size * len(lists)
        yield LogBatch(range(first, first + size), lists={name: each[at : at + size] for name, each in lists.items()})
        at += size


def _of_rows(block: LogBlock, session: Session, pace: BatchPace, account: Account) -> Iterator[LogBatch]:
    steps, ended = block.steps(), False
    while not ended:
        rows, numbers, failed, size = list[RowEvents](), list[int](), None, pace.size
        try:
            if session.numbered:
                for row in islice(steps, size):
                    rows.append(row)
                    numbers.append(account.rows)
            else:
                rows.extend(islice(steps, size))
        except WorkbenchError as error:
            failed = error
        ended = failed is not None or len(rows) < size
        if rows or failed is not None:
            yield LogBatch(numbers if session.numbered else range(1, len(rows) + 1), rows, failed=failed)
