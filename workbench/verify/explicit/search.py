"""Breadth-first search: what both implementations offer, and the one in plain Python.

States are numbered in the order in which they are found, so a state's number says how far it is from the initial
state (number 0) compared to others, and the first hit of a label has a shortest path.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from workbench.verify.explicit.space import Space


class Step(NamedTuple):
    """A step: the number of the state, and of the move made in it."""

    state: int
    move: int


class Search(Protocol):
    """The reachable states of a space, as far as they are known."""

    @property
    def size(self) -> int:
        """States found."""

    @property
    def complete(self) -> bool:
        """Whether all states are known, and all their steps have been looked at."""

    def advance(self, states: int) -> None:
        """Look at the steps of (about) that many more states."""

    def hit(self, label: int) -> Step | None:
        """The first step at which a label is true, among those looked at."""

    def dead_end(self, escape: int | None, target: int) -> Step | None:
        """The first step from which no run has the label `target`, and which itself does not have `escape`.

        Needs a complete search.
        """

    def valuations(self) -> int:
        """The number of states with the inputs that they allow, as NuSMV counts them. Needs a complete search."""

    def path(self, state: int) -> list[int]:
        """The words of a shortest path from the initial state to one with this number."""


class Stepper:
    """The steps of single states, in plain Python."""

    def __init__(self, space: Space) -> None:
        scope: dict[str, Any] = {}
        exec(compile(space.source, "<step>", "exec"), scope)
        self._expand = scope["expand"]
        self._inputs = space.moves.columns()
        many = len(space.moves.chosen)
        self._after, self._flags = [0] * many, [0] * many

    def steps(self, word: int) -> list[tuple[int, int]]:
        """Per move, the next word and the labels."""
        self._expand((word,), 1, self._inputs, self._after, self._flags)
        return list(zip(self._after, self._flags, strict=True))

    def move(self, word: int, after: int) -> int:
        """The first move from one word to another."""
        return next(move for move, (found, _) in enumerate(self.steps(word)) if found == after)


class PlainSearch:
    """The search in plain Python, for models of some ten thousand states and for words of any length."""

    def __init__(self, space: Space) -> None:
        self._steps = Stepper(space).steps
        self._space = space
        self._numbers = {space.initial: 0}
        self._words = [space.initial]
        self._parents = [0]
        self._done = 0
        self._hits: dict[int, Step] = {}
        self._hit_bits = 0

    @property
    def size(self) -> int:
        """States found."""
        return len(self._words)

    @property
    def complete(self) -> bool:
        """Whether all steps of all states have been looked at."""
        return self._done == len(self._words)

    def advance(self, states: int) -> None:
        """Look at the steps of that many more states."""
        for number in range(self._done, self._done + states):
            if number == len(self._words):
                break
            for move, (word, flags) in enumerate(self._steps(self._words[number])):
                fresh = flags & ~self._hit_bits
                if fresh:
                    self._note(fresh, Step(number, move))
                if word not in self._numbers:
                    self._numbers[word] = len(self._words)
                    self._words.append(word)
                    self._parents.append(number)
            self._done = number + 1

    def _note(self, labels: int, step: Step) -> None:
        self._hit_bits |= labels
        for label in range(labels.bit_length()):
            if labels >> label & 1:
                self._hits[label] = step

    def hit(self, label: int) -> Step | None:
        """The first step at which a label is true, among those looked at."""
        return self._hits.get(label)

    def dead_end(self, escape: int | None, target: int) -> Step | None:
        """See `Search.dead_end`."""
        hopeful = self._hopeful(target)
        harmless = 1 << target | (0 if escape is None else 1 << escape) | self._space.barred
        for number, word in enumerate(self._words):
            for move, (after, flags) in enumerate(self._steps(word)):
                if not flags & harmless and self._numbers[after] not in hopeful:
                    return Step(number, move)
        return None

    def _hopeful(self, target: int) -> set[int]:
        """The states from which some run has the label."""
        into: dict[int, list[int]] = {}
        todo = []
        for number, word in enumerate(self._words):
            steps = self._steps(word)
            if any(flags >> target & 1 for _, flags in steps):
                todo.append(number)
            else:
                for after, _ in steps:
                    into.setdefault(self._numbers[after], []).append(number)
        found = set(todo)
        while todo:
            fresh = set(into.get(todo.pop(), ())) - found
            found |= fresh
            todo += fresh
        return found

    def valuations(self) -> int:
        """See `Search.valuations`."""
        weights, barred = self._space.moves.valuations, self._space.barred
        return sum(
            weight
            for word in self._words
            for (_, flags), weight in zip(self._steps(word), weights, strict=True)
            if not flags & barred
        )

    def path(self, state: int) -> list[int]:
        """The words of a shortest path from the initial state."""
        found = [state]
        while found[-1]:
            found.append(self._parents[found[-1]])
        return [self._words[number] for number in reversed(found)]
