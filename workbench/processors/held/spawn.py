"""Temporal operators with a copy of a processor for each position (Event Stream Processing with Multiple Threads, 4.2).

    "creating one copy of the processor upon each new input event. This event is then pushed into all the current
    copies" - so a step costs as many inner steps as there are copies, which may run side by side.

The first event that a copy emits is the verdict on the position at which it started. `temporal` has the same operators
on a stream of truth values, where no copies are needed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Domain, Value
from workbench.core.form import Form
from workbench.core.kinds import Each, begin_stepping, in_turn
from workbench.core.pipeline import Pipeline
from workbench.core.processor import NOTHING, Processor, State, Stepped, Stream, emission
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.inner_processor import SingleHolder, check_verdicts, first_event, wrap
from workbench.processors.trim import Trim


@dataclass(frozen=True)
class GloballyOf(SingleHolder):
    """Emits false for each position from which on some copy of `inner` emits false first.

    `inner` is a processor, or a pipeline, with one output of truth values.
    """

    inner: Processor | Pipeline

    keyword: ClassVar[str] = "globally_of"
    symbol: ClassVar[str] = "□"
    breaks: ClassVar[bool] = False
    """The verdict of one copy that decides all positions before it."""
    shift: ClassVar[int] = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", wrap(self.keyword, self.inner))

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        inner = self._inner.specialise(inputs)
        check_verdicts(self.keyword, inner, inputs)
        return replace(self, inner=inner)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (BOOL,)

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return None

    copies: ClassVar[bool] = True

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        length = min(map(len, streams))
        copies = [self._inner.denote_open(tuple(stream[i:length] for stream in streams))[0] for i in range(length)]
        deciding = [i for i, verdicts in enumerate(copies) if verdicts and verdicts[0] is self.breaks]
        return ([self.breaks] * (max(deciding, default=-1) + 1),)

    def initial(self) -> State:
        return (0, ())

    def step(self, state: State, front: tuple[Any, ...], each: Each = in_turn) -> Stepped:
        """Step all copies. The state is the number of waiting positions, and the copies with their first positions."""
        waiting, copies = state
        following, decided = [], 0
        copies = (*copies, (waiting, self._initial_copy))
        push = self._push
        if each is not in_turn:
            push = begin_stepping(self._inner, each, [(before, front) for _, before in copies])
        for position, before in copies:
            after, (out,) = push(before, front)
            verdict = first_event(out)
            if not verdict.present:
                following.append((position, after))
            elif verdict.value is self.breaks:
                decided = position + 1
        if not decided:
            return (waiting + 1, tuple(following)), (NOTHING,)
        remaining = tuple([(position - decided, after) for position, after in following if position >= decided])
        return (waiting + 1 - decided, remaining), (emission((self.breaks,) * decided),)

    def refusal(self, form: Form) -> str:
        if form == Form.VALUES:
            return self._inner.refusal(form)
        plain = self.keyword.removesuffix("_of")
        return f"nothing bounds the number of copies; write {plain}(..., pending = 4) on the stream of its verdicts"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return cls(ApplyFunction(f.EVEN)), cls(Trim(1)), cls(ApplyFunction(f.LT))


@dataclass(frozen=True)
class EventuallyOf(GloballyOf):
    """Emits true for each position from which on some copy of `inner` emits true first."""

    keyword: ClassVar[str] = "eventually_of"
    symbol: ClassVar[str] = "◇"
    breaks: ClassVar[bool] = True
