"""Settings: how a question about a pipeline, or about rules, is decided."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Literal, ParamSpec, TypeVar

from workbench.core.domain import FLOAT, Integer, ModelScope, Overflowing, SomeFloats
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.errors import DomainError, InputError, WorkbenchError, refuse_unknown
from workbench.ir.variable_contents import DEFAULT_CAPACITY
from workbench.processors.held.group import flatten
from workbench.verify.ask.abstraction import abstract_calls
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.scope import LARGEST_N, SMALLEST_N, Adjustable, numbers_for, power_of_two, texts_of

if TYPE_CHECKING:
    from workbench.language import PropertySyntax
    from workbench.tesla.model.build import RuleBounds

P = ParamSpec("P")
R = TypeVar("R")
MORE = (2, 4, 8, 16, 32)
"""Factors by which larger models multiply the initial capacity of queues."""
GROWING = 5.0
"""Seconds for models with larger bounds than the initial ones."""


_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "q": ((int, Mapping), "a number of events, or one for each queue"),
    "n": ((int,), "a whole number"),
    "environment": ((Environment,), 'an environment: wb.Environment("one")'),
    "seconds": ((Real, type(None)), "a number of seconds, from 0 on"),
    "memory_mb": ((Real, type(None)), "a number of megabytes, from 0 on"),
    "texts": ((list, tuple), "a list of texts"),
    "floats": ((tuple, type(None)), "the least and the greatest number: (0, 6)"),
    "grow": ((Real,), "a number of seconds, from 0 on"),
    "abstract": ((list, tuple), "a list of names of pipelines or calls"),
}
"""For each setting that has no names to choose from: the types of its values, and words for them."""


@dataclass(frozen=True)
class Settings:
    """The settings of a check.

    Parameters
    ----------
    q: capacity of every queue in events, or per queue name; default 2, and more if the verdict says little (`grow`).
    n: size of the integer domain 0..n-1; default 4, and more if constants need it (`Problem.fitting`).
    integers: the behaviour of integer arithmetic at the ends of the domain.
    texts: values of `str`, beside the texts that a pipeline names; empty: n letters, at most 26.
    floats: the least and the greatest of the whole numbers that stand for `float`; None: those around the constants
        that floats are compared with; without constants, nothing stands for `float`.
    environment: the assumptions about the inputs.
    engine: `auto`, `all`, or the name of an engine (`decide.table.engine_rows`).
    seconds, memory_mb: limits of one call and everything that it starts: the growth of this process, and what an engine
        may use of the rest. None: no limit.
    count_states: also report the number of reachable states.
    rules: bounds of the models of rules in pipelines, beside `q`; None: the defaults.
    grow: seconds for larger models if the default bounds leave the verdict weak; 0: none.
    strict: give verdicts within bounds the exit code 3.
    strict_vacuity: give vacuous verdicts that exit code, too.
    vacuity: whether to look for vacuity; not if the question is only about the values of a domain.
    abstract: the called pipelines, or single calls, that are replaced by their contracts, for properties that a step of
        a run can break; other properties are decided with the bodies (`ask.abstraction`).
    """

    q: int | Mapping[str, int] = Adjustable(DEFAULT_CAPACITY)
    n: int = Adjustable(SMALLEST_N)
    integers: Overflowing | Literal["modular", "saturating", "checked"] = Overflowing.MODULAR
    environment: Environment = field(default_factory=Environment)
    engine: str = "auto"
    seconds: float | None = None
    memory_mb: int | None = None
    count_states: bool = False
    rules: RuleBounds | None = None
    texts: Sequence[str] = ()
    floats: tuple[int, int] | None = None
    grow: float = GROWING
    strict: bool = False
    strict_vacuity: bool = False
    vacuity: bool = True
    abstract: Sequence[str] = ()

    def __post_init__(self) -> None:
        refuse_unknown("arithmetic", self.integers, Overflowing)
        for name, (kinds, words) in _KINDS.items():
            value = getattr(self, name)
            negative = isinstance(value, Real) and name != "n" and value < 0  # the domain checks N itself
            if not isinstance(value, kinds) or isinstance(value, bool) or negative:
                raise InputError(f"the setting {name} cannot be {value!r}", hint=f"expected {words}")
        if self.abstract and self.environment.arrivals != "free":
            what = f"inputs cannot be {self.environment.arrivals} where contracts replace calls"
            raise InputError(what, hint="the outputs of such a call come at any step: let the inputs be free, too")

    @property
    def domain(self) -> Integer:
        """The domain that `int` stands for."""
        return Integer(int(self.n), Overflowing(self.integers))

    def fit(self, *programs: Program, properties: Sequence[PropertySyntax | None] = ()) -> Settings:
        """Return settings with the N and floats that programs and properties need, unless the user chose them."""
        n, floats = numbers_for(programs, properties)
        settings = replace(self, floats=floats) if self.floats is None else self
        while isinstance(self.n, Adjustable):
            settings = replace(settings, n=max(settings.n, n))
            try:
                settings.over(*programs)
            except DomainError as error:  # the constant is not compared with anything
                if error.needs is not None and settings.n < error.needs <= LARGEST_N:
                    n = Adjustable(power_of_two(error.needs), f"there is a constant {error.needs - 1}")
                    continue
            except WorkbenchError:  # the caller will meet the same error
                pass
            break
        return settings

    def larger(self) -> Iterator[Settings]:
        """Yield the same settings with longer and longer queues, unless the user chose their capacity."""
        if isinstance(self.q, Adjustable):
            yield from (replace(self, q=Adjustable(self.q * more)) for more in MORE)

    def scope(self, *programs: Program) -> ModelScope:
        """Return the domains that stand for unbounded types in a model of these programs."""
        floats = FLOAT if self.floats is None else SomeFloats(*self.floats)
        letters = SMALLEST_N if isinstance(self.n, Adjustable) else self.n
        return ModelScope(self.domain, texts_of(programs, self.texts, letters), floats)

    def flat(self, program: Program) -> Pipeline:
        """Return the pipeline over finite domains, with its groups expanded."""
        return flatten(self.over(program)[0])

    def over(self, *programs: Program) -> tuple[Pipeline, ...]:
        """Return the pipelines over finite domains, as they are in a model of all of them, with the calls replaced."""
        resolved = self._resolve(*programs)
        return tuple(abstract_calls(each, self.abstract) for each in resolved) if self.abstract else resolved

    def _resolve(self, *programs: Program) -> tuple[Pipeline, ...]:
        if not any(each.pipeline.clocks for each in programs):
            scope = self.scope(*programs)
            return tuple(each.pipeline.resolve(scope) for each in programs)
        from workbench.tesla.model.build import RuleBounds
        from workbench.tesla.model.pipeline_models import model_pipelines

        bounds = self.rules or RuleBounds()
        if isinstance(self.q, Adjustable):
            bounds = replace(bounds, growth=max(self.q // DEFAULT_CAPACITY, 1))
        elif isinstance(self.q, int):
            bounds = replace(bounds, capacity=self.q)
        still = bounds.still or self.environment.row.together
        return model_pipelines(programs, self.domain, bounds, still=still)


def refuse_loose_settings(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function that refuses settings as keywords of its own with a hint."""

    @wraps(function)
    def call(*args: P.args, **options: P.kwargs) -> R:
        if loose := options.keys() & Settings.__dataclass_fields__.keys():
            settings = ", ".join(f"{name}={options[name]!r}" for name in options if name in loose)
            raise InputError(
                f"{function.__name__} has no option '{min(loose)}'", hint=f"write settings=wb.Settings({settings})"
            )
        return function(*args, **options)

    return call


def require_settings(settings: Settings | None) -> Settings:
    """Return the settings, or the default ones for None; InputError for anything else."""
    if settings is None:
        return Settings()
    if not isinstance(settings, Settings):
        raise InputError(f"expected settings, not {settings!r}", hint='write wb.Settings(q=3, engine="nusmv")')
    return settings
