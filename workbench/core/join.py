"""The bounded queues in front of a join, as finite state.

A join fires exactly when every input has an event waiting, so after every step at least one queue is empty. A
binary join therefore needs one store: `lead` counts by how many events the left input is ahead (negative: the
right one), and the waiting events sit in slots, oldest first. Unused slots hold the domain's default, so the
state is canonical. Joins of three and more inputs keep one length and one store per input.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Range
from workbench.core.fields import scalars
from workbench.core.function import same_domain
from workbench.core.ops import EQ, GT, LT, both, conjunction, either, ite, negate
from workbench.core.processor import Maybe, Share, Slot, State
from workbench.core.term import FALSE, TRUE, Term, const


class JoinStep(NamedTuple):
    """The result of one step of a join; all terms."""

    state: State
    fires: Any
    front: tuple[Any, ...]
    """The events consumed, meaningful when it fires."""
    lengths: tuple[Any, ...]
    """Number of events waiting per input at the end of the step."""
    overflows: tuple[Any, ...]
    """Per input: an event arrives, cannot be consumed, and its queue is full."""


class Brim(NamedTuple):
    """The storage of one queue of a join: the slot of its level, the level when it is full, and its stores."""

    level: str
    full: int
    stores: tuple[str, ...]
    """The slots of the events, the oldest first."""


def bound_fronts(capacities: Sequence[int], arrivals: Sequence[Sequence[Any]]) -> int:
    """Return the maximum number of fronts that a step can consume, given the capacities and the arrivals.

    It is at least two where several events come: a pipe that can carry several events shows lists.
    """
    widest = max(map(len, arrivals))
    return min(widest, max(2, min(q + len(events) for q, events in zip(capacities, arrivals, strict=True))))


class JoinRounds(NamedTuple):
    """The result of one step of a join when several events can arrive on an input; all terms."""

    state: State
    rounds: tuple[tuple[Any, tuple[Any, ...]], ...]
    """The fronts consumed, in order: whether there is one, and its events."""
    lengths: tuple[Any, ...]
    overflows: tuple[Any, ...]
    """For each input: whether more events wait at the end of the step than its queue holds."""


def keep_unshared(name: str, term: Any) -> Any:
    """Return the term as it is, without giving it a name."""
    del name
    return term


@dataclass(frozen=True)
class Join:
    """The queues of one processor: the domain and the capacity (in events) of each.

    Parameters
    ----------
    window: the number of oldest events of each queue that are kept; None: all. With as many as there are rounds in a
        step, fronts are exact if the window is exact before the step, but the window after the step is not; with 0 the
        join only counts, which does not depend on the events that are kept.
    """

    domains: tuple[Domain, ...]
    capacities: tuple[int, ...]
    window: int | None = None

    @property
    def _has_shared_store(self) -> bool:
        """Whether one store has the events of both inputs: their fields must also have the same names."""
        left, right = self.domains
        return same_domain(left, right) and [path for path, _ in scalars(left)] == [path for path, _ in scalars(right)]

    def slots(self) -> tuple[Slot, ...]:
        """Return the state variables, all empty at first."""
        if len(self.domains) != 2:
            return tuple(
                slot
                for i, (domain, q, size) in enumerate(zip(self.domains, self.capacities, self._sizes(), strict=True), 1)
                for slot in (Slot(f"length{i}", Range(0, q), 0), *_store(f"slot{i}_", domain, size))
            )
        (left, right), (ql, qr), sizes = self.domains, self.capacities, self._sizes()
        lead = Slot("lead", Range(-qr, ql), 0)
        if self._has_shared_store:
            return (lead, *_store("slot", left, sizes[0]))
        return (lead, *_store("left", left, sizes[0]), *_store("right", right, sizes[1]))

    def brim(self, position: int) -> Brim:
        """Return the storage of the queue of this input."""
        capacity = self.capacities[position]
        if len(self.domains) != 2:
            level, full, store = f"length{position + 1}", capacity, f"slot{position + 1}_"
        else:
            level, full = "lead", (capacity, -capacity)[position]
            store = "slot" if self._has_shared_store else ("left", "right")[position]
        return Brim(level, full, tuple(f"{store}{i}" for i in range(self._count_slots(capacity))))

    def step(self, state: State, arrivals: Sequence[Maybe], share: Share = keep_unshared) -> JoinStep:
        """Return the result of one step with these arrivals; `share` may name terms that occur often."""
        if len(self.domains) == 2:
            left, right = arrivals
            return self._binary(state, left, right, share)
        return self._general(state, arrivals, share)

    def rounds(self, state: State, arrivals: Sequence[Sequence[Maybe]], share: Share = keep_unshared) -> JoinRounds:
        """Return the result of one step with several arrivals for each input, in order.

        The i-th arrivals of all inputs come together. Each such round consumes at most one front, since one
        queue is empty before it. Only events that wait after the last round need a slot.
        """
        if all(len(events) == 1 for events in arrivals):
            done = self.step(state, [events[0] for events in arrivals], share)
            return JoinRounds(done.state, ((done.fires, done.front),), done.lengths, done.overflows)
        roomy = tuple(q + len(a) for q, a in zip(self.capacities, arrivals, strict=True))
        meanwhile = replace(self, capacities=roomy)
        state, rounds = self._move_state(state, meanwhile), []
        for number in range(1, max(map(len, arrivals)) + 1):
            now = [
                events[number - 1] if number <= len(events) else Maybe(FALSE, const(domain.default, domain))
                for events, domain in zip(arrivals, self.domains, strict=True)
            ]

            def numbered(name: str, term: Any, suffix: str = str(number)) -> Any:
                return share(name + suffix, term)

            result = meanwhile.step(state, now, numbered)
            rounds.append((result.fires, result.front))
            state = tuple(
                _name_parts(numbered, f"{slot.name}_", part)
                for slot, part in zip(meanwhile.slots(), result.state, strict=True)
            )
        return self._settle(meanwhile, state, self._dense(rounds, bound_fronts(self.capacities, arrivals), share))

    def _dense(self, rounds: Sequence[tuple[Any, tuple[Any, ...]]], limit: int, share: Share) -> tuple[Any, ...]:
        """Return the fronts, at most `limit`, with no absent one before a present one."""
        if limit >= len(rounds):
            return tuple(rounds)
        nothing = tuple(const(domain.default, domain) for domain in self.domains)
        dense: list[tuple[Any, tuple[Any, ...]]] = [(FALSE, nothing)] * limit
        for number, (fires, front) in enumerate(rounds, 1):
            before, after = TRUE, []
            for slot, (present, earlier) in enumerate(dense[:number], 1):
                value = earlier if self.window == 0 else ite(present, earlier, front)
                name, before, present = f"front{number}_{slot}", present, either(present, both(fires, before))
                after.append((share(f"{name}_fires", present), _name_parts(share, f"{name}_", value)))
            dense[:number] = after
        return tuple(dense)

    def _settle(self, meanwhile: Join, state: State, rounds: tuple[tuple[Any, tuple[Any, ...]], ...]) -> JoinRounds:
        """Cut the queues after the last round down to the capacities."""
        counters, stores = meanwhile._parts(state)
        if len(self.domains) == 2:
            (lead,), (ql, qr) = counters, self.capacities
            over_left, over_right = GT(lead, ql), LT(lead, -qr)
            lead = ite(over_left, ql, ite(over_right, -qr, lead))
            lengths: tuple[Any, ...] = (ite(GT(lead, 0), lead, 0), ite(LT(lead, 0), 0 - lead, 0))
            after = meanwhile._move_state(meanwhile._whole((lead,), stores), self)
            return JoinRounds(after, rounds, lengths, (over_left, over_right))
        overflows = tuple(GT(n, q) for n, q in zip(counters, self.capacities, strict=True))
        lengths = tuple(ite(over, q, n) for over, q, n in zip(overflows, self.capacities, counters, strict=True))
        after = meanwhile._move_state(meanwhile._whole(lengths, stores), self)
        return JoinRounds(after, rounds, lengths, overflows)

    def _move_state(self, state: State, target: Join) -> State:
        """Convert a state to the layout of a join with other capacities: stores are padded, or cut at the end."""
        counters, stores = self._parts(state)
        domains = self.domains[:1] if len(stores) == 1 else self.domains
        resized = [
            [*store[:size], *[const(domain.default, domain)] * (size - len(store))]
            for store, size, domain in zip(stores, target._sizes(), domains, strict=True)
        ]
        return target._whole(counters, resized)

    def _sizes(self) -> tuple[int, ...]:
        """Return the number of slots of each store."""
        if len(self.domains) == 2 and self._has_shared_store:
            return (self._count_slots(max(self.capacities)),)
        return tuple(map(self._count_slots, self.capacities))

    def _count_slots(self, capacity: int) -> int:
        return capacity if self.window is None else min(capacity, self.window)

    def _parts(self, state: State) -> tuple[tuple[Any, ...], list[list[Any]]]:
        """Split a state into its counters and stores."""
        rest, counters, stores = list(state), list[Any](), list[list[Any]]()
        for size in self._sizes():
            if not counters or len(self.domains) != 2:
                counters.append(rest.pop(0))
            stores.append(rest[:size])
            del rest[:size]
        return tuple(counters), stores

    def _whole(self, counters: Sequence[Any], stores: Sequence[Sequence[Any]]) -> State:
        """Build the state from its parts."""
        if len(self.domains) == 2:
            return (*counters, *(part for store in stores for part in store))
        return tuple(part for n, store in zip(counters, stores, strict=True) for part in (n, *store))

    def _binary(self, state: State, left: Maybe, right: Maybe, share: Share) -> JoinStep:
        (lead,), own = self._parts(state)
        (ql, qr), a, b = self.capacities, left.present, right.present
        left_ahead, right_ahead = GT(lead, 0), LT(lead, 0)
        only_left, only_right = share("only_first", both(a, negate(b))), share("only_second", both(b, negate(a)))
        together = share("together", both(a, b))
        if together is TRUE and EQ(lead, 0) is TRUE:  # nothing waits: the code below would find that out slot by slot
            return JoinStep(state, TRUE, (left.value, right.value), (0, 0), (FALSE, FALSE))
        lefts, rights = own[0], own[-1]

        def written(i: int, sign: int, alone: Any) -> Any:
            """Return whether an arrival is stored at slot i: it came alone, or after the oldest event was consumed."""
            behind = both(together, EQ(lead, sign * (i + 1)))
            return either(both(alone, EQ(lead, sign * i)), behind)

        wl = [written(i, 1, only_left) for i in range(self._count_slots(ql))]
        wr = [written(i, -1, only_right) for i in range(self._count_slots(qr))]
        eat_left, eat_right = both(b, left_ahead), both(a, right_ahead)
        if self._has_shared_store:
            eat = either(eat_left, eat_right)
            width = len(lefts)
            pad = [FALSE] * width
            stores = [
                ite(w1, left.value, ite(w2, right.value, content))
                for w1, w2, content in zip(
                    (wl + pad)[:width], (wr + pad)[:width], _shift(eat, lefts, self.domains[0]), strict=True
                )
            ]
        else:
            kept_left = _shift(eat_left, lefts, self.domains[0])
            kept_right = _shift(eat_right, rights, self.domains[1])
            stores = [ite(w, left.value, content) for w, content in zip(wl, kept_left, strict=True)]
            stores += [ite(w, right.value, content) for w, content in zip(wr, kept_right, strict=True)]
        grows, shrinks = both(only_left, LT(lead, ql)), both(only_right, GT(lead, -qr))
        after = share("after", ite(grows, lead + 1, ite(shrinks, lead - 1, lead)))
        return JoinStep(
            (after, *stores),
            share("fires", both(either(a, left_ahead), either(b, right_ahead))),
            (
                ite(left_ahead, lefts[0], left.value) if lefts else left.value,
                ite(right_ahead, rights[0], right.value) if rights else right.value,
            ),
            (ite(GT(after, 0), after, 0), ite(LT(after, 0), 0 - after, 0)),
            (both(only_left, EQ(lead, ql)), both(only_right, EQ(lead, -qr))),
        )

    def _general(self, state: State, arrivals: Sequence[Maybe], share: Share) -> JoinStep:
        parts = list(zip(*self._parts(state), strict=True))
        ready = (either(arrival.present, GT(n, 0)) for arrival, (n, _) in zip(arrivals, parts, strict=True))
        fires = share("fires", conjunction(ready))
        after: list[Any] = []
        front, lengths, overflows = [], [], []
        for arrival, (n, store), q, domain in zip(arrivals, parts, self.capacities, self.domains, strict=True):
            a, waiting = arrival.present, GT(n, 0)
            stays, eaten = both(a, negate(fires)), both(fires, waiting)
            grows, shrinks = both(stays, LT(n, q)), both(eaten, negate(a))
            length = ite(grows, n + 1, ite(shrinks, n - 1, n))
            remainder = _shift(eaten, store, domain)
            stores = [
                ite(either(both(stays, EQ(n, i)), both(both(a, fires), EQ(n, i + 1))), arrival.value, keep)
                for i, keep in enumerate(remainder)
            ]
            after += [length, *stores]
            front.append(ite(waiting, store[0], arrival.value) if store else arrival.value)
            lengths.append(length)
            overflows.append(both(stays, EQ(n, q)))
        return JoinStep(tuple(after), fires, tuple(front), tuple(lengths), tuple(overflows))


def _name_parts(share: Share, name: str, value: Any) -> Any:
    """Name each scalar part of a value."""
    if isinstance(value, tuple):
        return tuple(_name_parts(share, f"{name}{i}.", part) for i, part in enumerate(value, 1))
    return share(name, value) if isinstance(value, Term) else value


def _store(name: str, domain: Domain, capacity: int) -> tuple[Slot, ...]:
    return tuple(Slot(f"{name}{i}", domain, domain.default) for i in range(capacity))


def _shift(eaten: Any, store: Sequence[Any], domain: Domain) -> list[Any]:
    """Return the store after its oldest event was taken; the last slot becomes unused."""
    if not store:
        return []
    return [ite(eaten, new, old) for old, new in zip(store, [*store[1:], const(domain.default, domain)], strict=True)]
