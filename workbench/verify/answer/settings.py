"""Settings: how a question about a pipeline, or about rules, is asked and decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from workbench.core.domain import FLOAT, Integer, ModelScope, Overflowing, SomeFloats
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.errors import DomainError, WorkbenchError, refuse_unknown
from workbench.ir.held import DEFAULT_CAPACITY
from workbench.processors.held.group import flatten
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.scope import LARGEST_N, SMALLEST_N, Adjustable, numbers_for, power_of_two, texts_of

if TYPE_CHECKING:
    from workbench.language import PropertySyntax
    from workbench.tesla.model.build import RuleBounds

MORE = (2, 4, 8, 16, 32)
"""How many times the capacity of queues that a check begins with larger models have."""
GROWING = 5.0
"""Seconds for models with larger bounds than those a check begins with."""


@dataclass(frozen=True)
class Settings:
    """How a check is made.

    Parameters
    ----------
    q: capacity of every queue in events, or per queue name; if not given, 2, and more where that says little (`grow`).
    n: size of the integer domain 0..n-1; if not given, 4, and more where constants need it (`fitted`).
    integers: what integer arithmetic does at the ends of the domain.
    texts: what stands for `str`, beside the texts that a pipeline names; empty: n letters, at most 26.
    floats: the least and the greatest of the whole numbers that stand for `float`; None: those around the constants
        that floats are compared with, else nothing does.
    environment: what is assumed of the inputs.
    engine: `auto`, `all`, or the name of one (`deciders.NAMES`).
    seconds, memory_mb: limits of one call, with all that it does: by how much this process may grow, and what an engine
        may have of what is left of that. None: none.
    count_states: also report the number of reachable states.
    rules: what bounds the models of rules in pipelines, beside `q`; None: what is usual.
    grow: seconds for larger models where the bounds leave little to say and nobody has chosen them; 0: none.
    strict: verdicts within bounds have the exit code 3.
    strict_vacuity: vacuous ones, too.
    vacuity: whether it is looked for at all; not where the values of a domain are all that is asked about.
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

    def __post_init__(self) -> None:
        refuse_unknown("arithmetic", self.integers, Overflowing)

    @property
    def domain(self) -> Integer:
        """The domain that `int` stands for."""
        return Integer(int(self.n), Overflowing(self.integers))

    def fit(self, *programs: Program, syntax: PropertySyntax | None = None) -> Settings:
        """These, with the N and floats that these programs, and a property, need where nobody has chosen any."""
        n, floats = numbers_for(programs, syntax)
        found = replace(self, floats=floats) if self.floats is None else self
        while isinstance(self.n, Adjustable):
            found = replace(found, n=max(found.n, n))
            try:
                found.over(*programs)
            except DomainError as error:  # of a constant that nothing is compared with
                if error.needs is not None and found.n < error.needs <= LARGEST_N:
                    n = Adjustable(power_of_two(error.needs), f"there is a constant {error.needs - 1}")
                    continue
            except WorkbenchError:  # as who asks will find
                pass
            break
        return found

    def larger(self) -> Iterator[Settings]:
        """The same with longer and longer queues, where nobody has chosen their capacity."""
        if isinstance(self.q, Adjustable):
            yield from (replace(self, q=Adjustable(self.q * more)) for more in MORE)

    def scope(self, *programs: Program) -> ModelScope:
        """What stands for the types without a bound in a model of these programs."""
        floats = FLOAT if self.floats is None else SomeFloats(*self.floats)
        letters = SMALLEST_N if isinstance(self.n, Adjustable) else self.n
        return ModelScope(self.domain, texts_of(programs, self.texts, letters), floats)

    def flat(self, program: Program) -> Pipeline:
        """The pipeline over finite domains, its groups in place."""
        return flatten(self.over(program)[0])

    def over(self, *programs: Program) -> tuple[Pipeline, ...]:
        """The pipelines over finite domains, those of a model in which they are together."""
        if not any(each.pipeline.clocks for each in programs):
            scope = self.scope(*programs)
            return tuple(each.pipeline.resolve(scope) for each in programs)
        from workbench.tesla.model.build import RuleBounds
        from workbench.tesla.model.in_pipelines import model_pipelines

        bounds = self.rules or RuleBounds()
        if isinstance(self.q, Adjustable):
            bounds = replace(bounds, growth=max(self.q // DEFAULT_CAPACITY, 1))
        elif isinstance(self.q, int):
            bounds = replace(bounds, room=self.q)
        still = bounds.still or self.environment.row.together
        return model_pipelines(programs, self.domain, bounds, still=still)
