"""Filter: keep the events at which a Boolean stream is true.

Sources: TIME 2021, section 2; with several streams of data, Event Stream Processing with Multiple Threads, 3.2: "the
events are let through on its n - 1 outputs, if the corresponding event of input trace n is true".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

from workbench.core.domain import Anything, Bool, Domain, Value
from workbench.core.processor import Maybe, Processor, State, Stream
from workbench.core.typing_rules import advise_condition
from workbench.errors import TypingError, check_count


@dataclass(frozen=True)
class Filter(Processor):
    """Emits the i-th event of its first input if the i-th event of its second is true.

    The last of several inputs is the condition; each of the others has an output, on which its events are emitted.

    Parameters
    ----------
    ways: number of streams whose events are let through.
    """

    ways: int = 1

    keyword: ClassVar[str] = "filter"
    symbol: ClassVar[str] = "▽"
    streams: ClassVar[int] = 2

    def __post_init__(self) -> None:
        check_count("the number of streams of filter", self.ways, least=1)

    @property
    def in_arity(self) -> int:
        return self.ways + 1

    @property
    def out_arity(self) -> int:
        return self.ways

    @property
    def ports(self) -> tuple[str, ...]:
        data = ("data",) if self.ways == 1 else tuple(f"data{i}" for i in range(1, self.ways + 1))
        return (*data, "condition")

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        if not isinstance(inputs[-1], Bool | Anything):
            raise TypingError(
                f"the condition of a filter is a bool stream, not {inputs[-1]}", hint=advise_condition(inputs[-1])
            )
        return self

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return inputs[:-1]

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        *data, condition = streams
        length = min(map(len, streams))
        return tuple(
            [value for value, keep in zip(each[:length], condition[:length], strict=True) if keep] for each in data
        )

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        *values, keep = front
        return state, tuple(Maybe(keep, value) for value in values)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(2))
