"""Unpack: the fields of a tuple as events of their own (BeepBeep, `Lists.Unpack`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Anything, Domain, Value
from workbench.core.fields import Tuple
from workbench.core.function import same_domain
from workbench.core.processor import Burst, Emission, Processor, State, Stream, emission, event
from workbench.core.term import is_symbolic
from workbench.errors import TypingError


@dataclass(frozen=True)
class Unpack(Processor):
    """Emits the fields of each tuple or record one after the other, in the step in which it arrives.

    An input of any Python objects may carry collections of any length.
    """

    keyword: ClassVar[str] = "unpack"
    symbol: ClassVar[str] = "▤→"

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        (input_domain,) = inputs
        if isinstance(input_domain, Anything):
            return self
        if not isinstance(input_domain, Tuple):
            raise TypingError(f"unpack takes apart tuples and records, the input carries {input_domain}")
        first, *others = input_domain.fields
        odd = next((domain for domain in others if not same_domain(first, domain)), None)
        if odd is not None:
            raise TypingError(
                f"the fields of {input_domain} carry {first} and {odd}, and become events of one stream",
                hint="cast them to one domain, or take a field with x.name",
            )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        (input_domain,) = inputs
        return (input_domain.fields[0],) if isinstance(input_domain, Tuple) else inputs

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        (input_domain,) = inputs
        return len(input_domain.fields) if isinstance(input_domain, Tuple) else None

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        return ([value for collection in streams[0] for value in collection],)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        (values,) = front
        if is_symbolic(values) and len(values) > 1:
            return state, (Burst(event(value) for value in values),)
        return state, (emission(values if isinstance(values, tuple) else list(values)),)
