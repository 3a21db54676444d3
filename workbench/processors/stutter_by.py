"""StutterBy: every event as often as a second stream says (BeepBeep, `VariableStutter`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Bool, Domain, Integer, Range, Value
from workbench.core.ops import GT
from workbench.core.processor import Burst, Emission, Maybe, Processor, State, Stream, emission
from workbench.core.term import is_symbolic
from workbench.errors import Refused, TypingError


@dataclass(frozen=True)
class StutterBy(Processor):
    """Emits the event of `left` n times, where n is the event of `right`: not at all where n is 0 or less.

    `max_times` is the largest number in the domain of `right`, None where it is unbounded.
    """

    max_times: int | None = None

    keyword: ClassVar[str] = "stutter_by"
    streams: ClassVar[int] = 2

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        times = inputs[1]
        if isinstance(times, Bool) or not (times.numeric or str(times) == "anything"):
            raise TypingError(
                f"the second stream counts repetitions, and carries {times}", hint="give it whole numbers"
            )
        return type(self)(max(0, times.hi) if isinstance(times, Integer | Range) else None)

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:1]

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.max_times

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([value for value, times in zip(*streams, strict=False) for _ in range(times)],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        value, times = front
        if not is_symbolic(front):
            return state, (emission([value] * times),)
        if self.max_times is None:
            raise Refused(
                "stutter_by can emit any number of events for one event",
                hint="limit the repetitions by a finite type, like 0..3",
            )
        slots = [Maybe(GT(times, i), value) for i in range(self.max_times)]
        return state, (slots[0] if self.max_times == 1 else Burst(slots),)

    def __str__(self) -> str:
        return "StutterBy"
