"""Truncated pipelines: the same pipeline with some of its processors deleted (TIME 2021, section 4.1).

A short cut from pipe i to pipe o deletes the path between them: the readers of o read i instead. Processors that no
output depends on any more are deleted, too. `dead_paths` defines when such a pipeline is as good as the whole:
stepwise, or up to pace.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from workbench.core.domain import BOOL
from workbench.core.function import same_domain
from workbench.core.ops import EQ, LE, conjunction, either, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.term import FALSE, var
from workbench.ir.reduce import FLAG
from workbench.ir.system import System
from workbench.ir.variable_contents import DEFAULT_CAPACITY
from workbench.processors.held.group import flatten
from workbench.verify.analyses.constants import never_speaks
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome, Verdict, discount_early
from workbench.verify.ask.equivalence import EquivalenceMode, side_by_side
from workbench.verify.ask.formula import Formula, atom, build
from workbench.verify.ask.properties import Property, always, conjoin, invariant, make_property, overflow_of


@dataclass(frozen=True)
class Truncation:
    """A short cut in a flat pipeline.

    Attributes
    ----------
    node: the processor whose outputs are not read any more.
    source: the pipe that is read in their place.
    pipeline: the remaining pipeline.
    removed: the deleted processors, `node` among them.
    direct: whether the source is an input of the node.
    """

    node: str
    source: str
    pipeline: Pipeline
    removed: tuple[str, ...]
    direct: bool

    def __str__(self) -> str:
        return f"read '{self.source}' in place of '{self.node}'"


def truncations(pipeline: Pipeline) -> Iterator[Truncation]:
    """Yield every short cut around a processor: from a pipe that leads to it, of the domain of its outputs."""
    for node in pipeline.nodes:
        ancestors = {pipe for each in pipeline.upstream(node.outputs) for pipe in each.inputs}
        # nearest first: they delete least
        for source in reversed([pipe for pipe in pipeline.domains if pipe in ancestors]):
            if all(same_domain(pipeline.domains[source], pipeline.domains[output]) for output in node.outputs):
                yield short_cut(pipeline, node, source)


def short_cut(pipeline: Pipeline, node: Node, source: str) -> Truncation:
    """Return the pipeline in which `source` is read in place of every output of `node`."""
    instead = dict.fromkeys(node.outputs, source)
    nodes = tuple(replace(n, inputs=tuple(instead.get(p, p) for p in n.inputs)) for n in pipeline.nodes)
    outputs = tuple((name, instead.get(pipe, pipe)) for name, pipe in pipeline.outputs)
    left = without_unread(replace(pipeline, nodes=nodes, outputs=outputs))
    node_names = {n.name for n in left.nodes}
    removed = tuple(n.name for n in pipeline.nodes if n.name not in node_names)
    return Truncation(node.name, source, left, removed, source in node.inputs)


def without_unread(pipeline: Pipeline) -> Pipeline:
    """Return the pipeline without the processors that no output depends on."""
    nodes = pipeline.upstream(pipe for _, pipe in pipeline.outputs)
    queues = {queue for node in nodes for queue in node.queues}
    capacities = {queue: size for queue, size in pipeline.capacities.items() if queue in queues}
    return replace(pipeline, nodes=nodes, capacities=capacities)


def find_reached_outputs(pipeline: Pipeline, node: Node) -> tuple[str, ...]:
    """Return the outputs that depend on a processor."""
    return tuple(name for name, pipe in pipeline.outputs if node in pipeline.upstream([pipe]))


# --- whether a truncated pipeline is as good ------------------------------------------------------------------------


PathMode = Literal["stepwise", "up to pace"]
MODES: tuple[PathMode, ...] = ("stepwise", "up to pace")
BEHIND = "with less in it, events come that the pipeline may never emit"
FULLER = "with less in it, the pipeline needs longer queues"


def lead(settings: Settings) -> int:
    """Return the number of events by which a truncation may be ahead: the capacity of queues, at least one."""
    return max(settings.q if isinstance(settings.q, int) else DEFAULT_CAPACITY, 1)


CAPACITY_FACTORS = 1, 2, 4
"""Factors by which the queues of a truncation are longer than the pipeline's, in the order of trial."""


@dataclass(frozen=True)
class Truncated:
    """A truncation beside the pipeline, both flat and resolved."""

    pipeline: Pipeline
    truncated: Pipeline
    settings: Settings

    def compare(self, mode: PathMode) -> Verdict:
        """Decide whether the truncation is as good as the pipeline.

        Within bounds a verdict is about the runs on which no queue of the pipeline overflows. If a queue of the
        truncation overflows first with any capacity, nothing is known.
        """
        for times in CAPACITY_FACTORS:
            verdict = discount_early(self._compare(mode, times))
            if not verdict.meets_bounds:
                return verdict
            both, _, side_settings = self._put_beside("stepwise", times)
            if check(both, _fits(), side_settings).outcome is Outcome.HOLDS:
                return verdict
        return replace(verdict, outcome=Outcome.UNKNOWN, reason=FULLER)

    def is_as_good(self, verdict: Verdict, speaking: Mapping[str, Verdict]) -> bool:
        """Whether the verdict of a comparison is conclusive.

        A verdict within bounds is conclusive if something was compared: each output that emits can come from both
        pipelines before a queue overflows.
        """
        if verdict.outcome is not Outcome.WITHIN_BOUNDS:
            return verdict.outcome is Outcome.HOLDS
        both, _, side_settings = self._put_beside("sequence")
        comparisons = zip((name for name, _ in self.pipeline.outputs), (name for name, _ in both.outputs), strict=True)
        outputs = [same for name, same in comparisons if name in speaking]
        return all(check(both, never_speaks(same), side_settings).outcome is Outcome.FAILS for same in outputs)

    def _compare(self, mode: PathMode, times: int) -> Verdict:
        if mode == "stepwise":
            return check(*self._put_beside("stepwise", times))
        both, same, side_settings = self._put_beside("sequence", times)
        comparisons = [name for name, _ in both.outputs]
        verdict = check(
            both, conjoin("the same, earlier", [same, *_pace(comparisons, lead(self.settings))]), side_settings
        )
        for name in comparisons:
            if verdict.outcome.is_proved:
                later = check(both, _catches_up(name), side_settings)
                verdict = later if later.outcome is not Outcome.HOLDS else verdict
                strict = later.within_bounds and check(both, _catches_up(name, strictly=True), side_settings)
                if strict and strict.outcome is not Outcome.HOLDS:  # perhaps it could catch up only by an overflow
                    verdict = replace(verdict, outcome=Outcome.UNKNOWN, reason=BEHIND)
        return verdict

    def _put_beside(self, mode: EquivalenceMode, times: int = 1) -> tuple[Pipeline, Property, Settings]:
        """Return both side by side, the property that they agree, and settings with capacities (`CAPACITY_FACTORS`)."""
        whole, truncated = replace(self.pipeline, name="whole"), replace(self.truncated, name="truncated")
        both, same = side_by_side(whole, truncated, mode)
        sizes = _spread(flatten(both), self.settings)
        sizes |= {queue: sizes[queue] * times for queue in sizes if queue.startswith("truncated.")}
        for node in both.nodes:  # where events meet: an overflow would hide that too many wait
            if node.queues:
                left, right = (both.widths[pipe] or 1 for pipe in node.inputs)
                sizes |= {f"{node.name}.left": left, f"{node.name}.right": lead(self.settings) + right}
        return both, same, replace(self.settings, q=sizes)


def _fits() -> Property:
    """Return the property that a queue of the truncation never overflows before one of the whole pipeline."""

    def term(system: System) -> Any:
        ours = [queue for queue in system.own_queues if queue.name.startswith("whole.")]
        theirs = [queue for queue in system.own_queues if not queue.name.startswith("whole.")]
        return either(negate(overflow_of(theirs)), overflow_of(ours))

    return invariant("fits", term, "a queue of the truncation overflows first", about_overflow=True)


def _pace(comparisons: Iterable[str], limit: int) -> Iterator[Property]:
    """Yield the properties that no event of the whole waits for the truncation, and at most `limit` vice versa."""

    def bounded(queue: str, size: int) -> Property:
        return always(lambda s: LE(s.queues[queue].length, size), f"queue({queue}).length <= {size}")

    for name in comparisons:
        yield bounded(f"{name}.left", 0)
        yield bounded(f"{name}.right", limit)


def _catches_up(name: str, *, strictly: bool = False) -> Property:
    """Return the property that the whole pipeline can still emit the next event that the truncated one has waiting.

    strictly: before a queue overflows; otherwise an overflow is enough.
    """

    def next_comes(system: System) -> Formula:
        over = var(f"{FLAG}:now", BOOL) if strictly else FALSE
        none = either(over, EQ(system.queues[f"{name}.right"].length, 0))
        emits = build("EF", atom(conjunction([system.pipes[name].present, negate(over)])))
        return build("AG", build("or", atom(none), emits))

    failure = "the truncated pipeline has emitted what the whole one never will"
    return make_property(f"{name} catches up", "ctl", next_comes, failure, about_overflow=strictly)


def _spread(flat: Pipeline, settings: Settings) -> dict[str, int]:
    """Return capacities of the queues side by side (`whole.add.left`), from those of the pipeline (`add.left`)."""
    capacities = dict(flat.capacities)
    for queue in flat.queues:
        own = queue.partition(".")[2]
        if isinstance(settings.q, int):
            capacities.setdefault(queue, settings.q)
        elif own in settings.q:
            capacities[queue] = settings.q[own]
    return capacities
