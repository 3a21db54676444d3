"""The instances of an automaton that are in one state.

The rule of this module: they stand in the order in which they came there, and leave from the old end when their windows
have passed. Those that have one key, a value that the trigger must have, are a line of their own.

Source: Cugola and Margara, 5.1.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from workbench.rules.engines.aip.automaton import Holdings


class AutomatonInstance(NamedTuple):
    """One instance: pointers to the events that led to its state.

    Attributes
    ----------
    deadline: the last time at which it can go on; None where no window bounds it.
    key: the value that the trigger must have; True where none is known yet.
    """

    holdings: Holdings
    deadline: int | None
    key: Any


class StateInstances:
    """The instances in a state."""

    def __init__(self) -> None:
        self.line: deque[AutomatonInstance] = deque()
        self.of_key: dict[Any, deque[AutomatonInstance]] = {}

    def __len__(self) -> int:
        return len(self.line)

    def add(self, instance: AutomatonInstance) -> None:
        """Another one, the newest."""
        self.line.append(instance)
        self.of_key.setdefault(instance.key, deque()).append(instance)

    def newest_first(self, key: Any = None) -> Iterator[AutomatonInstance]:
        """Those of a key, or all of them."""
        return reversed(self.line if key is None else self.of_key.get(key, ()))

    def oldest_first(self, key: Any = None) -> Iterable[AutomatonInstance]:
        """The same the other way round."""
        return self.line if key is None else self.of_key.get(key, ())

    def delete_passed(self, now: int) -> None:
        """Delete from the old end those that cannot go on."""
        line = self.line
        while line and (deadline := line[0].deadline) is not None and deadline < now:
            key = line.popleft().key
            of_key = self.of_key[key]
            of_key.popleft()
            if not of_key:
                del self.of_key[key]

    def sweep(self, kept: Iterable[AutomatonInstance]) -> None:
        """Keep these only."""
        found = list(kept)
        self.line.clear()
        self.of_key.clear()
        for each in found:
            self.add(each)
