"""History: any processor, started afresh for every event on the last n events only.

It is the specification of pipelining (Event Stream Processing with Multiple Threads, section 4.4, and the
generalisation to a bounded number of past events that it names): copies that start afresh can run at the same time. A
processor may be pipelined if it is equivalent to its `History`, which `verify.analyses.certify` checks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import Domain, Range, Value
from workbench.core.fields import Tuple
from workbench.core.ops import GE, MIN, ite
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Emission, Machine, Processor, Slot, State, Stream
from workbench.core.strict_values import when
from workbench.core.term import const
from workbench.errors import check_count
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.freeze import Freeze
from workbench.processors.held.group import Group
from workbench.processors.held.inner_processor import SingleHolder, as_state, computes
from workbench.processors.keep_last import KeepLast
from workbench.processors.trim import Trim


@dataclass(frozen=True)
class History(SingleHolder):
    """The emission of `inner` on each event when it has seen only the last `events` fronts, this one included.

    Parameters
    ----------
    events: at least 1; with 1, `inner` sees each front alone.
    inner: a processor, or a pipeline.
    """

    events: int
    inner: Processor | Pipeline

    symbol: ClassVar[str] = "↺"

    __call__: ClassVar[Any]  # one stream or several: the inner processor decides

    def __post_init__(self) -> None:
        check_count("the number of events of a history", self.events, least=1)
        if isinstance(self.inner, Pipeline):
            object.__setattr__(self, "inner", Group(self.inner))

    @property
    def out_arity(self) -> int:
        return self._inner.out_arity

    @property
    def finishes(self) -> int:
        return self._inner.finishes

    @property
    def label(self) -> str:
        return f"↺{self.events} {self._inner.label}"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, inner=self._inner.specialise(inputs))

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self._inner.burst(inputs)

    # --- meaning ---

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        fronts = list(zip(*streams, strict=False))
        out = self.denote_open(streams)
        last = self._streams(fronts[-self.events :])
        for stream, ended, still in zip(out, self._inner.denote(last), self._inner.denote_open(last), strict=True):
            stream += ended[len(still) :]
        return out

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        fronts = list(zip(*streams, strict=False))
        out: tuple[list[Value], ...] = tuple([] for _ in range(self.out_arity))
        for end in range(1, len(fronts) + 1):
            window = fronts[max(0, end - self.events) : end]
            before = self._inner.denote_open(self._streams(window[:-1]))
            for stream, old, new in zip(out, before, self._inner.denote_open(self._streams(window)), strict=True):
                stream += new[len(old) :]
        return out

    def _streams(self, fronts: list[tuple[Value, ...]]) -> tuple[Stream, ...]:
        return tuple([front[i] for front in fronts] for i in range(self.in_arity))

    # --- operation: the last fronts ---

    @property
    def _past_count(self) -> int:
        """The number of past fronts in the state: one more if the inner processor emits at the end of the stream."""
        return self.events if self._inner.finishes else self.events - 1

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        fronts = (*state, front)
        inner = self._inner.initial()
        for events in fronts[-self.events : -1]:
            inner, _ = self._inner.step(inner, events)
        _, out = self._inner.step(inner, front)
        return fronts[-self._past_count :] if self._past_count else (), out

    def finish(self, state: State) -> tuple[Emission, ...]:
        inner = self._inner.initial()
        for events in state:
            inner, _ = self._inner.step(inner, events)
        return self._inner.finish(inner)

    # --- the finite machine ---

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        inner = self._inner.machine(inputs, self.events + 1)
        single = len(inputs) == 1
        fronts = inputs[0] if single else Tuple(inputs)
        past_count = self._past_count
        slots = [Slot(f"event{i}", fronts, fronts.default) for i in range(1, past_count + 1)]  # event1 is the latest
        if past_count:
            slots.insert(0, Slot("seen", Range(0, past_count), 0))
        start = tuple(const(slot.initial, slot.domain) for slot in inner.slots)

        def after(past: State, limit: int) -> State:
            """Return the inner state after the last events, `limit` at most."""
            current: State = start
            count, *events = past
            for age in range(min(limit, past_count), 0, -1):
                front = (events[age - 1],) if single else events[age - 1]
                with when(GE(count, age)):
                    following, out = inner.step(current, front)
                    computes(following, *out)
                typed = (as_state(new, slot) for new, slot in zip(following, inner.slots, strict=True))
                current = tuple(ite(GE(count, age), new, old) for new, old in zip(typed, current, strict=True))
            return current

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            following, out = inner.step(after(state, self.events - 1) if past_count else start, front)
            computes(following, *out)
            if not past_count:
                return (), out
            count, *events = state
            latest = front[0] if single else front
            return (MIN(count + 1, past_count), *(latest, *events)[:past_count]), out

        finish = inner.finish

        def finishing(state: State) -> tuple[Emission, ...]:
            assert finish is not None
            return finish(after(state, self.events))

        return Machine(tuple(slots), step, finishing if finish else None)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (
            cls(1, ApplyFunction(f.EVEN)),
            cls(1, Cumulate(f.ADD)),
            cls(2, Cumulate(f.ADD)),
            cls(3, Trim(2)),
            cls(2, Freeze()),
            cls(2, KeepLast()),
        )
