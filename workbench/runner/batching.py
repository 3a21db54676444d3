"""The rows of a log in the batches that a session takes.

The rule of this module: rows that can be read make a batch, and what is wrong with the row behind them goes with it.
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
"""Rows of the first batch, where somebody waits for what comes out."""
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
        self.size = min(most, FIRST) if waited else most

    def see(self, rows: int, seconds: float) -> None:
        """So many rows have taken so long."""
        if seconds > WAIT:
            self.size = max(1, self.size // 2)
        elif rows == self.size and seconds < WAIT / 4:
            self.size = min(self.most, self.size * 2)


def batches_of(blocks: Iterator[LogBlock], session: Session, pace: BatchPace, account: Account) -> Iterator[LogBatch]:
    """The rows of blocks in batches, each read when the one before it has been run."""

    def size(columns: bool) -> int:
        return sys.maxsize if columns and not (pace.waited and session.row_by_row) else pace.size

    return decode(blocks, account, size, columns=COLUMNS in session.takes, numbered=session.numbered)
