"""Lists of which entries of tables name parts; equal parts are one.

The rule of this module: rules are often alike, and what they have in common stays in the processor's cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Generic, TypeVar

T = TypeVar("T")
ListPart = tuple[int, int]
"""Where a part of a list begins and ends."""


class SharedParts(Generic[T]):
    """A list under construction.

    Attributes
    ----------
    entries: of all parts.
    """

    def __init__(self) -> None:
        self.entries: list[T] = []
        self._known: dict[tuple[T, ...], ListPart] = {}

    def add(self, part: Iterable[T]) -> ListPart:
        """Add a part, unless there is an equal one; where it begins and ends."""
        wanted, begin = tuple(part), len(self.entries)
        if wanted not in self._known:
            self.entries += wanted
            self._known[wanted] = begin, len(self.entries)
        return self._known[wanted]
