"""The jobs of Spark's workers: a program on the rows of groups, one group after the other.

The rule of this module: a group is the rows of one run of a program, in order: the rows of a key for a pipeline, and
those of a bucket of keys for rules. A row's first column is its group, followed by the order columns. Rows and outputs
are Arrow record batches, so that a job is tested without Spark.
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
        """Run on the next rows, which may continue the last group, and yield the outputs as record batches."""

    @abstractmethod
    def end(self) -> Iterator[Any]:
        """End the last group, and yield the outputs."""


class StoredRun(GroupRun):
    """A run of one group, whose state is saved between micro-batches.

    Rows that precede the last one of an earlier micro-batch are refused.
    """

    @abstractmethod
    def save(self) -> bytes:
        """Return the state after the last row."""

    @abstractmethod
    def restore(self, state: bytes) -> None:
        """Resume from a state instead of the initial one."""


class Job(ABC):
    """A program in a form that is sent to workers, and the columns of its rows.

    Attributes
    ----------
    group, group_type: the group column, and its Spark type.
    orders: the columns that order the rows of a group.
    schema: the columns of the outputs, as a Spark schema.
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
        """Return the properties that must not change during a stream: the program, and the group and order columns."""

    @abstractmethod
    def count_rows(self, rows: Any) -> int:
        """Return the number of log rows among some rows."""

    @abstractmethod
    def count_events(self, outputs: Any) -> int:
        """Return the number of events in a record batch of outputs."""


def group_starts(groups: Any) -> Any:
    """Return the start of each group in a nonempty column, as an array; rows of a group must be adjacent."""
    import numpy as np
    import pyarrow.compute as pc

    changes = pc.fill_null(pc.not_equal(groups[1:], groups[:-1]), True)
    return np.flatnonzero(np.concatenate([[True], changes.to_numpy(zero_copy_only=False)]))


def split_groups(rows: Any) -> Iterator[Any]:
    """Split a nonempty record batch into its groups, whose rows must be adjacent."""
    starts = group_starts(rows.column(0)).tolist()
    for first, last in zip(starts, [*starts[1:], len(rows)], strict=True):
        yield rows.slice(first, last - first)


def join_state(notes: Any, snapshot: bytes) -> bytes:
    """Combine the state of an executor, and JSON notes on it, into one value."""
    return seal(_MARK, json.dumps(notes).encode() + b"\n" + snapshot)


def split_state(state: bytes) -> tuple[Any, bytes]:
    """Split a value of `join_state`; StateError where it is damaged, or of another form."""
    notes, _, snapshot = unseal(_MARK, state, "query").partition(b"\n")
    return json.loads(notes), snapshot
