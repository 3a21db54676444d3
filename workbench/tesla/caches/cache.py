"""Caches of answers: their capacity in rows, and their use by several threads.

The rule of this module: a cache knows keys, answers and their sizes in rows, and nothing of rules or databases.

Several threads may share a cache. `fetch` takes no lock: it reads one dict, which is atomic in the interpreter, and the
answer is correct in any case, because answers never change. Its notes for the policy are single attributes of one entry
(or of an `OrderedDict`, also one step): if two threads write at once, a note may be lost, and another answer may be
evicted, but no answer is ever wrong. `store` follows a query, and takes the lock of this one cache.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from itertools import islice
from sys import getsizeof
from threading import Lock
from typing import Any

SIZED = 1000
"""Maximum number of answers from which the size in bytes is estimated."""


class FactCache:
    """A cache of answers from a database. This class never evicts; policies do.

    Parameters
    ----------
    capacity: the maximum number of rows of all answers.

    Attributes
    ----------
    entries: the cached answers, by the key under which they are found.
    rows: the number of rows of all cached answers.
    stored: the number of answers stored so far, without those that a change removed.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.rows, self.stored = capacity, 0, 0
        self.lock = Lock()
        self.entries: dict[Hashable, CachedAnswer] = {}

    def __contains__(self, key: Hashable) -> bool:
        """Whether an answer is cached; this does not count as a request."""
        return key in self.entries

    def answers(self) -> Collection[Any]:
        """Return all cached answers."""
        return [entry.answer for entry in list(self.entries.values())]

    @property
    def size(self) -> int:
        """The estimated size of all answers in bytes, by that of the first ones."""
        answers = self.answers()
        some = list(islice(answers, SIZED))
        return sum(map(_size, some)) * len(answers) // max(1, len(some))

    def fetch(self, key: Hashable) -> Any:
        """Return a cached answer; None if there is none."""
        entry = self.entries.get(key)
        if entry is None:
            return None
        entry.hits += 1
        return entry.answer

    def store(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        """Store an answer.

        Parameters
        ----------
        size: its rows, at least 1.
        cost: the cost of querying it again, in any unit.
        """
        with self.lock:
            if size <= self.capacity and key not in self:
                self.keep(CachedAnswer(key, answer, size, cost))
                self.stored += 1

    def keep(self, entry: CachedAnswer) -> None:
        """Store an answer that is new and not too large, after evicting others as the policy requires."""
        while self.rows + entry.size > self.capacity:
            self.evict()
        self.rows += entry.size
        self.entries[entry.key] = entry
        self.note_entry(entry)

    def note_entry(self, entry: CachedAnswer) -> None:
        """Note a new entry for the policy; a dict has it at its end already."""

    def evict(self) -> None:
        """Evict an answer."""
        raise NotImplementedError

    def forget(self, key: Hashable) -> None:
        """Remove the answer with a key."""
        self.rows -= self.entries.pop(key).size

    def clear(self) -> None:
        """Remove all answers, as the database has changed."""
        with self.lock:
            self.stored -= len(self.entries)
            self.rows = 0
            self.empty()

    def empty(self) -> None:
        """Remove all entries."""
        self.entries.clear()


class CachedAnswer:
    """A cached answer with the notes of policies.

    Attributes
    ----------
    hits: the number of requests, if the policy counts them.
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
