"""Window: any processor over the last k events (TIME 2021, sections 2 and 3.3).

The i-th output is the last event the inner processor emits on events i .. i+k-1, started afresh; a window on
which it emits nothing yields nothing. There is no output before k events have arrived.

Two finite encodings, chosen by the number of state bits:

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
from workbench.core.domain import Bool, Domain, Range, Value
from workbench.core.fields import Tuple
from workbench.core.kinds import Answers, Divisible, Each, FailedCopy, PlacePart, PlacesJoined, in_turn, stepping
from workbench.core.ops import EQ, GE, LT, both, ite
from workbench.core.pipeline import Pipeline
from workbench.core.processor import (
    NOTHING,
    Machine,
    Maybe,
    Processor,
    Slot,
    State,
    Stored,
    Stream,
    emission,
    events_of,
)
from workbench.core.strict_values import when
from workbench.core.term import FALSE, const
from workbench.errors import check_count
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.cumulate_window import CumulateWindow, associative, fold_of
from workbench.processors.held.inner_processor import (
    SingleHolder,
    advance,
    always_emits,
    bits,
    end_window,
    last_event,
    leaves_checked_domain,
    wrap,
)
from workbench.processors.held.sliding import sliding

Encoding = Literal["auto", "events", "copies"]


@dataclass(frozen=True)
class Window(SingleHolder, Divisible):
    """Emits the last event that `inner` emits on each `width` successive fronts.

    Parameters
    ----------
    width: number of events in a window, at least 1.
    inner: a processor, or a pipeline, with one output.
    encoding: how the finite model stores the window; `auto` chooses the one with fewer state bits.
    """

    width: int
    inner: Processor | Pipeline
    encoding: Encoding = "auto"

    keyword: ClassVar[str] = "window"
    splits: ClassVar[bool] = True

    def __post_init__(self) -> None:
        swapped = isinstance(self.width, Processor | Pipeline)
        hint = "the width comes first: Window(3, Cumulate(ADD))" if swapped else ""
        check_count("the width of a window", self.width, least=1, hint=hint)
        object.__setattr__(self, "inner", wrap(self.keyword, self.inner))

    @property
    def label(self) -> str:
        return f"▭{self.width} {self._inner.label}"

    @property
    def lag(self) -> int | None:
        inner = self._inner.lag
        known = self._inner.prompt or (inner is not None and inner < self.width)
        return self.width - 1 if known else None

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, inner=self._inner.specialise_within(inputs, self.width))

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        fronts = min(map(len, streams))
        out: list[Value] = []
        for start in range(fronts - self.width + 1):
            (results,) = self._inner.denote(tuple(s[start : start + self.width] for s in streams))
            out.extend(results[-1:])
        return (out,)

    # --- operation: the last fronts, and the inner processor run over them ---------------------------------

    @cached_property
    def _fold(self) -> CumulateWindow | None:
        """The incremental fold in place of running the inner processor anew, if there is one."""
        return fold_of(self.width, self._inner)

    @cached_property
    def copies(self) -> bool:
        return self.width > 1 and associative(self._inner) is None  # otherwise there is less work than stepping copies

    def initial(self) -> State:
        return () if self._fold is None else self._fold.initial()

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> tuple[State, tuple[Maybe, ...]]:
        if each is not in_turn and self.copies:
            return self._step_copies(state, front, each)
        if state and isinstance(state[-1], _Copies):
            state = state[:-1]
        if self._fold is not None:
            return self._fold.step(state, front[0])
        fronts = (*state, front)
        if len(fronts) < self.width:
            return fronts, (NOTHING,)
        step = self._push
        inner, last = self._initial_copy, NOTHING
        for events in fronts:
            inner, (out,) = step(inner, events)
            last = last_event(out, last)
        return fronts[1:], self._emit(inner, last)

    def _emit(self, inner: State, last: Maybe) -> tuple[Maybe]:
        (final,) = self._inner.finish(inner)  # the end of the window is the end of the inner stream
        return (last_event(final, last),)

    def _step_copies(self, state: State, front: tuple[Any, ...], each: Each) -> tuple[State, tuple[Maybe, ...]]:
        """Make the step with a copy for each window that has started, last in the state."""
        copies = _Copies()
        if state and isinstance(state[-1], _Copies):
            state, copies = state[:-1], state[-1]
        copies = copies.push(self._inner, len(state) + 1, front, each)
        if len(state) + 1 < self.width:
            return (*state, front if self._fold is None else front[0], copies), (NOTHING,)
        if copies[0] is None:
            state, out = self.step(state, front)
        else:
            state, out = (*state[1:], front if self._fold is None else front[0]), self._emit(*copies[0])
        return (*state, _Copies(copies[1:])), out

    # --- in several places: each place evaluates every n-th window --------------------------------------------

    @property
    def undivided(self) -> str:
        return "" if self.copies else "there are no copies: it is folded, at the same cost for every width"

    def share(self, index: int, count: int) -> PlacePart:
        def step(state: State, front: tuple[Any, ...]) -> tuple[State, Answers]:
            number, past_events = state
            if number % count != index:
                fronts = (*past_events, front if self._fold is None else front[0])
                return (number + 1, fronts if len(fronts) < self.width else fronts[1:]), ()
            try:
                past_events, (out,) = self.step(past_events, front)
            except Exception as error:
                raise FailedCopy(number) from error
            return (number + 1, past_events), tuple(events_of(out))

        return (0, self.initial()), step

    def joint(self, count: int) -> PlacesJoined:
        return (), lambda state, answers: (state, (emission(next(filter(None, answers), ())),))

    # --- the finite machine ----------------------------------------------------------------------------------

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        inner = self._inner.machine(inputs, self.width)
        events, copies = self._events(inner, inputs), self._copies(inner, inputs)
        if leaves_checked_domain(inner, inputs):
            # copies compute on windows that may never fill, so they would report an escape too early
            return events
        if self.encoding == "auto":
            return events if bits(events) <= bits(copies) else copies
        return events if self.encoding == "events" else copies

    def stored(self, inputs: tuple[Domain, ...]) -> Stored | None:
        return sliding(self.width, self._inner, inputs)

    def _warm(self) -> Slot:
        return Slot("seen", Range(0, self.width - 1), 0)

    def _count(self, count: Any) -> Any:
        return ite(LT(count, self.width - 1), count + 1, count)

    def _events(self, inner: Machine, inputs: tuple[Domain, ...]) -> Machine:
        """Slots `event1` (the latest) .. `event<k-1>`; the inner processor is run over them at each step."""
        single = len(inputs) == 1
        fronts = inputs[0] if single else Tuple(inputs)
        slots = [Slot(f"event{i}", fronts, fronts.default) for i in range(1, self.width)]
        start = tuple(const(slot.initial, slot.domain) for slot in inner.slots)
        (result,) = self.results(inputs)

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            count, *past_events = state
            current, last = start, Maybe(FALSE, const(result.default, result))
            full = EQ(count, self.width - 1)
            with when(full):
                for events in reversed(past_events):
                    current, last = advance(inner, current, last, (events,) if single else events)
                current, last = advance(inner, current, last, front)
                last = end_window(inner, current, last)
            latest = front[0] if single else front
            return (self._count(count), *(latest, *past_events)[: self.width - 1]), (
                Maybe(both(full, last.present), last.value),
            )

        return Machine((self._warm(), *slots), step)

    def _copies(self, inner: Machine, inputs: tuple[Domain, ...]) -> Machine:
        """Slots `age<i>.*`: the inner state after i events; `output<i>.*`: its last output, where it may be silent."""
        (result,) = self.results(inputs)
        silent = not always_emits(inner, inputs)
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
            count, *rest = state
            n = len(own)
            copies = [fresh, *(tuple(rest[n * i : n * i + n]) for i in range(self.width - 1))]
            after, following, last = [], (), nothing
            for age, copy in enumerate(copies):
                before = Maybe(*copy[size:]) if silent else nothing
                following, last = advance(inner, copy[:size], before, front)
                advanced = (*following, *((last.present, last.value) if silent else ()))
                # copies that have not seen their first event yet stay as they are: the state is canonical
                after.append(tuple(ite(GE(count, age), new, old) for new, old in zip(advanced, fresh, strict=True)))
            last = end_window(inner, following, last)
            full = EQ(count, self.width - 1)
            flat = tuple(part for copy in after[: self.width - 1] for part in copy)
            return (self._count(count), *flat), (Maybe(both(full, last.present), last.value),)

        return Machine((self._warm(), *slots), step)

    def __str__(self) -> str:
        return f"Window({self.width}, {self.inner})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        total = Cumulate(f.ADD)
        return (cls(1, total), cls(2, total), cls(3, total, "events"), cls(3, total, "copies"), cls(2, cls(2, total)))


Copy = tuple[State, Maybe]
"""The state of an inner processor that has seen the last events, and its last emission."""


class _Copies(tuple[Copy | None, ...]):
    """The copy of each window that has started, the oldest first; None where it must be made anew from the events.

    That is the case if no copies were stepped when the window started, or if the copy has failed: an incomplete window
    emits nothing.
    """

    __slots__ = ()

    def push(self, inner: Processor, windows: int, front: tuple[Any, ...], each: Each) -> _Copies:
        """Advance all copies by a front, that of a new window included: `windows` in number."""
        step = stepping(inner, each)

        def advanced(state: State, last: Maybe) -> Copy | None:
            try:
                state, (out,) = step(state, front)
            except Exception:
                return None
            return state, last_event(out, last)

        copies = (*(None,) * (windows - 1 - len(self)), *self, (inner.initial(), NOTHING))
        results = each(advanced, [copy for copy in copies if copy])
        return _Copies(copy and next(results) for copy in copies)
