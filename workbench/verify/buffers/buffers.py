"""Buffers: the smallest capacity of each queue of a pipeline, with a proof on both sides.

A capacity c is proven to be enough by a model checker, and to be the smallest by a shortest input stream that
overflows c - 1 on the reference executor. For a queue without a bound there is a pumping stream. The length of a
queue in a run with unbounded queues depends on the input alone, so the smallest capacities of the queues do not
depend on each other (docs/reference/buffers.md has the proofs).
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, cast

from workbench.budget import Budget, phase, share
from workbench.core.domain import Domain, Integers, Texts
from workbench.core.fields import scalars, within
from workbench.core.pipeline import Node, Pipeline
from workbench.core.program import Program
from workbench.display import Displayed
from workbench.errors import DomainError, LimitMet, check_count
from workbench.language import AnyProgram, program_of
from workbench.processors.held.group import flatten, with_capacities
from workbench.verify.answer.grounds import (
    FOR_EVERY_N,
    depends_on_no_n,
    ending,
    find_number_grounds,
    list_assumptions,
    misfortunes,
)
from workbench.verify.answer.problem import refuse_full_columns
from workbench.verify.answer.replay import show_growth, show_overflow
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.trace import ROUNDS, Trace
from workbench.verify.answer.verdict import Outcome, worst_exit_code
from workbench.verify.ask.properties import under_assumptions
from workbench.verify.buffers.pending import search_waiting
from workbench.verify.buffers.search import QueueMaximum, QueueQuestion, QueueSearch, Regions, depends_on
from workbench.verify.finding import Finding

MAXIMUM = 64
"""Default of the largest capacity to check."""


class QueueStatus(StrEnum):
    """The result for a queue."""

    BOUNDED = "bounded"
    UNBOUNDED = "unbounded"
    UNKNOWN = "unknown"

    @property
    def outcome(self) -> Outcome:
        """The outcome of the property that some capacity is enough."""
        return {QueueStatus.BOUNDED: Outcome.HOLDS, QueueStatus.UNBOUNDED: Outcome.FAILS}.get(self, Outcome.UNKNOWN)


BUFFER = {
    "queue": "about",
    **{name: name for name in ("status", "capacity", "transient_capacity", "at_least")},
    "for_every_N": "for_every_n",
    **{name: name for name in ("bits", "growth", "engine", "seconds")},
    "assumptions": "rests_on", "witness": "witness", "reason?": "reason",
}  # fmt: skip
"""The form of the findings about a queue."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Buffer(Finding):
    """The finding about one queue: the capacity that it needs.

    Attributes
    ----------
    capacity: the smallest one that never overflows, in events; None if there is none or it is not known.
    at_least: a lower bound of the capacity; None if no capacity is enough.
    for_every_n: whether the answer does not depend on the size of the domain that stands for `int`.
    event_bits: bits of one event.
    growth: number of events by which each round of the cycle makes an unbounded queue longer.
    reason: why the status is unknown.
    inside: whether it is inside a processor, which counts what waits and stores none of it.
    """

    capacity: int | None
    at_least: int | None
    for_every_n: bool
    event_bits: int
    growth: int
    engine: str
    seconds: float
    reason: str
    inside: bool
    form: Mapping[str, str] = field(default_factory=lambda: BUFFER)

    @property
    def queue(self) -> str:
        """The name of the queue."""
        return self.about

    @property
    def status(self) -> QueueStatus:
        """The status of the queue."""
        return QueueStatus(self.data["status"])

    @property
    def witness(self) -> Trace | None:
        """A run that overflows `at_least` - 1; for an unbounded queue one whose `loop` makes it longer for ever."""
        return cast("Trace | None", self.runs.get(""))

    @property
    def transient_capacity(self) -> int | None:
        """The capacity for an executor without steps: it stores an event while it passes, so one slot more."""
        return None if self.capacity is None else self.capacity + (not self.inside)

    def __repr__(self) -> str:
        return f"<{self.queue}: {self.answer}>"

    @property
    def bits(self) -> int | None:
        """The memory of the queue in bits."""
        return None if self.capacity is None else self.capacity * self.event_bits


@dataclass(frozen=True)
class Buffers(Displayed):
    """The queues of a pipeline, in topological order."""

    pipeline: str
    queues: tuple[Buffer, ...]
    n: int
    integers: str
    max_capacity: int
    seconds: float
    depends_on_n: bool = True
    """Whether a pipe carries an `int` or a `str`, whose size depends on N."""

    @property
    def scope(self) -> str:
        """The N of the model, in words; empty if no size depends on it."""
        return f"N = {self.n}" if self.depends_on_n else ""

    @property
    def capacities(self) -> dict[str, int]:
        """The queues whose smallest capacity is proven, with that capacity."""
        return {b.queue: b.capacity for b in self.queues if b.capacity is not None}

    def __repr__(self) -> str:
        return f"<buffers of {self.pipeline}: {', '.join(f'{b.queue} {b.answer}' for b in self.queues) or 'none'}>"

    @property
    def total_bits(self) -> int | None:
        """The memory of all queues in bits; None if the capacity of one is not known or not bounded."""
        sizes = [b.bits for b in self.queues]
        return None if None in sizes else sum(size for size in sizes if size is not None)

    @property
    def gap(self) -> str:
        """A disagreement of model and execution, which is a defect of workbench; else empty."""
        return next(
            (
                f"{b.queue}: {b.reason or (b.witness.replay if b.witness else '')}"
                for b in self.queues
                if (b.witness and b.witness.gap) or b.reason.startswith("model gap")
            ),
            "",
        )

    @property
    def exit_code(self) -> int:
        """The exit code: 3 for a model gap, else 1 if a queue is unbounded, 3 if one is unknown, else 0."""
        return 3 if self.gap else worst_exit_code(b.status.outcome.exit_code for b in self.queues)

    def bounding(self, pipeline: Pipeline) -> Pipeline:
        """Return the pipeline with the proven capacities, which executors enforce; other queues keep their own."""
        return pipeline.with_capacities({**pipeline.capacities, **self.capacities})

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "pipeline": self.pipeline,
            "queues": [b.to_json() for b in self.queues],
            "total_bits": self.total_bits,
            "N": self.n,
            "integers": self.integers,
            "max": self.max_capacity,
            "seconds": round(self.seconds, 4),
        }


@refuse_loose_settings
def buffers(pipeline: AnyProgram, settings: Settings | None = None, max: int = MAXIMUM) -> Buffers:
    """Find the smallest capacity of each queue of a pipeline.

    Parameters
    ----------
    pipeline: a program, or the file that it is in: `FILE` or `FILE:NAME`.
    settings: domain, inputs, engine and limits, of which each queue gets its share; `q`, and the capacities of the
        pipeline, are ignored.
    max: the largest capacity to check, in events.

    Raises
    ------
    Refused, DomainError, TypingError: the pipeline has no finite model over these domains.
    EngineError, EngineMissing: the engine cannot be used. Limits and crashes make a queue unknown.
    """
    check_count("the largest capacity to check", max, least=0)
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    try:
        return _find_buffers(pipeline, settings, max)
    except DomainError as error:  # a constant beyond N: most queues do not depend on values, and then on no N
        if error.needs is None or error.needs <= settings.n:
            raise
        retry = buffers(pipeline, replace(settings, n=error.needs), max)
        if any(item.status is not QueueStatus.UNKNOWN and not item.for_every_n for item in retry.queues):
            raise
        return retry


def _find_buffers(pipeline: Program, settings: Settings, limit: int) -> Buffers:
    flat = flatten(under_assumptions(settings.over(pipeline)[0])).with_capacities({})
    search = _BufferSearch(flat, settings, limit)  # else no queue could be named
    start = time.monotonic()
    queues = tuple(each for each in search.run() if each.queue not in flat.contract_queues)
    elapsed = time.monotonic() - start
    domains = (part for domain in flatten(pipeline).domains.values() for part in within(domain))
    depends_on_n = any(isinstance(part, Integers | Texts) for part in domains)
    return Buffers(pipeline.name, queues, settings.n, str(settings.integers), limit, elapsed, depends_on_n)


class _BufferSearch:
    """The search for all queues of a flat pipeline, each with the proven capacities of those before it."""

    def __init__(self, flat: Pipeline, settings: Settings, limit: int) -> None:
        self.flat, self.settings, self.max_capacity = flat, settings, limit
        self.regions = Regions(flat)
        queues = [(node, queue) for node in flat.nodes for queue in (*node.queues, node.pending) if queue]
        self.queues = sorted(queues, key=lambda each: each[1] not in flat.contract_queues)
        """All queues with their processors, also the queues inside processors; those of assumptions first."""
        self.found: list[Buffer] = []

    def run(self) -> list[Buffer]:
        """Return the findings about all queues, within the limits."""
        try:
            with Budget(self.settings.seconds, self.settings.memory_mb):
                refuse_full_columns(self.flat, self.settings)
                for node, queue in self.queues:
                    self._find(node, queue)
        except LimitMet as met:  # between two queues
            self.found += [self._give_up(queue, met) for _, queue in self.queues[len(self.found) :]]
        return self.found

    def _find(self, node: Node, queue: str) -> None:
        inside = queue == node.pending
        if not inside and node.boundless:  # they are independent of the processor's queues
            self.regions = Regions(with_capacities(self.flat, {node.pending: 1}))
        start = time.monotonic()
        try:
            number = len(self.found) + 1
            part = phase(f"queue {number} of {len(self.queues)}", part=True)
            with share(len(self.queues) - len(self.found)), part:
                known = search_waiting(self._query(self.flat, queue)) if inside else self._search(queue)
                self.found.append(_report(self._query(self.regions.pipeline, queue), known, start))
        except LimitMet as met:
            self.found.append(self._give_up(queue, met))
        if inside:
            capacity = self.found[-1].capacity
            self.flat = self.flat if capacity is None else with_capacities(self.flat, {queue: capacity})
            self.regions = Regions(self.flat)

    def _query(self, pipeline: Pipeline, queue: str) -> QueueQuestion:
        proven = {each.queue: each.capacity for each in self.found if each.capacity is not None}
        return QueueQuestion(pipeline, queue, proven, self.settings, self.max_capacity)

    def _search(self, queue: str) -> QueueMaximum:
        """Find the capacity of a queue in front of a processor."""
        question = self._query(self.regions.pipeline, queue)
        boundless = [node.pending for node in question.upstream().nodes if node.boundless]
        if boundless:
            return QueueMaximum(reason=depends_on(boundless))
        return self.regions.find(question) or QueueSearch(question).run()

    def _give_up(self, queue: str, met: LimitMet) -> Buffer:
        return _report(self._query(self.flat, queue), QueueMaximum(reason=met.what, engine="none"))


def _report(question: QueueQuestion, maximum: QueueMaximum, start: float = math.inf) -> Buffer:
    """Report the finding about a queue; positions that wait inside a processor need no memory but their number."""
    pipeline, queue, settings = question.pipeline, question.queue, question.settings
    pipe = pipeline.sources.get(queue)
    every_n = bool(maximum.argument) or (maximum.model is not None and depends_on_no_n(maximum.model, settings.domain))
    status, answer = QueueStatus.BOUNDED, f"capacity {maximum.at_least}"
    if maximum.growth:
        status, answer = QueueStatus.UNBOUNDED, "unbounded"
    elif maximum.reason:
        status, answer = QueueStatus.UNKNOWN, f"unknown, at least {maximum.at_least}"
    reason, run = "" if maximum.growth else maximum.reason, _show(pipeline, queue, maximum)
    return Buffer(
        about=queue,
        answer=answer,
        says=f"{answer}: {reason}" if reason else answer,
        runs={} if run is None else {"": run},
        decided=status is not QueueStatus.UNKNOWN,
        grounds=_list_grounds(maximum, settings, pipeline),
        data={"status": status},
        capacity=maximum.at_least if status is QueueStatus.BOUNDED else None,
        at_least=None if status is QueueStatus.UNBOUNDED else maximum.at_least,
        for_every_n=maximum.verdict.for_every_n if maximum.verdict else every_n,
        event_bits=event_bits(pipeline.domains[pipe]) if pipe else 0,
        growth=maximum.growth.by if maximum.growth else 0,
        engine=maximum.engine,
        seconds=round(max(0.0, time.monotonic() - start), 4),
        reason=reason,
        inside=pipe is None,
    )


def _show(pipeline: Pipeline, queue: str, maximum: QueueMaximum) -> Trace | None:
    """Return a run that makes the queue longer and longer, or overflows the next smaller capacity."""
    if maximum.growth:
        capacity = (ROUNDS + 1) * (maximum.at_least + maximum.growth.by)
        return show_growth(
            with_capacities(maximum.part, {queue: capacity}) if maximum.part else pipeline, queue, maximum.growth
        )
    if maximum.part or not maximum.at_least:
        return maximum.witness
    return show_overflow(pipeline, queue, maximum.at_least - 1, maximum.reaching, shortest=maximum.shortest)


def event_bits(domain: Domain) -> int:
    """Return the number of bits of one event of a finite domain, each scalar part on its own."""
    return sum(((part.size or 1) - 1).bit_length() for _, part in scalars(domain))


def _list_grounds(maximum: QueueMaximum, settings: Settings, pipeline: Pipeline) -> tuple[str, ...]:
    model = maximum.model
    if maximum.verdict:
        return maximum.verdict.rests_on[1:]
    if maximum.argument:
        return f"counting: {maximum.argument}", FOR_EVERY_N
    if model is None:
        return ()
    every_n, env = depends_on_no_n(model, settings.domain), settings.environment
    numbers = find_number_grounds(model, maximum.wraps, False, settings.domain, every_n=every_n)
    grounds = [*(each.text for each in numbers if each.text), *misfortunes(model.system)]
    grounds += map(str, list_assumptions(pipeline, model.system))
    if maximum.region:
        grounds.append(f"it is enough for any events on '{maximum.region}', the source of all of the queue's events")
    return (*grounds, env.describe(), *ending(model.system, may=env.may_end))
