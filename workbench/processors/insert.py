"""Insert: a given event in front of a stream (BeepBeep, `Insert`)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from workbench.core.domain import BOOL, Domain, Value, outside
from workbench.core.fields import fit_value
from workbench.core.ops import negate
from workbench.core.processor import Burst, Emission, Maybe, Processor, State, Stream, event
from workbench.core.term import Change, Entries, const, domain_of, is_symbolic, like
from workbench.core.typing_rules import literal_domain
from workbench.errors import check_count


@dataclass(frozen=True)
class Insert(Processor):
    """Emits `value` `times` times when the first event arrives, then that event and every later one."""

    value: Value
    times: int = 1

    keyword: ClassVar[str] = "insert"
    shifts: ClassVar[bool] = True
    prompt: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_count("the number of times of insert", self.times, least=0)

    @property
    def label(self) -> str:
        return f"{self.value} ⋯" if self.times == 1 else f"{self.times} × {self.value} ⋯"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        (domain,) = inputs
        if self.value not in domain:
            what = f"the inserted value {self.value!r} is not in the domain {domain}"
            raise outside(what, self.value, domain, "insert a value of the stream's domain")
        return replace(self, value=fit_value(domain, self.value))

    @property
    def shift(self) -> int:
        return -self.times

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.times + 1

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        (stream,) = streams
        return ([self.value] * self.times + list(stream) if stream else [],)

    def initial(self) -> State:
        return (False,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("started", BOOL),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        (started,), (latest,) = state, front
        if started is True:
            return state, (event(latest),)
        value = _beside(self.value, latest) if is_symbolic(front) else self.value
        slots = [*[Maybe(negate(started), value)] * self.times, event(latest)]
        return (True,), (Burst(slots) if self.times else slots[0],)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(1), cls(0, 2))


def _beside(value: Value, event: Any) -> Any:
    """Return a value as a term beside an event, whose domain may be narrower than that of its stream."""
    if isinstance(event, tuple) and not isinstance(event, Entries | Change):
        return like(event, map(_beside, value, event))
    domain = domain_of(event)
    return const(value, domain if value in domain else literal_domain(value))
