"""What the workers of Spark's count, for the summary of a run and for the rows that could not be read.

The rule of this module: Spark may do a task twice, so each tells what it has counted under its name, and not how much
more that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from workbench.errors import InputError
from workbench.events.account import Account, BadRow, Reporter

ErrorText = tuple[str, str, str]
"""An error: what is wrong, where, and what to do."""


class TaskRows(NamedTuple):
    """What has become of the rows that a task has read.

    Attributes
    ----------
    columns: those that no input needs.
    kept: the bad rows, where they are kept.
    unended: what is wrong at the end of parts of files, unless other parts tell otherwise; by the files.
    """

    account: Account
    columns: tuple[str, ...]
    kept: tuple[BadRow, ...]
    unended: Mapping[str, ErrorText]


class _Named:
    """Tells Spark how such counts are put together."""

    def zero(self, value: dict[Any, Any]) -> dict[Any, Any]:
        del value
        return {}

    def addInPlace(self, one: dict[Any, Any], two: dict[Any, Any]) -> dict[Any, Any]:  # noqa: N802 - Spark's name
        one.update(two)
        return one


class Counts:
    """Counts that workers add, and the driver reads."""

    def __init__(self, accumulator: Any) -> None:
        self._accumulator = accumulator

    @classmethod
    def on(cls, spark: Any) -> Self:
        """For the workers of a session."""
        return cls(spark.sparkContext.accumulator({}, _Named()))

    def read(self, task: int | str, rows: TaskRows) -> None:
        """In a worker: a task of this name has read rows."""
        self._accumulator.add({("read", task): rows})

    def ran(self, partition: int, account: Account) -> None:
        """In a worker: of the rows of a partition so many have been computed, and so many events came out."""
        self._accumulator.add({("ran", partition): account})

    def note(self, task: int | str, what: Any) -> None:
        """In a worker: something else that a task has to tell."""
        self._accumulator.add({("note", task): what})

    @property
    def notes(self) -> list[Any]:
        """What tasks have noted, in the order of their names."""
        return [what for (kind, _), what in sorted(self._accumulator.value.items(), key=_name) if kind == "note"]

    @property
    def _tasks(self) -> list[TaskRows]:
        return [rows for (what, _), rows in sorted(self._accumulator.value.items()) if what == "read"]

    def before(self, task: int) -> int:
        """How many rows the tasks before this one have read, which all of them have by now."""
        found = self._accumulator.value.items()
        return sum(rows.account.rows for (what, number), rows in found if what == "read" and number < task)

    def settle(self, reporter: Reporter, parts: Mapping[str, int]) -> None:
        """Tell what has been counted since this was asked last.

        Parameters
        ----------
        parts: of how many tasks the files are that are read by several.

        Raises
        ------
        InputError: no part of a file had what was asked for.
        """
        for file, count in parts.items():
            told = [rows.unended[file] for rows in self._tasks if file in rows.unended]
            if told and len(told) == count:
                raise _error(told[0])
        for rows in self._tasks:
            reporter.account.add(rows.account)
            reporter.ignore_columns(rows.columns)
            for bad in rows.kept:
                reporter.keep(bad)
        for (what, _), account in self._accumulator.value.items():
            if what == "ran":
                reporter.account.add(account)
        self._accumulator.value = {}


def _name(counted: tuple[tuple[str, int | str], Any]) -> tuple[str, int | str]:
    return counted[0]


def told_of(error: InputError) -> ErrorText:
    """An error in words."""
    return error.what, str(error.where), error.hint


def _error(told: ErrorText) -> InputError:
    what, where, hint = told
    return InputError(what, where=where, hint=hint)
