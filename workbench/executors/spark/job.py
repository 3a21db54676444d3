"""What Spark's workers run: a program on the rows of groups, one group after the other.

The rule of this module: a group is the rows that one run of a program takes, in their order; they are those of a key
for a pipeline, and those of a bucket of keys for rules. A row's first column is its group, and those that order the
rows of a group come next. Rows come and outputs go as Arrow record batches, so that a job is tested without Spark.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.stored import seal, unseal

_MARK = b"state of a group"


class GroupRun(ABC):
    """A program that runs on the rows of groups."""

    @abstractmethod
    def feed(self, rows: Any) -> Iterator[Any]:
        """Run on the next rows, which may go on with the last group, and give the outputs as record batches."""

    @abstractmethod
    def end(self) -> Iterator[Any]:
        """End the last group, and give the outputs."""


class StoredRun(GroupRun):
    """A run of one group, whose state is kept from one micro-batch to the next.

    Rows that come before the last one of an earlier micro-batch are refused.
    """

    @abstractmethod
    def save(self) -> bytes:
        """Give the state after the last row."""

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Go on from a state instead of from the beginning."""


class Job(ABC):
    """A program, as it is sent to workers, and what the columns of its rows are.

    Attributes
    ----------
    group, group_type: the column of groups, and its type as Spark writes it.
    orders: the columns by which the rows of a group are ordered.
    schema: the columns of the outputs as Spark writes them.
    """

    @property
    @abstractmethod
    def group(self) -> str: ...

    @property
    @abstractmethod
    def group_type(self) -> str: ...

    @property
    @abstractmethod
    def orders(self) -> Sequence[str]: ...

    @property
    @abstractmethod
    def schema(self) -> str: ...

    @abstractmethod
    def open_groups(self) -> GroupRun:
        """Begin a run of successive groups, each of which comes as a whole."""

    @abstractmethod
    def open_group(self) -> StoredRun:
        """Begin a run of one group."""

    @abstractmethod
    def about(self) -> Mapping[str, Any]:
        """Say what may not change while a stream goes on: what runs, and by what rows are grouped and ordered."""

    @abstractmethod
    def count_rows(self, rows: Any) -> int:
        """Count the rows of a log among some rows."""

    @abstractmethod
    def count_events(self, outputs: Any) -> int:
        """Count the events in a record batch of outputs."""


def group_starts(groups: Any) -> Any:
    """Find where each group begins in its column, as an array. There are rows, and those of a group are together."""
    import numpy as np
    import pyarrow.compute as pc

    changes = pc.fill_null(pc.not_equal(groups[1:], groups[:-1]), True)
    return np.flatnonzero(np.concatenate([[True], changes.to_numpy(zero_copy_only=False)]))


def split_groups(rows: Any) -> Iterator[Any]:
    """Split a record batch with rows into those of each group, which are together."""
    starts = group_starts(rows.column(0)).tolist()
    for first, last in zip(starts, [*starts[1:], len(rows)], strict=True):
        yield rows.slice(first, last - first)


def join_state(notes: Any, snapshot: bytes) -> bytes:
    """Put the state of an executor, and JSON that belongs to it, into one value."""
    return seal(_MARK, json.dumps(notes).encode() + b"\n" + snapshot)


def split_state(state: bytes) -> tuple[Any, bytes]:
    """Take a value of `join_state` apart; StateError where it is damaged, or of another form."""
    notes, _, snapshot = unseal(_MARK, state, "query").partition(b"\n")
    return json.loads(notes), snapshot
