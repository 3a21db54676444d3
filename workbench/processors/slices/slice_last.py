"""SliceLast: what slices emit, beside their keys, as it comes (BeepBeep, `SliceLast`)."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.fields import FrozenMap, Record
from workbench.core.kinds import Each, PlacesJoined, Said, in_turn
from workbench.core.ops import both, disjunction, either, equal, ite, negate
from workbench.core.processor import (
    NOTHING,
    Burst,
    Emission,
    Machine,
    Maybe,
    Slot,
    State,
    Stepped,
    Stored,
    Stream,
    emission,
)
from workbench.core.strict import when
from workbench.core.term import FALSE, const
from workbench.processors.held.holding import advance, ended, last_event
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_table import LastTable, scalar


@dataclass(frozen=True)
class SliceLast(Slice):
    """For every front a record of key and value for each slice that it makes emit something, in the order of keys.

    The parameters are those of `Slice`. A step costs what the slices that are fed cost, however many there are.
    """

    forget: bool = field(default=False, init=False, repr=False)

    keyword: ClassVar[str] = "slice_last"
    lockstep: ClassVar[bool] = False

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        found = self.map_of(inputs)
        return (Record((found.key, found.value), ("key", "value")),)

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        found = self.map_of(inputs)
        if self.to_all is None and not self._inner.finishes:
            return 1
        return len(found.slots) if found.key.finite and found.finite else None

    @property
    def finishes(self) -> int:
        keys = self.key.result
        return self._inner.finishes and max(1, (keys.size if isinstance(keys, Domain) else None) or 1)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        out, lives = self._said(streams)
        final = {key: self._events(life, ended=True)[len(self._events(life)) :] for key, life in lives.items()}
        return ([*out, *self._sorted([(key, events[-1]) for key, events in final.items() if events])],)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self._said(streams)[0],)

    def _said(self, streams: tuple[Stream, ...]) -> tuple[list[Value], dict[Value, list[Any]]]:
        """What slices emit, and the fronts that each has seen since it began."""
        lives: dict[Value, list[Any]] = {}
        out: list[Value] = []
        for front in zip(*streams, strict=False):
            everywhere = self.to_all is not None and self.to_all(*front)
            said = []
            for key in list(lives) if everywhere else [self.key(*front)]:
                before = lives.get(key, [])
                life = lives[key] = [*before, front]
                fresh = self._events(life)[len(self._events(before)) :]
                said += [(key, value) for value in fresh[-1:]]
                if fresh and self.until is not None and self.until(fresh[-1]):
                    del lives[key]
            out += self._sorted(said)
        return out, lives

    def _sorted(self, said: list[tuple[Value, Value]]) -> list[tuple[Value, Value]]:
        """In the order of the keys' domain, or of the keys themselves where it has no end."""
        domain = None if len(said) < 2 else getattr(self.key, "result", None)
        if domain is None:
            return said
        if domain.finite:
            rank = {key: i for i, key in enumerate(domain.values())}
            return sorted(said, key=lambda pair: rank[pair[0]])
        return sorted(said, key=lambda pair: (type(pair[0]).__name__, pair[0]))

    def initial(self) -> State:
        return (FrozenMap(),)

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        (inner,) = state
        said = []
        for key, (after, (out,)) in self._stepped(inner, front, each):
            present, value = last_event(out, NOTHING)
            if present:
                said.append((key, value))
            if present and self.until is not None and self.until(value):
                inner = inner.delete(key) if key in inner else inner
            else:
                inner = inner.set(key, after)
        return (inner,), (emission(self._sorted(said)),)

    def joint(self, places: int) -> PlacesJoined:
        def step(state: State, said: Sequence[Said]) -> Stepped:
            pairs = [(key, value) for key, value, _ in itertools.chain.from_iterable(said)]
            return state, (emission(self._sorted(pairs)),)

        return self.initial(), step

    def finish(self, state: State) -> tuple[Emission, ...]:
        said = []
        for key, before in state[0].items():
            (out,) = self._inner.finish(before)
            found = last_event(out, NOTHING)
            if found.present:
                said.append((key, found.value))
        return (emission(self._sorted(said)),)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        self._refuse()
        inner, found = self._inner.machine(inputs, horizon), self.map_of(inputs)
        lives = self.to_all is not None or inner.finish is not None
        own = [*([Slot("is_alive", BOOL, False)] if lives else []), *inner.slots]
        slots = tuple(Slot(f"{s.name}.{word}", s.domain, s.initial) for _, word in found.slots for s in own)
        nothing = Maybe(FALSE, const(found.value.default, found.value))
        fresh = tuple(const(slot.initial, slot.domain) for slot in inner.slots)

        def copies(state: State) -> list[State]:
            return [tuple(state[i * len(own) : (i + 1) * len(own)]) for i in range(len(found.slots))]

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            key, everywhere = self.addressed(front)
            following: list[Any] = []
            said = []
            for copy, (candidate, _) in zip(copies(state), found.slots, strict=True):
                chosen = both(negate(everywhere), equal(key, const(candidate, found.key)))
                fed = either(chosen, both(everywhere, copy[0])) if lives else chosen
                with when(fed):
                    after, last = advance(inner, copy[int(lives) :], nothing, front)
                    over = self.over(last)
                new = (*((negate(over),) if lives else ()), *ite(over, fresh, after))
                following += ite(fed, new, copy)
                said.append(Maybe(both(fed, last.present), (const(candidate, found.key), last.value)))
            return tuple(following), (self._together(said, inner),)

        def finish(state: State) -> tuple[Emission, ...]:
            said = []
            for copy, (candidate, _) in zip(copies(state), found.slots, strict=True):
                with when(copy[0]):
                    last = ended(inner, copy[1:], nothing)
                said.append(Maybe(both(copy[0], last.present), (const(candidate, found.key), last.value)))
            return (Burst(said) if len(said) > 1 else said[0],)

        return Machine(slots, step, finish if inner.finish else None)

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        found = self.map_of(inputs)
        if found.finite or self._inner.finishes or not scalar(found.key):
            return None
        return LastTable(self, self._inner.machine(inputs), found).stored()

    def _together(self, said: list[Maybe], inner: Machine) -> Emission:
        """What the slices say at one front: where only one is fed, as a single event."""
        if len(said) == 1:
            return said[0]
        if self.to_all is not None or inner.finish is not None:
            return Burst(said)
        value = said[-1].value
        for other in reversed(said[:-1]):
            value = ite(other.present, other.value, value)
        return Maybe(disjunction(slot.present for slot in said), value)
