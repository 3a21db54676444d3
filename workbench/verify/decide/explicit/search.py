"""Breadth-first search: the interface of both implementations, and the one in plain Python.

States are numbered in the order in which they are found, so they are ordered by their distance from the initial
state (number 0), and the first hit of a label has a shortest path.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

from workbench.verify.decide.explicit import graph
from workbench.verify.decide.explicit.graph import Graph
from workbench.verify.decide.explicit.records import Edges
from workbench.verify.decide.explicit.space import Space


class Edge(NamedTuple):
    """A step: the number of a state, and of the move made in it."""

    state: int
    move: int


class Exploration(ABC):
    """The reachable states of a space, as far as they are explored."""

    _parents: Any
    """Per state, by its number, its predecessor."""

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of states found."""

    @property
    @abstractmethod
    def done(self) -> int:
        """The number of states whose steps have been taken."""

    @property
    def complete(self) -> bool:
        """Whether all states are found, and all their steps have been taken."""
        return self.done == self.size

    @abstractmethod
    def advance(self, states: int) -> None:
        """Take the steps of about that many more states."""

    @abstractmethod
    def hit(self, label: int) -> Edge | None:
        """Return the first step taken at which a label is true."""

    @abstractmethod
    def count_moves(self) -> list[int]:
        """Return, per move, the number of states in which it is not void. Needs a complete search."""

    @abstractmethod
    def graph(self) -> Graph:
        """Return all states and the steps between them. Needs a complete search."""

    @abstractmethod
    def state(self, number: int) -> int:
        """Return the packed state of this number."""

    @property
    def depth(self) -> int:
        """The length of the longest runs that have all been explored, if the search is not complete."""
        return len(self.path(self.done)) - 1

    def path(self, state: int) -> list[int]:
        """Return the numbers of the states on a shortest path from the initial state."""
        states = [state]
        while states[-1]:
            states.append(int(self._parents[states[-1]]))
        return states[::-1]


class PlainSearch(Exploration):
    """A search in plain Python, for models of some ten thousand states and for words of any length."""

    def __init__(self, space: Space) -> None:
        self.space = space
        self._steps = space.steps
        self._numbers = {space.initial: 0}
        self._words = [space.initial]
        self._parents = [0]
        self._done = 0
        self._hits: dict[int, Edge] = {}
        self._hit_bits = 0

    @property
    def size(self) -> int:
        return len(self._words)

    @property
    def done(self) -> int:
        return self._done

    def advance(self, states: int) -> None:
        for number in range(self._done, self._done + states):
            if number == len(self._words):
                break
            for move, (word, flags) in enumerate(self._steps(self._words[number])):
                fresh = flags & ~self._hit_bits
                if fresh:
                    self._note(fresh, Edge(number, move))
                if word not in self._numbers:
                    self._numbers[word] = len(self._words)
                    self._words.append(word)
                    self._parents.append(number)
            self._done = number + 1

    def _note(self, labels: int, step: Edge) -> None:
        self._hit_bits |= labels
        for label in range(labels.bit_length()):
            if labels >> label & 1:
                self._hits[label] = step

    def hit(self, label: int) -> Edge | None:
        return self._hits.get(label)

    def count_moves(self) -> list[int]:
        counts = [0] * len(self.space.moves.chosen)
        for word in self._words:
            for move, (_, flags) in enumerate(self._steps(word)):
                counts[move] += not flags >> self.space.void & 1
        return counts

    def graph(self) -> Graph:
        starts, ends, labels = [0], [], []
        for word in self._words:
            for after, flags in dict.fromkeys(self._steps(word)):
                ends.append(self._numbers[after])
                labels.append(flags)
            starts.append(len(ends))
        return Graph(Edges(starts, ends, labels), lambda size: [0] * size, graph, self.space.void)

    def state(self, number: int) -> int:
        return self._words[number]
