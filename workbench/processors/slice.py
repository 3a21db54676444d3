"""Slice: a copy of a processor for each part of a stream (Event Stream Processing with Multiple Threads, section 4.2).

A key says to which slice a front goes; each slice is a copy of the inner processor of its own. For every front the
output is the map from each slice to the last event that it has emitted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Bool, Domain, FrozenMap, Integers, Map, Tuple, Value, parts, scalars
from workbench.core.function import Function, TypedFunction, as_function
from workbench.core.memory import Cells, Store, Stored, table_size
from workbench.core.ops import as_term, both, disjunction, either, equal, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.processor import (
    NOTHING,
    RUNS_PYTHON,
    Emission,
    Machine,
    Maybe,
    Processor,
    Slot,
    State,
    Stepped,
    Stream,
    event,
    pushes,
    typed_function,
)
from workbench.core.strict import computed, when
from workbench.core.term import FALSE, TRUE, Change, Entries, const
from workbench.errors import PipelineError, Refused, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held import Holder, advance, ended, last_event, symbolic_step, wrapped
from workbench.processors.trim import Trim

FIRST = 64
"""Rows of a table of slices at first, beside those of small keys: a power of two."""


@dataclass(frozen=True)
class Slice(Holder):
    """The last event that each slice has emitted, as a map from the slices' keys, for every front.

    Parameters
    ----------
    key: the slice of a front.
    inner: a processor, or a pipeline, with one output; each slice is a copy of it, made when its first front comes.
    to_all: fronts at which this is true go to all slices there are, whatever their key; they make none.
    until: a slice ends when this is true of an event it emits. Its last event stays in the map; its next front
        starts it afresh.
    forget: a slice that ends leaves the map, too.
    """

    key: Function | TypedFunction
    inner: Processor | Pipeline
    to_all: Function | TypedFunction | None = None
    until: Function | TypedFunction | None = None
    forget: bool = False

    keyword: ClassVar[str] = "slice"
    lockstep: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for name in ("key", "to_all", "until"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, TypedFunction):
                object.__setattr__(self, name, as_function(given))
        object.__setattr__(self, "inner", wrapped(self.keyword, self.inner))
        for name, arity in (("key", self.in_arity), ("to_all", self.in_arity), ("until", 1)):
            given = getattr(self, name)
            if given is not None and _plain(given).arity != arity:
                raise PipelineError(
                    f"'{name}' of slice is a function of {arity}, '{given.name}' is one of {_plain(given).arity}"
                )
        if self.forget and self.until is None:
            raise PipelineError("a slice that never ends is never forgotten", hint="say when it ends: until = ...")

    @property
    def label(self) -> str:
        return f"⑂ {self.key.name} {self._inner.label}"

    # --- typing ---

    def typed(self, inputs: tuple[Domain, ...]) -> Self:
        inner = self._inner.typed(inputs)
        to_all = self.to_all and _condition("to_all", self.to_all, inputs)
        until = self.until and _condition("until", self.until, inner.results(inputs))
        return replace(self, key=typed_function(self.key, inputs), inner=inner, to_all=to_all, until=until)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (self._map(inputs),)

    def _map(self, inputs: tuple[Domain, ...]) -> Map:
        assert isinstance(self.key, TypedFunction)
        return Map(self.key.result, self._inner.results(inputs)[0])

    # --- meaning ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        lives, last, out = self._unfolded(streams)
        spoke = False
        for key, life in lives.items():
            final = self._events(life, ended=True)[len(self._events(life)) :]
            if final:
                last, spoke = {**last, key: final[-1]}, True
        return ([*out, FrozenMap(last)] if spoke else out,)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self._unfolded(streams)[2],)

    def _unfolded(self, streams: tuple[Stream, ...]) -> tuple[dict[Value, list[Any]], dict[Value, Value], list[Value]]:
        """The fronts that each slice has seen since it began, the last events, and the output."""
        lives: dict[Value, list[Any]] = {}
        last: dict[Value, Value] = {}
        out: list[Value] = []
        for front in zip(*streams, strict=False):
            everywhere = self.to_all is not None and self.to_all(*front)
            for key in list(lives) if everywhere else [self.key(*front)]:
                before = lives.get(key, [])
                life = lives[key] = [*before, front]
                fresh = self._events(life)[len(self._events(before)) :]
                if fresh:
                    last[key] = fresh[-1]
                    if self.until is not None and self.until(fresh[-1]):
                        del lives[key]
                        if self.forget:
                            del last[key]
            out.append(FrozenMap(last))
        return lives, last, out

    def _events(self, fronts: list[Any], *, ended: bool = False) -> list[Value]:
        streams = tuple([front[i] for front in fronts] for i in range(self.in_arity))
        (events,) = self._inner.denote(streams) if ended else self._inner.denote_open(streams)
        return events

    # --- operation: the inner states and the last events, as maps that share what did not change ---------------

    def initial(self) -> State:
        return (FrozenMap(), FrozenMap())

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        inner, last = state
        if self.to_all is None or not self.to_all(*front):
            key = self.key(*front)
            before = inner.get(key)
            begun = partial(self._inner.step, self._inner.initial() if before is None else before, front)
            inner, last = self._fed(inner, last, key, begun)
            return (inner, last), (event(last),)
        keys = list(inner)
        befores = [inner.get(key) for key in keys]
        jobs = [(self._inner.initial() if before is None else before, front) for before in befores]
        for key, result in zip(keys, pushes(self._inner, jobs), strict=True):
            inner, last = self._fed(inner, last, key, result)
        return (inner, last), (event(last),)

    def _fed(self, inner: Any, last: Any, key: Value, result: Callable[[], Stepped]) -> tuple[Any, Any]:
        """The maps after a slice has seen a front."""
        before = inner.get(key)
        after, (out,) = result()
        found = last_event(out, NOTHING)
        if not found.present:
            return inner.set(key, after), last
        if self.until is None or not self.until(found.value):
            return inner.set(key, after), last.set(key, found.value)
        kept = last.delete(key) if key in last else last
        return inner if before is None else inner.delete(key), kept if self.forget else last.set(key, found.value)

    @property
    def finishes(self) -> int:
        return self._inner.finishes

    def finish(self, state: State) -> tuple[Emission, ...]:
        inner, last = state
        spoke = False
        for key, before in inner.items():
            (out,) = self._inner.finish(before)
            found = last_event(out, NOTHING)
            if found.present:
                last, spoke = last.set(key, found.value), True
        return (Maybe(spoke, last),)

    # --- the finite machine: a copy of the inner one for each key ----------------------------------------------

    def refusal(self, backend: str) -> str:
        inner = super().refusal(backend) or self._inner.refusal(backend)
        if inner or not isinstance(self.key, TypedFunction):
            return inner
        keys = self.key.result
        if Map(keys, BOOL).finite or backend in RUNS_PYTHON:
            return ""
        if backend == "numba" and scalar(keys):
            held = self.to_all is not None or self._inner.finishes
            return "an event that goes to all slices needs a finite type of keys there" if held else ""
        return f"there may be too many slices, one for each value of {keys}"

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        """Where the maps are not finite: a table of the slices."""
        if (
            self.to_all is not None
            or self._inner.finishes
            or not scalar(self._map(inputs).key)
            or not self._tabled(inputs)
        ):
            return None
        return _Copies(self, self._inner.machine(inputs), inputs).table()

    def _tabled(self, inputs: tuple[Domain, ...]) -> bool:
        return not self._map(inputs).finite

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        self._refuse()
        return _Copies(self, self._inner.machine(inputs, horizon), inputs).machine()

    def _over(self, said: Maybe) -> Any:
        """Whether a slice ends with what it says."""
        if self.until is None:
            return FALSE
        ends = as_term(self.until(said.value), BOOL)
        computed((ends,), said.present)
        return both(said.present, ends)

    def _addressed(self, front: tuple[Any, ...]) -> tuple[Any, Any]:
        """Of a symbolic front: its key, and whether it goes to all slices."""
        assert isinstance(self.key, TypedFunction)
        key = as_term(self.key(*front), self.key.result)
        everywhere = FALSE if self.to_all is None else as_term(self.to_all(*front), BOOL)
        computed((everywhere,))
        computed((key,), negate(everywhere))
        return key, everywhere

    def _refuse(self) -> None:
        reason = self.refusal("smv")
        if reason:
            raise Refused(f"{self} is not supported by the model: {reason}")

    def __str__(self) -> str:
        options = [f"to_all={self.to_all.name}"] if self.to_all else []
        options += [f"until={self.until.name}"] if self.until else []
        options += ["forget"] if self.forget else []
        return f"{type(self).__name__}({', '.join([self.key.name, str(self.inner), *options])})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        total, even = Cumulate(f.ADD), f.EVEN
        same = Function("itself", 1, lambda a: a)
        return (
            cls(even, total),
            cls(same, total),
            cls(even, Trim(1), to_all=Function("none", 1, lambda a: equal(a, 0))),
            cls(even, total, until=f.ODD),
            cls(even, total, to_all=f.ODD, until=f.ODD),
            cls(even, CountDecimate(2, last=True)),
            cls(f.LT, ApplyFunction(f.MAX)),
        )


class _Copies:
    """The finite machine of a slice processor.

    For each key: whether the slice is there (where that is not the same as to have been fed), the inner state,
    and the last event. What is not there holds the initial state, and the default.
    """

    def __init__(self, slice: Slice, inner: Machine, inputs: tuple[Domain, ...]) -> None:
        self.slice, self.inner = slice, inner
        self.map = slice._map(inputs)
        self.lives = slice.to_all is not None or inner.finish is not None
        self.kept = self._kept(inputs)
        own = [Slot("is_alive", BOOL, False)] if self.lives else []
        own += [*inner.slots, Slot("is_present", BOOL, False)]
        if self.kept is None:
            own.append(Slot("shown", self.map.value, self.map.value.default))
        self.own = own

    def _kept(self, inputs: tuple[Domain, ...]) -> int | None:
        """The inner slot that always holds the event emitted last, if there is one: it need not be kept twice."""
        if self.slice.until is not None or self.inner.finish is not None:
            return None
        after, out = symbolic_step(self.inner, inputs)
        if not isinstance(out, Maybe) or out.present not in (True, TRUE):
            return None
        slots = zip(after, self.inner.slots, strict=True)
        return next(
            (i for i, (new, slot) in enumerate(slots) if new == out.value and slot.domain == self.map.value), None
        )

    def machine(self) -> Machine:
        slots = tuple(Slot(f"{s.name}.{word}", s.domain, s.initial) for _, word in self.map.slots for s in self.own)
        return Machine(slots, self.step, self.finish if self.inner.finish else None)

    def table(self) -> Stored:
        """The machine with a row for each slice that there has been, for compiled code.

        Where each front makes a slice emit, it is in the map if its row is used.
        """
        stored = self.own if self.kept is None else self.own[:-1]
        fresh = tuple(slot.initial for slot in stored) if self.kept is None else ()
        row = Tuple((BOOL, self.map.key, *(slot.domain for slot in stored)))

        def machine(cells: Sequence[Cells]) -> Machine:
            (slices,) = cells

            def found(place: Any) -> tuple[Any, ...]:
                used, _, *kept = slices.at(place)
                new = (const(slot.initial, slot.domain) for slot in stored)
                copy = tuple(ite(used, old, first) for old, first in zip(kept, new, strict=True))
                return copy if self.kept is None else (*copy, used)

            def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
                key, _ = self.slice._addressed(front)
                place = slices.find(key)
                new = self._fed(found(place), front)
                slices.keep(place, key, new[: len(stored)])
                present, value = self._entry(new)

                def look(other: Any) -> tuple[Any, Any]:
                    there, known = self._entry(found(slices.find(other)))
                    same = equal(key, other)
                    return ite(same, present, there), ite(same, value, known)

                return state, (event(Change.of(self.map, (present, key, value), look, self._arrays(slices))),)

            return Machine((), step)

        return Stored((Store("slices", row, table_size(FIRST), fresh=fresh),), machine)

    def _arrays(self, slices: Cells) -> tuple[str, ...]:
        """See `Change.arrays`."""
        used, key, *rest = slices.arrays
        names = {"is_present": [used]}
        for slot in self.own if self.kept is None else self.own[:-1]:
            names[slot.name] = [rest.pop(0) for _ in scalars(slot.domain)]
        shown = "shown" if self.kept is None else self.inner.slots[self.kept].name
        return (used, *names["is_present"], key, *names[shown])

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        key, everywhere = self.slice._addressed(front)
        after: list[Any] = []
        entries = []
        for copy, (candidate, _) in zip(self._each(state), self.map.slots, strict=True):
            chosen = both(negate(everywhere), equal(key, const(candidate, self.map.key)))
            fed = either(chosen, both(everywhere, copy[0])) if self.lives else chosen
            with when(fed):
                new = self._fed(copy, front)
            new = tuple(ite(fed, a, b) for a, b in zip(new, copy, strict=True))
            after += new
            entries.append(self._entry(new))
        return tuple(after), (event(Entries.of(self.map, entries)),)

    def finish(self, state: State) -> tuple[Emission, ...]:
        spoke, entries = [], []
        for copy in self._each(state):
            alive, inner, shown = self._parts(copy)
            with when(alive):
                final = ended(self.inner, inner, Maybe(FALSE, const(self.map.value.default, self.map.value)))
            said = both(alive, final.present)
            spoke.append(said)
            entries.append((either(said, shown.present), ite(said, final.value, shown.value)))
        return (Maybe(disjunction(spoke), Entries.of(self.map, entries)),)

    def _each(self, state: State) -> Iterator[tuple[Any, ...]]:
        size = len(self.own)
        return (tuple(state[i : i + size]) for i in range(0, len(state), size))

    def _parts(self, copy: tuple[Any, ...]) -> tuple[Any, State, Maybe]:
        """Whether the slice is there, its inner state, and the last event."""
        first = int(self.lives)
        inner = copy[first : first + len(self.inner.slots)]
        return copy[0] if self.lives else TRUE, inner, Maybe(*self._entry(copy))

    def _entry(self, copy: tuple[Any, ...]) -> tuple[Any, Any]:
        """The slice in the map: whether it is there, and its value."""
        if self.kept is None:
            return copy[-2], copy[-1]
        nothing = const(self.map.value.default, self.map.value)
        return copy[-1], ite(copy[-1], copy[int(self.lives) + self.kept], nothing)

    def _fed(self, copy: tuple[Any, ...], front: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is kept of a slice after it has seen the front."""
        _, inner, shown = self._parts(copy)
        nothing = Maybe(FALSE, const(self.map.value.default, self.map.value))
        after, found = advance(self.inner, inner, nothing, front)
        last = Maybe(either(found.present, shown.present), ite(found.present, found.value, shown.value))
        alive: Any = TRUE
        if self.slice.until is not None:
            over = self.slice._over(found)
            fresh = tuple(const(slot.initial, slot.domain) for slot in self.inner.slots)
            alive, after = negate(over), ite(over, fresh, after)
            if self.slice.forget:
                last = Maybe(both(last.present, negate(over)), ite(over, nothing.value, last.value))
        value = () if self.kept is not None else (last.value,)
        return (*((alive,) if self.lives else ()), *after, last.present, *value)


def scalar(keys: Domain) -> bool:
    """Whether values of this domain can be keys of a table."""
    return isinstance(keys, Integers) or (keys.finite and not parts(keys) and not isinstance(keys, Tuple))


def _plain(function: Function | TypedFunction) -> Function:
    return function.function if isinstance(function, TypedFunction) else function


def _condition(name: str, function: Function | TypedFunction, inputs: tuple[Domain, ...]) -> TypedFunction:
    found = typed_function(function, inputs)
    if not isinstance(found.result, Bool):
        raise TypingError(f"'{name}' of slice is a condition, '{found.name}' gives {found.result}")
    return found
