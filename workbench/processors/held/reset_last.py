"""ResetLast: any processor over batches of a stream (BeepBeep, `ResetLast`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Anything, Bool, Domain, Value
from workbench.core.kinds import Each, in_turn, keeps_copies, stepping
from workbench.core.ops import both, ite
from workbench.core.pipeline import Pipeline
from workbench.core.processor import NOTHING, Machine, Maybe, Processor, Slot, State, Stepped, Stream
from workbench.core.term import const
from workbench.errors import TypingError
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.inner_processor import SingleHolder, advance, end_window, last_event, wrap
from workbench.processors.trim import Trim


@dataclass(frozen=True)
class ResetLast(SingleHolder):
    """Emits the last event that `inner` emits on each batch, which ends with a front at which the last input is true.

    The end of a batch is the end of the inner processor's stream, as for a window. A batch that is incomplete when the
    stream ends yields nothing.

    `inner` is a processor, or a pipeline, with one output.
    """

    inner: Processor | Pipeline

    keyword: ClassVar[str] = "reset_last"
    splits: ClassVar[bool] = True
    symbol: ClassVar[str] = "↻"

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", wrap(self.keyword, self.inner))

    @property
    def in_arity(self) -> int:
        return self._inner.in_arity + 1

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        *events, over = inputs
        if not isinstance(over, Bool | Anything):
            raise TypingError(f"the last stream of '{self.keyword}' carries {over}, not bool: whether a batch ends")
        return replace(self, inner=self._inner.specialise(tuple(events)))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return self._inner.results(inputs[:-1])

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        out: list[Value] = []
        start = end = 0
        for i, (*_, over) in enumerate(zip(*streams, strict=False)):
            end = i + 1
            if over:
                (events,) = self._inner.denote(tuple(stream[start : i + 1] for stream in streams[:-1]))
                out.extend(events[-1:])
                start = end
        self._inner.denote_open(tuple(stream[start:end] for stream in streams[:-1]))  # it may raise an error already
        return (out,)

    def initial(self) -> State:
        return (self._initial_copy, NOTHING)

    @property
    def copies(self) -> bool:
        return keeps_copies(self._inner)

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        inner, last = state
        push = self._push if each is in_turn else stepping(self._inner, each)
        inner, (out,) = push(inner, front[:-1])
        last = last_event(out, last)
        if not front[-1]:
            return (inner, last), (NOTHING,)
        (final,) = self._inner.finish(inner)
        return (self._initial_copy, NOTHING), (last_event(final, last),)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        inner = self._inner.machine(inputs[:-1], horizon)
        (result,) = self.results(inputs)
        slots = (*inner.slots, Slot("emitted", BOOL, False), Slot("last", result, result.default))
        fresh = tuple(const(slot.initial, slot.domain) for slot in slots)

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
            *before, present, value = state
            after, last = advance(inner, tuple(before), Maybe(present, value), front[:-1])
            over, final = front[-1], end_window(inner, after, last)
            following = ite(over, fresh, (*after, last.present, last.value))
            return following, (Maybe(both(over, final.present), final.value),)

        return Machine(tuple(slot._replace(name=f"batch.{slot.name}") for slot in inner.slots) + slots[-2:], step)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return cls(Cumulate(f.ADD)), cls(Trim(1)), cls(CountDecimate(2, last=True))
