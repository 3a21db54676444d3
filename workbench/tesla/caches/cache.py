"""A cache of answers: how many rows it may hold, and who may ask it at once.

The rule of this module: a cache knows keys, answers and their sizes in rows, and nothing of rules or databases.

Several threads may ask one cache. `fetch` takes no lock: it looks into one dict, which the interpreter does atomically,
and what it finds is right whatever happens beside it, as an answer is never changed. What it writes down for the policy
are single attributes of one entry (or of an `OrderedDict`, which is one step, too): where two threads write at once one
may be lost, and then another answer is given up than else, and no other one is told. `store` comes after a query, and
takes the lock of this one cache.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from itertools import islice
from sys import getsizeof
from threading import Lock
from typing import Any

SIZED = 1000
"""Answers that are looked at to tell how many bytes all take."""


class FactCache:
    """Remembers what has been answered; the database stands behind it. This one gives nothing up; policies do.

    Parameters
    ----------
    capacity: rows of all answers that it keeps, at most.

    Attributes
    ----------
    entries: what is kept, by the key that it is found by.
    rows: of the answers that it keeps.
    stored: how many answers have been kept; not counted are those that a change has emptied it of.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.rows, self.stored = capacity, 0, 0
        self.lock = Lock()
        self.entries: dict[Hashable, CachedAnswer] = {}

    def __contains__(self, key: Hashable) -> bool:
        """Whether the answer is kept; asking for it is no request."""
        return key in self.entries

    def answers(self) -> Collection[Any]:
        """All that are kept."""
        return [entry.answer for entry in list(self.entries.values())]

    @property
    def size(self) -> int:
        """About how many bytes the answers take: as the first of them do."""
        answers = self.answers()
        some = list(islice(answers, SIZED))
        return sum(map(_size, some)) * len(answers) // max(1, len(some))

    def fetch(self, key: Hashable) -> Any:
        """What was answered; None where that is not known."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        entry.hits += 1
        return entry.answer

    def store(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        """Remember an answer.

        Parameters
        ----------
        size: its rows, 1 at least.
        cost: what it takes to ask again, in any unit.
        """
        with self.lock:
            if size <= self.capacity and key not in self:
                self.keep(CachedAnswer(key, answer, size, cost))
                self.stored += 1

    def keep(self, entry: CachedAnswer) -> None:
        """Make room for an answer that is not there and is not too large, and keep it, as the policy has it."""
        while self.rows + entry.size > self.capacity:
            self.evict()
        self.rows += entry.size
        self.entries[entry.key] = entry
        self.mark_kept(entry)

    def mark_kept(self, entry: CachedAnswer) -> None:
        """Write down a new entry; a dict has it at its end already."""

    def evict(self) -> None:
        """Give up an answer."""
        raise NotImplementedError

    def forget(self, key: Hashable) -> None:
        """The answer that is found by this key is no longer kept."""
        self.rows -= self.entries.pop(key).size

    def clear(self) -> None:
        """Nothing is known any more."""
        with self.lock:
            self.stored -= len(self.entries)
            self.rows = 0
            self.empty()

    def empty(self) -> None:
        """Forget all answers."""
        self.entries.clear()


class CachedAnswer:
    """An answer, and what policies write down about it.

    Attributes
    ----------
    hits: how often it was asked for, as far as the policy counts.
    """

    __slots__ = ("answer", "cost", "hits", "key", "newer", "older", "since", "size", "stamp")
    newer: CachedAnswer
    older: CachedAnswer
    since: float
    stamp: int

    def __init__(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        self.key, self.answer, self.size, self.cost, self.hits = key, answer, size, cost, 0


def _size(answer: Any) -> int:
    values = (value for row in answer if isinstance(row, tuple) for value in row)
    return getsizeof(answer) + sum(map(getsizeof, answer)) + sum(map(getsizeof, values))
