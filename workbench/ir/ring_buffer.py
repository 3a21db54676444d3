"""The queues in front of a join as rings in arrays: a step costs the same for every capacity.

Each queue has a length and the position of its oldest event, in an array whose length is a power of two. Up to an
overflow it behaves as `core.join.Join`. After an overflow its results are void; it only must stay within its array.
A queue of capacity `ENDLESS` has an endless array, and overflows when that has to be made longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Domain, Range
from workbench.core.join import JoinRounds, JoinStep, bound_fronts
from workbench.core.memory import EXTENT, MAX_EVENTS, Array, Cells
from workbench.core.ops import EQ, GT, MOD, as_term, both, conjunction, either, ite, negate
from workbench.core.processor import Maybe, Share, Slot, State

MAX_VARIABLES = 4
"""The largest capacity for which a queue's events are variables of their own, which is faster."""

ENDLESS = MAX_EVENTS
"""The capacity of a queue that grows whenever it needs to."""


def is_long(capacities: Sequence[int]) -> bool:
    """Whether queues of these capacities use arrays, if available, rather than variables."""
    return max(capacities) > MAX_VARIABLES


def name_max_waited(queue: str) -> str:
    """Return the variable that stores the maximum number of events that have waited in such a queue."""
    name, _, port = queue.rpartition(".")
    return f"{name}.queue:most_{port}"


@dataclass(frozen=True)
class Ring:
    """The queues of one processor: the domain and the capacity (in events) of each."""

    domains: tuple[Domain, ...]
    capacities: tuple[int, ...]

    def slots(self) -> tuple[Slot, ...]:
        """Return the state variables, all initially 0; a queue of capacity 0 has none."""
        return tuple(
            slot
            for i, q in enumerate(self.capacities, 1)
            if q
            for slot in (Slot(f"length{i}", Range(0, q), 0), Slot(f"first{i}", Range(0, _last(q)), 0))
        )

    def arrays(self) -> dict[str, Array]:
        """Return one array for each queue that can hold something."""
        pairs = enumerate(zip(self.domains, self.capacities, strict=True), 1)
        return {f"events{i}": Array(domain, _length(q), blank=False) for i, (domain, q) in pairs if q}

    def rounds(
        self, state: State, arrivals: Sequence[Sequence[Maybe]], cells: Sequence[Cells], share: Share
    ) -> JoinRounds:
        """Return what `Join.rounds` does; the fronts of a step are those of its first rounds."""
        if all(len(events) == 1 for events in arrivals):
            done = self.step(state, [arrival for (arrival,) in arrivals], cells, share)
            return JoinRounds(done.state, ((done.fires, done.front),), done.lengths, done.overflows)
        parts = self._parts(state, cells)
        lines = [
            _Line(*part, q, tuple(events), tuple(accumulate((ite(e.present, 1, 0) for e in events), initial=part[0])))
            for part, q, events in zip(parts, self.capacities, arrivals, strict=True)
        ]
        fires: list[Any] = []
        count: Any = 0
        for j in range(bound_fronts(self.capacities, arrivals)):
            fires.append(share(f"fires{j + 1}", as_term(conjunction(GT(line.cells[-1], j) for line in lines), BOOL)))
            count = ite(fires[j], j + 1, count)
        count = share("taken", as_term(count, Range(0, len(fires))))
        after = [line.cells[-1] - count for line in lines]
        return JoinRounds(
            tuple(part for line, n in zip(lines, after, strict=True) for part in line.move_events(count, n)),
            tuple((fire, tuple(line.front(j) for line in lines)) for j, fire in enumerate(fires)),
            tuple(after),
            tuple(GT(n, _count_free(line.store, line.capacity)) for n, line in zip(after, lines, strict=True)),
        )

    def _parts(self, state: State, cells: Sequence[Cells]) -> list[tuple[Any, Any, Cells | None]]:
        """Return, per queue, its length, the position of its oldest event, and its array, if it has one."""
        rest, stores = iter(state), iter(cells)
        return [(next(rest), next(rest), next(stores)) if q else (0, 0, None) for q in self.capacities]

    def step(self, state: State, arrivals: Sequence[Maybe], cells: Sequence[Cells], share: Share) -> JoinStep:
        """Return one step with these arrivals."""
        parts = self._parts(state, cells)
        ready = (either(arrival.present, GT(n, 0)) for arrival, (n, _, _) in zip(arrivals, parts, strict=True))
        fires = share("fires", conjunction(ready))
        after: list[Any] = []
        front, lengths, overflows = [], [], []
        for arrival, (n, first, store), q in zip(arrivals, parts, self.capacities, strict=True):
            stays = both(arrival.present, negate(fires))
            overflows.append(both(stays, EQ(n, _count_free(store, q))))
            if store is None:
                front.append(arrival.value)
                lengths.append(0)
                continue
            waiting = GT(n, 0)
            eaten = both(fires, waiting)
            # write behind the last event; if the arrival does not wait, this position stays free
            condition = both(arrival.present, either(waiting, negate(fires))) if q == ENDLESS else arrival.present
            store.put(_compute_index(first + n, q), arrival.value, condition)
            length = ite(stays, n + 1, ite(both(eaten, negate(arrival.present)), n - 1, n))
            after += [length, ite(eaten, _compute_index(first + 1, q), first)]
            front.append(ite(waiting, store.at(first, n), arrival.value))
            lengths.append(length)
        return JoinStep(tuple(after), fires, tuple(front), tuple(lengths), tuple(overflows))


class _Line(NamedTuple):
    """A queue in a step in which several events can arrive.

    Attributes
    ----------
    cells: the number of events before each arrival; last, the total number.
    """

    length: Any
    first: Any
    store: Cells | None
    capacity: int
    arrivals: tuple[Maybe, ...]
    cells: tuple[Any, ...]

    def front(self, number: int) -> Any:
        """Return the event at a position, if there are more events: it waits already, or arrives."""
        *others, last = self.arrivals
        event = last.value
        for arrival, position in zip(reversed(others), reversed(self.cells[:-2]), strict=True):
            event = ite(both(arrival.present, EQ(position, number)), arrival.value, event)
        if self.store is None:
            return event
        return ite(GT(self.length, number), self.store.at(self._at(number)), event)

    def move_events(self, count: Any, left: Any) -> tuple[Any, ...]:
        """Return the state after a step that took `count` events and left `left`."""
        if self.store is None:
            return ()
        for arrival, position in zip(self.arrivals, self.cells, strict=False):  # those taken at once are overwritten
            self.store.put(self._at(position), arrival.value, arrival.present)
        return left, ite(EQ(left, 0), self.first, self._at(count))

    def _at(self, position: Any) -> Any:
        return _compute_index(self.first + position, self.capacity)


def _length(capacity: int) -> int | None:
    """Return the length of the array of a queue; None if it is endless."""
    return None if capacity == ENDLESS else _size(capacity)


def _last(capacity: int) -> int:
    """Return the last position of a queue; for an endless queue, a number that a counter never reaches."""
    return (1 << 62) - 1 if capacity == ENDLESS else _size(capacity) - 1


def _compute_index(position: Any, capacity: int) -> Any:
    """Return the index of a position in the array."""
    return position if capacity == ENDLESS else MOD(position, _size(capacity))


def _count_free(store: Cells | None, capacity: int) -> Any:
    """Return the number of events that fit."""
    return EXTENT.build((store.columns[0],)) if store is not None and capacity == ENDLESS else capacity


def _size(capacity: int) -> int:
    """Return the length of the array of a queue: a power of two, so that an index is the lowest bits of a counter."""
    return 1 << (capacity - 1).bit_length()
