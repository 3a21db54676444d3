"""Window: any processor over the last k events (TIME 2021, sections 2 and 3.3).

The i-th output is the last event the inner processor emits on events i .. i+k-1, started afresh; a window on
which it emits nothing yields nothing. There is no output before k events have arrived.

Two finite encodings, chosen by the number of state bits (design section 5, rule 7):

- `events`: the last k-1 events are kept, and the inner processor is run over the window at every step;
- `copies`: k-1 inner states are kept, the i-th having seen the last i events. All advance at every event, a
  fresh one enters and the oldest yields the output. (The paper's k rotating copies, without the rotation.)

Arithmetic in checked domains always takes the first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from workbench.core import function as f
from workbench.core.domain import Bool, Domain, Overflowing, Range, Tuple, Value
from workbench.core.evaluate import escape_condition
from workbench.core.memory import Stored
from workbench.core.ops import EQ, GE, LT, as_term, both, either, ite
from workbench.core.pipeline import Pipeline
from workbench.core.processor import NOTHING, Emission, Machine, Maybe, Processor, Slot, State, Stream, slots_of
from workbench.core.term import FALSE, TRUE, const, var
from workbench.errors import PipelineError
from workbench.processors.cumulate import Cumulate
from workbench.processors.fold import Fold, fold_of
from workbench.processors.group import Group
from workbench.processors.sliding import sliding

Encoding = Literal["auto", "events", "copies"]


@dataclass(frozen=True)
class Window(Processor):
    """The last event that `inner` emits on each `width` successive fronts.

    Parameters
    ----------
    width: number of events in a window, at least 1.
    inner: a processor, or a pipeline, with one output.
    encoding: how the finite model keeps the window; `auto` takes the one with fewer state bits.
    """

    width: int
    inner: Processor | Pipeline
    encoding: Encoding = "auto"

    keyword: ClassVar[str] = "window"

    def __post_init__(self) -> None:
        if self.width < 1:
            raise PipelineError(f"a window needs a width of at least 1, not {self.width}")
        if isinstance(self.inner, Pipeline):
            object.__setattr__(self, "inner", Group(self.inner))
        if isinstance(self.inner, Group) and self.inner.faults:
            raise PipelineError(
                f"pipeline {self.inner.body.name} has faults, and stands in a window",
                hint="a window starts its processor afresh for every event: faults are on the pipes around it",
            )
        if self._inner.out_arity != 1:
            raise PipelineError(f"the processor in a window has one output, {self.inner} has {self._inner.out_arity}")

    @property
    def _inner(self) -> Processor:
        assert isinstance(self.inner, Processor)
        return self.inner

    @property
    def in_arity(self) -> int:
        return self._inner.in_arity

    @property
    def label(self) -> str:
        return f"▭{self.width} {self._inner.label}"

    def typed(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, inner=self._inner.typed(inputs))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return self._inner.results(inputs)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        fronts = min(map(len, streams))
        out: list[Value] = []
        for start in range(fronts - self.width + 1):
            (results,) = self._inner.denote(tuple(s[start : start + self.width] for s in streams))
            out.extend(results[-1:])
        return (out,)

    # --- operation: the last fronts, and the inner processor run over them ---------------------------------

    @cached_property
    def _fold(self) -> Fold | None:
        """How to do with less than running the inner processor anew, if that is known."""
        return fold_of(self.width, self._inner)

    def initial(self) -> State:
        return () if self._fold is None else self._fold.initial()

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        if self._fold is not None:
            return self._fold.step(state, front[0])
        fronts = (*state, front)
        if len(fronts) < self.width:
            return fronts, (NOTHING,)
        inner, last = self._inner.initial(), NOTHING
        for events in fronts:
            inner, (out,) = self._inner.step(inner, events)
            last = _last(out, last)
        (final,) = self._inner.finish(inner)  # the end of the window is the end of the inner stream
        return fronts[1:], (_last(final, last),)

    # --- the finite machine ----------------------------------------------------------------------------------

    def refusal(self, backend: str) -> str:
        return self._inner.refusal(backend)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        del horizon
        inner = self._inner.machine(inputs, self.width)
        events, copies = self._events(inner, inputs), self._copies(inner, inputs)
        if _checked(inner, inputs):
            # copies compute on windows that may never fill, so they would report an escape too early
            return events
        if self.encoding == "auto":
            return events if bits(events) <= bits(copies) else copies
        return events if self.encoding == "events" else copies

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        return sliding(self.width, self._inner, inputs)

    def _warm(self) -> Slot:
        return Slot("seen", Range(0, self.width - 1), 0)

    def _count(self, seen: Any) -> Any:
        return ite(LT(seen, self.width - 1), seen + 1, seen)

    def _events(self, inner: Machine, inputs: tuple[Domain, ...]) -> Machine:
        """Slots `event1` (the latest) .. `event<k-1>`; the inner processor is run over them at each step."""
        single = len(inputs) == 1
        fronts = inputs[0] if single else Tuple(inputs)
        slots = [Slot(f"event{i}", fronts, fronts.default) for i in range(1, self.width)]
        start = tuple(const(slot.initial, slot.domain) for slot in inner.slots)

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            seen, *kept = state
            current, last = start, Maybe(FALSE, const(self._default(inputs), self.results(inputs)[0]))
            for events in reversed(kept):
                current, last = _advance(inner, current, last, (events,) if single else events)
            current, last = _advance(inner, current, last, front)
            last = _ended(inner, current, last)
            latest = front[0] if single else front
            full = EQ(seen, self.width - 1)
            return (self._count(seen), *(latest, *kept)[: self.width - 1]), (
                Maybe(both(full, last.present), last.value),
            )

        return Machine((self._warm(), *slots), step)

    def _copies(self, inner: Machine, inputs: tuple[Domain, ...]) -> Machine:
        """Slots `age<i>.*`: the inner state after i events; `output<i>.*`: its last output, where it may be silent."""
        (result,) = self.results(inputs)
        silent = not _always_emits(inner, inputs)
        output = [Slot("present", Bool(), False), Slot("value", result, result.default)] if silent else []
        own = [*inner.slots, *output]
        slots = [
            Slot(f"{prefix}{i}.{name}", domain, initial)
            for i in range(1, self.width)
            for prefix, part in (("age", inner.slots), ("output", output))
            for name, domain, initial in part
        ]
        fresh = tuple(const(slot.initial, slot.domain) for slot in own)
        nothing = Maybe(FALSE, const(result.default, result))
        size = len(inner.slots)

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            seen, *rest = state
            n = len(own)
            copies = [fresh, *(tuple(rest[n * i : n * i + n]) for i in range(self.width - 1))]
            after, following, last = [], (), nothing
            for age, copy in enumerate(copies):
                before = Maybe(*copy[size:]) if silent else nothing
                following, last = _advance(inner, copy[:size], before, front)
                advanced = (*following, *((last.present, last.value) if silent else ()))
                # copies that have not seen their first event yet stay as they are: the state is canonical
                after.append(tuple(ite(GE(seen, age), new, old) for new, old in zip(advanced, fresh, strict=True)))
            last = _ended(inner, following, last)
            full = EQ(seen, self.width - 1)
            flat = tuple(part for copy in after[: self.width - 1] for part in copy)
            return (self._count(seen), *flat), (Maybe(both(full, last.present), last.value),)

        return Machine((self._warm(), *slots), step)

    def _default(self, inputs: tuple[Domain, ...]) -> Value:
        return self.results(inputs)[0].default

    def __str__(self) -> str:
        return f"Window({self.width}, {self.inner})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        total = Cumulate(f.ADD)
        return (
            cls(1, total),
            cls(2, total),
            cls(3, total, "events"),
            cls(3, total, "copies"),
            cls(2, cls(2, total)),
        )


def _last(out: Emission, before: Maybe) -> Maybe:
    """The last event emitted, `before` if there is none."""
    return next((maybe for maybe in reversed(slots_of(out)) if maybe.present), before)


def _advance(inner: Machine, state: State, last: Maybe, front: tuple[Any, ...]) -> tuple[State, Maybe]:
    """One inner step, and the last event emitted so far."""
    following, (out,) = inner.step(state, front)
    typed = tuple(as_state(new, slot) for new, slot in zip(following, inner.slots, strict=True))
    return typed, _later(out, last)


def _later(out: Emission, last: Maybe) -> Maybe:
    """The last event of all that came: `last`, and then `out`."""
    for maybe in slots_of(out):
        present = as_term(maybe.present, Bool())
        last = Maybe(either(present, last.present), ite(present, maybe.value, last.value))
    return last


def _ended(inner: Machine, state: State, last: Maybe) -> Maybe:
    """The last event, given what the inner processor emits at the end of the window."""
    if inner.finish is None:
        return last
    (out,) = inner.finish(state)
    return _later(out, last)


def as_state(value: Any, slot: Slot) -> Any:
    """A next-state value as a term. Ranges are left as wide as arithmetic made them: the step keeps in bounds."""
    return value if isinstance(slot.domain, Range) and not isinstance(value, int) else as_term(value, slot.domain)


def _symbolic_step(inner: Machine, inputs: tuple[Domain, ...]) -> tuple[State, Emission]:
    """One step from any state on any front."""
    state = tuple(var(f"s{i}", slot.domain) for i, slot in enumerate(inner.slots))
    front = tuple(var(f"x{i}", domain) for i, domain in enumerate(inputs))
    following, (out,) = inner.step(state, front)
    return following, out


def _always_emits(inner: Machine, inputs: tuple[Domain, ...]) -> bool:
    _, out = _symbolic_step(inner, inputs)
    return any(maybe.present is True or maybe.present is TRUE for maybe in slots_of(out))


def _checked(inner: Machine, inputs: tuple[Domain, ...]) -> bool:
    """Whether the inner processor does arithmetic that can leave a checked domain."""
    following, out = _symbolic_step(inner, inputs)
    return escape_condition([following, out], Overflowing.CHECKED) is not FALSE


def bits(machine: Machine) -> int:
    """State bits of a finite machine."""
    return sum(((slot.domain.size or 1) - 1).bit_length() for slot in machine.slots)
