"""Slice: a copy of a processor for each part of a stream (Event Stream Processing with Multiple Threads, section 4.2).

A key determines the slice of a front; each slice is its own copy of the inner processor. For every front the
output is the map from each slice to the last event that it has emitted.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Bool, Domain, Value
from workbench.core.fields import MAX_KEYS, FrozenMap, Map
from workbench.core.form import Form
from workbench.core.function import Function, TypedFunction, as_function, on_values, remove_types, require_typed
from workbench.core.kinds import (
    Answers,
    Divisible,
    Each,
    FailedCopy,
    PlacePart,
    PlacesJoined,
    begin_stepping,
    in_turn,
    keeps_copies,
    stepping,
)
from workbench.core.ops import as_term, both, equal, negate
from workbench.core.pipeline import Pipeline
from workbench.core.processor import (
    NOTHING,
    Emission,
    Machine,
    Maybe,
    Processor,
    State,
    Stepped,
    Stored,
    Stream,
    event,
    specialise_function,
)
from workbench.core.strict_values import mark_computed
from workbench.core.term import FALSE
from workbench.errors import PipelineError, Refused, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.inner_processor import SingleHolder, last_event, wrap
from workbench.processors.slices.slice_machine import MapMachine, SliceMachine
from workbench.processors.slices.slice_table import SliceTable, scalar
from workbench.processors.trim import Trim

SliceEvent = tuple[Value, Value, bool]
"""The emission of a slice: its key, the last event of a front, and whether the slice ends with it."""


@dataclass(frozen=True)
class Slice(SingleHolder, Divisible):
    """Emits, at each front, a map from the keys of slices to the last event that each slice has emitted.

    Parameters
    ----------
    key: the slice of a front.
    inner: a processor, or a pipeline, with one output; each slice is a copy of it, created with its first front.
    to_all: fronts for which this is true go to all present slices, whatever their key; they create none, and a slice
        that has ended is not present.
    until: a slice ends at a front when this is true for the last event it emits there. Its last event stays in the
        map; the next front of its key starts it afresh.
    forget: whether a slice that ends also leaves the map.
    """

    key: Function | TypedFunction
    inner: Processor | Pipeline
    to_all: Function | TypedFunction | None = None
    until: Function | TypedFunction | None = None
    forget: bool = False

    keyword: ClassVar[str] = "slice"
    splits: ClassVar[bool] = True
    lockstep: ClassVar[bool] = True
    copied: ClassVar[type[SliceMachine]] = MapMachine
    """The class of its finite machines."""

    def __post_init__(self) -> None:
        for name in ("key", "to_all", "until"):
            function = getattr(self, name)
            if function is not None and not isinstance(function, TypedFunction):
                object.__setattr__(self, name, as_function(function))
        object.__setattr__(self, "inner", wrap(self.keyword, self.inner))
        for name, arity in (("key", self.in_arity), ("to_all", self.in_arity), ("until", 1)):
            function = getattr(self, name)
            if function is not None and (own := remove_types(function).arity) != arity:
                raise PipelineError(f"'{name}' of slice needs a function of {arity}, '{function.name}' takes {own}")
        if self.forget and self.until is None:
            raise PipelineError("a slice that never ends is never forgotten", hint="define its end: until = ...")

    @property
    def label(self) -> str:
        return f"⑂ {self.key.name} {self._inner.label}"

    # --- typing ---

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        inner = self._inner.specialise(inputs)
        to_all = self.to_all and _condition("to_all", self.to_all, inputs)
        until = self.until and _condition("until", self.until, inner.results(inputs))
        return replace(self, key=specialise_function(self.key, inputs), inner=inner, to_all=to_all, until=until)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (self.map_of(inputs),)

    def map_of(self, inputs: tuple[Domain, ...]) -> Map:
        """Return the domain of the maps from slices to their last events."""
        return Map(require_typed(self.key).result, self._inner.results(inputs)[0])

    # --- meaning ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        lives, emissions = self._unfold(streams)
        final = [(key, self._events(life, ended=True)[len(self._events(life)) :]) for key, life in lives.items()]
        last = [(key, events[-1], False) for key, events in final if events]
        return (self._show([*emissions, last] if last else emissions),)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return (self._show(self._unfold(streams)[1]),)

    def _show(self, emissions: Sequence[Sequence[SliceEvent]]) -> list[Value]:
        """Return the output, given the emissions of slices at each front, and at the end where there are some."""
        last, out = dict[Value, Value](), list[Value]()
        for events in emissions:
            for key, value, over in events:
                last[key] = value
                if over and self.forget:
                    del last[key]
            out.append(FrozenMap(last))
        return out

    def _unfold(self, streams: tuple[Stream, ...]) -> tuple[dict[Value, list[Any]], list[list[SliceEvent]]]:
        """Return the fronts that each slice has seen since it started, and the emissions of slices at each front."""
        lives: dict[Value, list[Any]] = {}
        emissions: list[list[SliceEvent]] = []
        for front in zip(*streams, strict=False):
            everywhere = self.to_all is not None and self.to_all(*front)
            emissions.append([])
            for key in list(lives) if everywhere else [self.key(*front)]:
                before = lives.get(key, [])
                life = lives[key] = [*before, front]
                for value in self._events(life)[len(self._events(before)) :][-1:]:
                    over = self.until is not None and bool(self.until(value))
                    emissions[-1].append((key, value, over))
                    if over:
                        del lives[key]
        return lives, emissions

    def _events(self, fronts: list[Any], *, ended: bool = False) -> list[Value]:
        streams = tuple([front[i] for front in fronts] for i in range(self.in_arity))
        (events,) = self._inner.denote(streams) if ended else self._inner.denote_open(streams)
        return events

    # --- operation: the inner states and the last events, as persistent maps -------------------------------------

    @cached_property
    def copies(self) -> bool:
        return self.to_all is not None or keeps_copies(self._inner)

    def initial(self) -> State:
        return (FrozenMap(), FrozenMap())

    @cached_property
    def _key(self) -> Callable[..., Value]:
        return on_values(self.key)

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        inner = state[0]
        events: list[SliceEvent] = []
        if self.to_all is None and each is in_turn:
            key = self._key(*front)
            inner = self._feed(inner, key, self._push(inner.get(key, self._initial_copy), front), events)
        else:
            for key, stepped in self._step_slices(inner, front, each):
                inner = self._feed(inner, key, stepped, events)
        return self._emit(inner, state, events)

    def _step_slices(self, inner: Any, front: tuple[Any, ...], each: Each) -> Iterable[tuple[Value, Stepped]]:
        """Return the steps of the slices to which a front goes."""
        push = self._push
        if self.to_all is not None and self.to_all(*front):
            if each is not in_turn:
                push = begin_stepping(self._inner, each, [(before, front) for before in inner.values()])
            return ((key, push(before, front)) for key, before in inner.items())
        if each is not in_turn:
            push = stepping(self._inner, each)
        key = self._key(*front)
        return ((key, push(inner.get(key, self._initial_copy), front)),)

    def _feed(self, inner: Any, key: Value, stepped: Stepped, events: list[SliceEvent]) -> Any:
        """Return the inner states after a slice has seen a front; its emission is appended to `events`."""
        after, (out,) = stepped
        present, value = last_event(out, NOTHING)
        if present:
            over = self.until is not None and bool(self.until(value))
            events.append((key, value, over))
            if over:
                return inner.delete(key) if key in inner else inner
        return inner.set(key, after)

    def _emit(self, inner: Any, state: State, events: Iterable[SliceEvent]) -> Stepped:
        """Return the step with these inner states and emissions of slices."""
        last = state[1]
        for key, value, over in events:
            if not (over and self.forget):
                last = last.set(key, value)
            elif key in last:
                last = last.delete(key)
        return (inner, last), (event(last),)

    @property
    def finishes(self) -> int:
        return self._inner.finishes

    def finish(self, state: State) -> tuple[Emission, ...]:
        ends = [(key, last_event(self._inner.finish(before)[0], NOTHING)) for key, before in state[0].items()]
        events = [(key, end.value, False) for key, end in ends if end.present]
        return self._emit(state[0], state, events)[1] if events else (NOTHING,)

    # --- in several places: a slice lies in one of them, by its key ----------------------------------------------

    @property
    def undivided(self) -> str:
        return "what is in its slices acts at the end of the stream" if self._inner.finishes else ""

    def share(self, index: int, count: int) -> PlacePart:
        def step(state: State, front: tuple[Any, ...]) -> tuple[State, Answers]:
            inner, *last = state
            if self.to_all is not None and self.to_all(*front):
                fed: Iterable[tuple[Value, State]] = inner.items()
            else:
                key = self._key(*front)
                if hash((key,)) % count != index:
                    return state, ()
                fed = ((key, inner.get(key, self._initial_copy)),)
            events = list[SliceEvent]()
            for key, before in fed:
                try:
                    inner = self._feed(inner, key, self._push(before, front), events)
                except Exception as error:
                    raise FailedCopy(key) from error
            return (inner, *last), tuple(events)

        return self.initial(), step

    def first_failed(self, orders: Sequence[Any]) -> Any:
        return next(iter(FrozenMap(dict.fromkeys(orders))))  # their order in a map does not depend on the others

    def joint(self, count: int) -> PlacesJoined:
        def step(state: State, answers: Sequence[Answers]) -> Stepped:
            return self._emit(state[0], state, itertools.chain.from_iterable(answers))

        return self.initial(), step

    # --- the finite machine: a copy of the inner one for each key ------------------------------------------------

    def refusal(self, form: Form) -> str:
        inner = super().refusal(form)
        if inner or not isinstance(self.key, TypedFunction):
            return inner
        keys = self.key.result
        if Map(keys, BOOL).finite or form == Form.VALUES:
            return ""
        if form == Form.ARRAYS and scalar(keys):
            return (
                "slices that emit at the end of the stream need a finite type of keys" if self._inner.finishes else ""
            )
        return f"there may be too many slices, one for each value of {keys}, and a model has {MAX_KEYS} at most"

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        """Return a table of the slices, if the maps are not finite."""
        if self._inner.finishes or not scalar(self.map_of(inputs).key) or self.map_of(inputs).finite:
            return None
        return SliceTable(self.copied(self, self._inner.machine(inputs), inputs)).stored()

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        reason = self.refusal(Form.MODEL)
        if reason:
            raise Refused(f"{self} has no finite machine: {reason}")
        return self.copied(self, self._inner.machine(inputs, horizon), inputs).machine()

    def over(self, output: Maybe) -> Any:
        """Return whether a slice ends with its emission."""
        if self.until is None:
            return FALSE
        ends = as_term(self.until(output.value), BOOL)
        mark_computed((ends,), output.present)
        return both(output.present, ends)

    def address(self, front: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return the key of a symbolic front, and whether it goes to all slices."""
        key = as_term(self.key(*front), require_typed(self.key).result)
        everywhere = FALSE if self.to_all is None else as_term(self.to_all(*front), BOOL)
        mark_computed((everywhere,))
        mark_computed((key,), negate(everywhere))
        return key, everywhere

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


def _condition(name: str, function: Function | TypedFunction, inputs: tuple[Domain, ...]) -> TypedFunction:
    condition = specialise_function(function, inputs)
    if not isinstance(condition.result, Bool):
        raise TypingError(f"'{name}' of slice is a condition, '{condition.name}' gives {condition.result}")
    return condition
