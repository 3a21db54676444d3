"""CombineLatest: a function of the latest event of each input (Zimmerman and Chandy: no event means "as before")."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.domain import BOOL, Domain, Value, outside
from workbench.core.fields import fit_value
from workbench.core.kinds import Functional, Listening, latest
from workbench.core.ops import conjunction
from workbench.core.processor import NOTHING, Machine, Maybe, Slot, State, Stream, event, specialise_function
from workbench.errors import PipelineError


@dataclass(frozen=True)
class CombineLatest(Functional, Listening):
    """Applies `function` to the latest event of each input, whenever one of them brings an event.

    It is silent until every input has carried an event, unless there is a start value. Values are those after the step:
    events of one step are one change.

    Parameters
    ----------
    function: a function of as many arguments as there are inputs, two or more.
    start: the latest event of each input before its first one: a tuple with one value for each input, or one for all.
    """

    start: Value | None = None

    keyword: ClassVar[str] = "combine_latest"
    symbol: ClassVar[str] = "⇉"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._function.arity < 2:
            raise PipelineError(
                f"combine_latest needs a function of at least two arguments, '{self._function}' has"
                f" {self._function.arity}",
                hint="use apply for a function of one argument",
            )

    @property
    def in_arity(self) -> int:
        return self._function.arity

    @property
    def lag(self) -> int | None:
        return 0 if self.start is None else None

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, function=specialise_function(self.function, inputs), start=self._starts(inputs))

    def _starts(self, inputs: Sequence[Domain]) -> tuple[Value, ...] | None:
        """Return a start value for each input."""
        start = self.start
        if start is None:
            return None
        whole = (start,) * len(inputs)
        each = start if isinstance(start, tuple) and len(start) == len(inputs) else whole
        if _odd(each, inputs) is not None and _odd(whole, inputs) is None:
            each = whole  # streams of tuples
        odd = _odd(each, inputs)
        if odd is not None:
            what = f"the start value {each[odd]!r} is not in {inputs[odd]}, the domain of '{self.ports[odd]}'"
            hint = "give one value for all inputs, or one for each: combine_latest(x, y, f, (0, true))"
            raise outside(what, each[odd], inputs[odd], hint)
        return tuple(map(fit_value, inputs, each))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return (self._typed.result,)

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        before: list[Maybe] = [NOTHING] * self.in_arity if self.start is None else [event(v) for v in self.start]
        columns = [[each[i] for each in streams[0]] for i in range(self.in_arity)]
        filled = [
            list(accumulate(column, lambda old, new: new if new.present else old, initial=first))[1:]
            for column, first in zip(columns, before, strict=True)
        ]
        fronts = zip(*filled, strict=True)
        return ([self.function(*(m.value for m in front)) for front in fronts if all(m.present for m in front)],)

    def initial(self) -> State:
        return (False, None) * self.in_arity if self.start is None else tuple(self.start)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        slots: list[Slot] = []
        for i, domain in enumerate(inputs, 1):
            if self.start is None:
                slots += [Slot(f"seen{i}", BOOL, False), Slot(f"latest{i}", domain, domain.default)]
            else:
                slots.append(Slot(f"latest{i}", domain, self.start[i - 1]))
        return Machine(tuple(slots), self.step)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        if self.start is not None:
            values = tuple(latest(event(old), new).value for old, new in zip(state, front, strict=True))
            return values, (event(self.function(*values)),)
        held = [latest(Maybe(*state[2 * i : 2 * i + 2]), new) for i, new in enumerate(front)]
        ready = conjunction(each.present for each in held)
        output = NOTHING if ready is False else Maybe(ready, self.function(*(each.value for each in held)))
        return tuple(part for each in held for part in each), (output,)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return cls(f.ADD), cls(f.LT), cls(f.IF), cls(f.SUB, 1), cls(f.AND, (True, False))


def _odd(values: Sequence[Value], domains: Sequence[Domain]) -> int | None:
    """Return the index of the first of these values that is not in its domain."""
    return next((i for i, (v, d) in enumerate(zip(values, domains, strict=True)) if v not in d), None)
