"""Collect the mistakes of a text, to report all independent ones at once, each once.

The rule of this module: consequences of a reported mistake are not reported. Code that finds a mistake stores it here
and continues with all that does not need the wrong part; what needs it raises `FollowUp`, which is never shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from workbench.errors import LanguageError, Location, WorkbenchError

S = TypeVar("S")
T = TypeVar("T")


class FollowUp(LanguageError):
    """The error for a consequence of a mistake that has been stored already."""

    def __init__(self, what: str = "this depends on a mistake elsewhere", **fields: object) -> None:
        del fields  # the mistake has the place and the hint
        super().__init__(what)


class Mistakes:
    """The mistakes found so far."""

    def __init__(self) -> None:
        self.errors: list[WorkbenchError] = []

    def add(self, error: WorkbenchError) -> None:
        """Store a mistake, and those attached to it."""
        if not isinstance(error, FollowUp):
            self.errors += [error, *error.others]
            error.others = ()

    def report(self, what: str, where: Location | str, hint: str = "") -> None:
        """Store a mistake in a text, at a place."""
        self.add(LanguageError(what, where=where, hint=hint))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Store a mistake inside this context, and continue after it."""
        try:
            yield
        except WorkbenchError as error:
            self.add(error)

    def each(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """Apply `read` to the items; store the mistakes, and leave out the results of the items that have one."""
        results: list[T] = []
        for item in items:
            with self.apart():
                results.append(read(item))
        return tuple(results)

    def all(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """Apply `read` to the items; raise all mistakes in them together, or FollowUp."""
        listed = list(items)
        results = self.each(listed, read)
        self.refuse()
        if len(results) < len(listed):
            raise FollowUp
        return results

    def together(self) -> WorkbenchError:
        """Return the mistakes as one error, in the order of the text."""
        distinct_errors = {(_find_position(error), error.what): error for error in self.errors}
        first, *others = sorted(distinct_errors.values(), key=_find_position)
        first.others = tuple(others)
        return first

    def refuse(self) -> None:
        """Raise the mistakes, if there are any."""
        if self.errors:
            raise self.together()


def _find_position(error: WorkbenchError) -> tuple[int, ...]:
    """Return the position of an error; () if it is unknown."""
    return (error.where.line, error.where.column) if isinstance(error.where, Location) else ()
