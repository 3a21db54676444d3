"""Divide the rows of a log into batches for a session.

The rule of this module: readable rows form a batch, and the error of the row after them is passed on with it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

from workbench.events.account import Account
from workbench.events.batch import LogBatch
from workbench.events.decoding import decode
from workbench.events.rows import LogBlock
from workbench.executors.session import COLUMNS, Session

FIRST = 64
"""Number of rows of the first batch when a consumer waits for the outputs."""
WAIT = 0.05
"""Target time of a batch in seconds when a consumer waits for the outputs."""


class BatchPace:
    """Chooses the size of batches of rows that are read one by one, or come as lists.

    Parameters
    ----------
    max_rows: the maximum.
    waited: whether a consumer waits for the outputs: a batch is then as many rows as run in about `WAIT` seconds.
    """

    def __init__(self, max_rows: int, *, waited: bool) -> None:
        self.max_rows, self.waited = max_rows, waited
        self.size = min(max_rows, FIRST) if waited else max_rows

    def see(self, rows: int, seconds: float) -> None:
        """Adapt the size to the measured time of a batch."""
        if seconds > WAIT:
            self.size = max(1, self.size // 2)
        elif rows == self.size and seconds < WAIT / 4:
            self.size = min(self.max_rows, self.size * 2)


def batches_of(blocks: Iterator[LogBlock], session: Session, pace: BatchPace, account: Account) -> Iterator[LogBatch]:
    """Yield the rows of blocks in batches, each read when the one before it has been run."""

    def size(columns: bool) -> int:
        return sys.maxsize if columns and not (pace.waited and session.row_by_row) else pace.size

    return decode(blocks, account, size, columns=COLUMNS in session.takes, numbered=session.numbered)
