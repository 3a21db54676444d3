"""The counts of Spark's workers, for the account of a run and for unreadable rows.

The rule of this module: Spark may run a task twice, so a task reports its whole count under its name, and the last
report of a name counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import itemgetter
from typing import Any, NamedTuple, Self

from workbench.errors import InputError
from workbench.events.account import Account, BadRow, Reporter

ErrorText = tuple[str, str, str]
"""An error as texts: what is wrong, where, and what to do."""


class TaskCounts(NamedTuple):
    """The counts of a task for the rows that it has read.

    Attributes
    ----------
    columns: columns that no input uses.
    bad_rows: the bad rows, if they are kept.
    unended: by file, an error at the end of a part, which counts only if all other parts have it, too.
    note: further findings about the rows, by their form.
    """

    account: Account
    columns: tuple[str, ...]
    bad_rows: tuple[BadRow, ...]
    unended: Mapping[str, ErrorText]
    note: Any = None


class _ByName:
    """The merge operation of Spark for reports: by name."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        return {}

    def addInPlace(self, one: dict[Any, Any], two: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802 - Spark's name
        one.update(two)
        return one


class Counts:
    """Reports that workers add, and the driver reads."""

    def __init__(self, accumulator: Any) -> None:
        self._accumulator = accumulator

    @classmethod
    def on(cls, spark: Any) -> Self:
        """Create reports for the workers of a session."""
        return cls(spark.sparkContext.accumulator({}, _ByName()))

    def add_read(self, task: int | str, rows: TaskCounts) -> None:
        """Report the rows that a task has read, in a worker."""
        self._accumulator.add({("read", task): rows})

    def add_run(self, partition: int, account: Account) -> None:
        """Report how many rows of a partition have been computed, and how many events were emitted, in a worker."""
        self._accumulator.add({("ran", partition): account})

    @property
    def notes(self) -> list[Any]:
        """The notes of all tasks, sorted by task name."""
        return [task.note for task in self._tasks]

    @property
    def _tasks(self) -> list[TaskCounts]:
        return [
            rows for (what, _), rows in sorted(self._accumulator.value.items(), key=itemgetter(0)) if what == "read"
        ]

    def rows_before(self, task: int) -> int:
        """Return the number of rows that the tasks before this one have read; all of them must be done."""
        reports = self._accumulator.value.items()
        return sum(rows.account.rows for (what, number), rows in reports if what == "read" and number < task)

    def settle(self, reporter: Reporter, parts: Mapping[str, int]) -> None:
        """Add the counts since the last call to the account of a run.

        Parameters
        ----------
        parts: number of tasks for each file that several tasks read.

        Raises
        ------
        InputError: no part of a file had a requested column.
        """
        for file, count in parts.items():
            errors = [rows.unended[file] for rows in self._tasks if file in rows.unended]
            if errors and len(errors) == count:
                what, where, hint = errors[0]
                raise InputError(what, where=where, hint=hint)
        for rows in self._tasks:
            reporter.account.add(rows.account)
            reporter.ignore_columns(rows.columns)
            for bad in rows.bad_rows:
                reporter.keep(bad)
        for (what, _), account in self._accumulator.value.items():
            if what == "ran":
                reporter.account.add(account)
        self._accumulator.value = {}


def error_text(error: InputError) -> ErrorText:
    """Return an error in a form that can be sent to the driver."""
    return error.what, str(error.where), error.hint
