"""Cumulate: the successive values of a binary function (TIME 2021, section 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

from workbench.core import function as f
from workbench.core.determinism import Determinism
from workbench.core.domain import ANY, BOOL, INT, Bool, Domain, Range, SomeFloats, Value, outside
from workbench.core.fields import fit_value
from workbench.core.function import TypedFunction, fits
from workbench.core.kinds import Functional
from workbench.core.ops import PLAIN, WORD_HI, as_term, restrict_to_range
from workbench.core.processor import Maybe, State, Stream, event, run_in_range, specialise_function
from workbench.core.term import is_symbolic
from workbench.core.typing_rules import unify
from workbench.errors import PipelineError, TypingError

HINT = (
    "write cumulate(x, {0}, {1}, int), whose numbers in a check -N and --int set; or declare a range, as in "
    "cumulate(x, {0}, {1}, 0..1000): a run that leaves it ends, and check shows whether any does; or bound the total "
    "by a window, or by a function: function add(total, x) = min(total + x, 100); then cumulate(x, add, 0, 0..100)"
)
"""The advice for a cumulation that leaves its range, formatted with its function and start."""
FURTHEST = 4096
"""Maximum number of events for which the accumulated range is computed."""


@dataclass(frozen=True)
class Cumulate(Functional):
    """Emits `f(previous output, event)`, where the first previous output is `start`.

    Parameters
    ----------
    function: of two arguments, the accumulated value first.
    start: the initial value; None takes the function's own (0 for +, 1 for *, true for and, false for or,
        the domain's ends for min and max).
    domain: of the accumulated values; None takes the input's where `start` belongs to it, else that of `start`.
    """

    start: Value | None = None
    domain: Domain | None = None
    integers: Domain = INT

    keyword: ClassVar[str] = "cumulate"
    symbol: ClassVar[str] = "Σ"
    lockstep: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self._function.arity != 2:
            raise PipelineError(
                f"cumulate needs a function of two arguments, '{self._function}' has {self._function.arity}"
            )

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return self._specialise(inputs, checked=isinstance(self.domain, Range))

    def _specialise(self, inputs: tuple[Domain, ...], *, checked: bool) -> Self:
        (events,) = inputs
        domain = self.domain or self._domain(events)
        start = self._start(domain)
        if start is None:
            raise PipelineError(f"'{self._function}' has no start value", hint="give one: cumulate(x, function, start)")
        if start not in domain:
            what = f"the start value {start!r} is not in {domain}"
            hint = "choose a start value in the domain"
            if isinstance(domain, SomeFloats):
                hint = f"floats are whole numbers in a check, here {domain}: --values float=LOW..HIGH gives others"
            raise outside(what, start, domain, hint)
        function = specialise_function(self.function, (domain, events)).into(domain, checked=checked)
        if not fits(function.result, domain):
            raise TypingError(
                f"'{function.name}' turns {domain} and {events} into {function.result}, "
                f"which does not fit the accumulated {domain}{self._describe_growth(function.result, events)}",
                hint=HINT.format(self._function, start)
                if isinstance(domain, Range)
                else "the function must return values of the accumulator's domain",
            )
        return replace(self, function=function, start=fit_value(domain, start), domain=domain)

    def specialise_within(self, inputs: tuple[Domain, ...], horizon: int) -> Self:
        (events,) = inputs
        domain = self._find_reached_range(events, horizon)
        if domain is None or (self.domain is not None and not fits(domain, self.domain)):
            return self._specialise(inputs, checked=False)
        domain = self.domain or domain
        function = specialise_function(self.function, (domain, events))
        return replace(self, function=function, start=self._start(domain), domain=domain)

    def _describe_growth(self, reached: Domain, events: Domain) -> str:
        """Describe a range that gets wider with every event; empty if it does not."""
        if not isinstance(reached, Range):
            return ""
        further = specialise_function(self.function, (reached, events)).result
        return f", and grows with every event: {further} is next" if not fits(further, reached) else ""

    def _find_reached_range(self, events: Domain, horizon: int) -> Domain | None:
        """Return the range that `horizon` events accumulate; None where none is needed, or it is too large."""
        domain = self.domain or self._domain(events)
        start = self._start(domain)
        if not (isinstance(events, Range) and isinstance(domain, Range)) or start is None:
            return None
        if start in domain and fits(specialise_function(self.function, (domain, events)).into(domain).result, domain):
            return None
        reached: Domain = Range(start, start)
        for _ in range(min(horizon, FURTHEST)):
            wider = unify("", reached, specialise_function(self.function, (reached, events)).result)
            if not isinstance(wider, Range) or max(-wider.lo, wider.hi) > WORD_HI:
                return None
            if wider == reached:
                return reached
            reached = wider
        return reached if horizon <= FURTHEST else None

    def _start(self, domain: Domain) -> Value | None:
        return self._function.start_in(domain) if self.start is None else SomeFloats.number_for(domain, self.start)

    def _domain(self, events: Domain) -> Domain:
        start = self._start(events)
        if isinstance(start, bool) and not isinstance(events, Bool):
            return BOOL
        if isinstance(start, int) and not isinstance(start, bool) and isinstance(events, Bool):
            return self.integers
        return events

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        assert self.domain is not None
        return (self.domain,)

    @property
    def determinism(self) -> Determinism:
        assert self.domain is not None
        return Determinism.TOLERANCE if self._function.is_rounding(self.domain) else Determinism.EXACT

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Value], ...]:
        out: list[Value] = []
        for value in streams[0]:
            out.append(self.function(out[-1] if out else self.start, value))
        return (out,)

    def initial(self) -> State:
        return (self.start,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        return (("total", self.results(inputs)[0]),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        if not self._is_closed and is_symbolic((state, front)):
            assert self.domain is not None
            total = restrict_to_range(self._function(state[0], front[0]), self.domain)  # as narrow as it can be
            return (total,), (event(total),)
        total = (self.function if is_symbolic((state, front)) else self.on_total)(state[0], front[0])
        if type(total) not in PLAIN and is_symbolic(total) and self.domain is not None:
            total = as_term(total, self.domain)
        return (total,), (event(total),)

    @property
    def on_total(self) -> Callable[..., Any]:
        return self._compute

    @cached_property
    def _compute(self) -> Callable[..., Any]:
        return run_in_range(self.function, f"the total of {self.domain} gets") or self.function

    @property
    def has_obligations(self) -> bool:
        return isinstance(self.function, TypedFunction) and self.function.obliged

    @cached_property
    def _is_closed(self) -> bool:
        """Whether its domain is closed under any number of events, and not only those of a window."""
        return not isinstance(self.function, TypedFunction) or fits(self.function.result, self.domain or ANY)

    def __str__(self) -> str:
        return f"Cumulate({self._function.name})"

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (*map(cls, (f.ADD, f.MUL, f.AND, f.OR, f.MIN, f.MAX)), cls(f.SUB, 1))
