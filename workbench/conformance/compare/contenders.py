"""Contenders: executables to compare with the reference executor, and the numbers to compare them on.

The rule of this module: every backend that runs pipelines is compared, by its rows in the table `CONTENDERS`, else step
by step. One that cannot run a pipeline raises an error with the reason when it is built; that is a refusal, not a
failure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from workbench.conformance.compare.differential import Terms
from workbench.conformance.compare.executables import (
    Blocks,
    CompiledRun,
    Denoting,
    Executable,
    OnGpu,
    Pieces,
    Pulled,
    Running,
    Started,
    Streams,
)
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.conformance.compare.state_guard import Watched, foreign_processors
from workbench.conformance.compare.threaded import Plan, Scheduled, ScheduledFlow
from workbench.core.determinism import derive_determinism
from workbench.core.domain import Integer
from workbench.core.pipeline import Pipeline
from workbench.errors import (
    BeyondSmv,
    DomainError,
    EngineMissing,
    Overflow,
    Refused,
    TypingError,
    WorkbenchError,
    did_you_mean,
)
from workbench.executors.table import ALIASES, backend_row, backend_rows
from workbench.executors.threaded.certificate import Certificate
from workbench.processors.held.group import flatten
from workbench.verify.analyses.certify import certify_nodes

Capacities = Mapping[str, int]


@dataclass(frozen=True)
class Request:
    """The arguments from which a contender builds an executable."""

    pipeline: Pipeline
    capacities: Capacities = field(default_factory=dict)
    plan: Plan = field(default_factory=Plan)
    certificates: Mapping[str, Certificate] = field(default_factory=dict)


Make = Callable[[Request], Executable]


@dataclass(frozen=True)
class Contender:
    """A way to run a pipeline.

    Parameters
    ----------
    name: its name in reports.
    backend: the backend it belongs to, as options name it.
    make: builds the executable of a pipeline; raises an error if it refuses the pipeline.
    finite: whether it needs finite domains: `int` becomes a finite domain on both sides.
    capacities: the capacities of queues on both sides: none, the pipeline's own, or one for every queue.
    steps: whether it works in steps; else only the streams are compared, at the end if `ends`.
    ends: whether it runs only traces that end.
    complete: whether only traces with an event on every input in every step are of interest.
    threads: whether it follows the plan for threads that is drawn.
    reassociates: whether it may regroup additions and multiplications, so that the tolerance of contracts applies.
    share: the share of the examples that it gets, below 1 if it runs slowly.
    quick: its replacement where every example has another pipeline.
    """

    name: str
    backend: str
    make: Make
    finite: bool = False
    capacities: Literal["none", "own", "all"] = "own"
    steps: bool = True
    ends: bool = False
    complete: bool = False
    threads: bool = False
    reassociates: bool = False
    share: float = 1.0
    quick: Contender | None = None


LOOPS = Contender(
    "compiled, its loops in Python", "compiled", lambda r: Pieces(r.pipeline, r.capacities, machine=False)
)
CONTENDERS: Sequence[Contender] = (
    Contender("specification", "reference", lambda r: Denoting(r.pipeline), capacities="none"),
    Contender("pull", "reference", lambda r: Pulled(r.pipeline), capacities="none", steps=False, ends=True),
    Contender("threaded", "threaded", lambda r: Scheduled(r.pipeline, r.plan, r.certificates), threads=True),
    Contender("dataflow", "dataflow", lambda r: ScheduledFlow(r.pipeline, r.plan), threads=True),
    Contender("compiled, step by step", "compiled", lambda r: CompiledRun(r.pipeline, r.capacities), capacities="all"),
    Contender("compiled", "compiled", lambda r: Pieces(r.pipeline, r.capacities), capacities="all", quick=LOOPS),
    Contender(
        "compiled in blocks",
        "compiled",
        lambda r: Blocks(r.pipeline, r.capacities),
        capacities="all",
        complete=True,
        share=0.5,
    ),
    Contender(
        "compiled in blocks, floats regrouped",
        "compiled",
        lambda r: Blocks(r.pipeline, r.capacities, reassociate=True),
        capacities="all",
        complete=True,
        reassociates=True,
        share=0.5,
    ),
    Contender("gpu", "gpu", lambda r: OnGpu(r.pipeline, r.capacities), capacities="all", steps=False, share=0.2),
    Contender("model", "model", lambda r: Evaluated(r.pipeline, r.capacities), finite=True, capacities="all"),
    Contender(
        "NuSMV", "model", lambda r: Simulated(r.pipeline, r.capacities), finite=True, capacities="all", share=0.1
    ),
)


def contenders() -> dict[str, tuple[Contender, ...]]:
    """Return each backend's contenders, in the order of the table of backends."""
    by_backend = {name: tuple(each for each in CONTENDERS if each.backend == name) for name in backend_rows()}
    return {name: own or (_stepwise(name),) for name, own in by_backend.items() if own or backend_row(name).make}


def _stepwise(name: str) -> Contender:
    return Contender(name, name, lambda r: Started(name, r.pipeline, r.capacities))


class Match:
    """The pairing of a contender with the reference executor, for one pipeline.

    Parameters
    ----------
    n: `int` is 0..n-1 if finite domains are needed.
    q: the capacity of queues that the pipeline leaves unbounded, if capacities are needed.

    Raises
    ------
    Refused: the contender cannot run the pipeline.
    """

    def __init__(self, contender: Contender, pipeline: Pipeline, n: int, q: int) -> None:
        self.contender = contender
        self.pipeline = _finite(pipeline, n) if contender.finite else pipeline
        self.flat = flatten(self.pipeline)
        every = dict.fromkeys(self.flat.queues, q) if contender.capacities == "all" else {}
        self.capacities: Capacities = {} if contender.capacities == "none" else {**every, **self.flat.capacities}
        self.terms = terms(self.pipeline, reassociates=contender.reassociates)
        self._made: tuple[Plan, Executable] | None = None
        self.executables(Plan())

    @cached_property
    def certificates(self) -> Mapping[str, Certificate]:
        """The certificates of the processors that may be pipelined."""
        return certify_nodes(self.pipeline) if self.contender.threads else {}

    def executables(self, plan: Plan) -> tuple[Executable, Executable]:
        """Return the reference executor and the contender, which follows the plan if it has threads."""
        if self._made is None or (self.contender.threads and self._made[0] != plan):
            self._made = plan, self._contender(plan)
        kind = Watched if foreign_processors(self.flat) else Running
        ours: Executable = kind(self.pipeline, self.capacities)
        return ours if self.contender.steps else Streams(ours, self.pipeline), self._made[1]

    def _contender(self, plan: Plan) -> Executable:
        try:
            certificates = {name: self.certificates[name] for name in plan.pipelined}
            return self.contender.make(Request(self.pipeline, self.capacities, plan, certificates))
        except (EngineMissing, BeyondSmv) as error:
            raise Refused(error.what, hint=error.hint) from error


def terms(pipeline: Pipeline, *, reassociates: bool = False) -> Terms:
    """Return the strict terms of comparison with the reference executor, with contracts if `reassociates`."""
    pipe_contracts = derive_determinism(flatten(pipeline)) if reassociates else {}
    return Terms(pipe_contracts, True, is_excused)


def _finite(pipeline: Pipeline, n: int) -> Pipeline:
    try:
        return pipeline.resolve(Integer(n))
    except (DomainError, TypingError) as error:
        raise Refused(f"it is not defined over int mod {n}: {error.what}", hint=error.hint) from error


def is_excused(error: Exception) -> bool:
    """Whether an error of only one side is not a disagreement: a compiled integer beyond 64 bits.

    The compiled executor raises Overflow for a result and DomainError for an input event.
    """
    return isinstance(error, Overflow | DomainError) and error.exceeds_64_bits


def choose_contenders(
    backends: Sequence[str | Contender], kind: str = Pipeline.kind, *, strict: bool = True
) -> tuple[Contender, ...]:
    """Return the given contenders and those named by backend or name; without any, all for a kind of program.

    Parameters
    ----------
    strict: whether a backend without a contender is an error; else it gets one that refuses every pipeline.

    Raises
    ------
    WorkbenchError: there is no backend of this name. Refused: it has no contender.
    """
    every = [each for some in contenders().values() for each in some]
    known = [*contenders(), *(each.name for each in every)]
    names = [ALIASES.get(name, name) for name in backends if isinstance(name, str)]
    own = tuple(each for each in backends if isinstance(each, Contender))
    for name in names:
        if name not in known:
            if name not in backend_rows():
                raise WorkbenchError(f"there is no backend '{name}'", hint=did_you_mean(name, contenders()))
            hint = f"compare {', '.join(contenders())}"
            refused = Refused(f"backend '{name}' is not compared on pipelines", hint=hint)
            if strict:
                raise refused
            own += (Contender(name, name, refused.refuse),)
    if not (own or names):
        return tuple(each for each in every if backend_row(each.backend).takes(kind))
    return own + tuple(each for each in every if {each.name, each.backend}.intersection(names))
