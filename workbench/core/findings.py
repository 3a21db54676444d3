"""The mistakes of a text: all that are independent of each other are told at once, each once.

The rule of this module: what is said once is not said again by what depends on it. Whoever meets a mistake keeps it
here and goes on with what does not need the part that failed; what does need it raises `FollowUp`, which nobody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from workbench.errors import LanguageError, Location, WorkbenchError

S = TypeVar("S")
T = TypeVar("T")


class FollowUp(LanguageError):
    """Something that cannot be judged, because of a mistake that has been kept already."""

    def __init__(self, what: str = "this depends on a mistake elsewhere", **fields: object) -> None:
        del fields  # its place and its hint are those of the mistake
        super().__init__(what)


class Findings:
    """The mistakes found so far."""

    def __init__(self) -> None:
        self.errors: list[WorkbenchError] = []

    def add(self, error: WorkbenchError) -> None:
        """Keep a mistake, and those that it brings."""
        if not isinstance(error, FollowUp):
            self.errors += [error, *error.others]
            error.others = ()

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What happens in here does not stop the rest: its mistake is kept."""
        try:
            yield
        except WorkbenchError as error:
            self.add(error)

    def each(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """What each of the items means; of those with a mistake, which is kept, nothing."""
        found: list[T] = []
        for item in items:
            with self.apart():
                found.append(read(item))
        return tuple(found)

    def all(self, items: Iterable[S], read: Callable[[S], T]) -> tuple[T, ...]:
        """What each of the items means; the mistakes in them, or FollowUp, are raised together."""
        listed = list(items)
        found = self.each(listed, read)
        self.refuse()
        if len(found) < len(listed):
            raise FollowUp
        return found

    def together(self) -> WorkbenchError:
        """What has been found, as one error, in the order of the text."""
        told = {(_place(error), error.what): error for error in self.errors}
        first, *others = sorted(told.values(), key=_place)
        first.others = tuple(others)
        return first

    def refuse(self) -> None:
        """Raise what has been found, if something has."""
        if self.errors:
            raise self.together()


def _place(error: WorkbenchError) -> tuple[int, ...]:
    """Where an error stands; () where it does not say."""
    return (error.where.line, error.where.column) if isinstance(error.where, Location) else ()
