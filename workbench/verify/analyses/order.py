"""Whether the outputs depend on the order in which events of several inputs arrive.

They do not, where every processor waits for a complete front. Then a processor's i-th firing consumes the i-th event of
each of its inputs, whenever these came, so its output streams are a function of its input streams; and so are, by
induction over the acyclic graph, those of the pipeline (G. Kahn, The semantics of a simple language for parallel
programming, IFIP 1974; docs/analyses.md has the proof). What can depend on the order is at which step an event comes
out, events of different outputs relative to each other, and which queues overflow. The last is asked here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from workbench.core.ops import negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.processors.held.group import flatten
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import check
from workbench.verify.answer.verdict import Outcome, Trace, Verdict
from workbench.verify.answer.whole_columns import columns_hold
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import Property, invariant, overflow_of, queue_named


class Overflows(StrEnum):
    """When a queue overflows."""

    NEVER = "never"
    NOT_FIRST = "never before another queue does"
    SOME_ORDERS = "in some orders"
    ANY_ORDER = "even when the inputs come together"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class QueueOrder:
    """What the order of arrival does to one queue.

    Attributes
    ----------
    free, together: the verdicts that it does not overflow, whatever the order, and with all inputs in the same steps.
    others: whether another queue can overflow; nothing is known of what follows.
    """

    queue: str
    free: Verdict
    together: Verdict | None
    others: bool = False

    @property
    def overflows(self) -> Overflows:
        """When it overflows."""
        if Outcome.UNKNOWN in (self.free.outcome, self.together and self.together.outcome):
            return Overflows.UNKNOWN
        if self.together is None or self.free.outcome is not Outcome.FAILS:
            return Overflows.NOT_FIRST if self.others else Overflows.NEVER
        return Overflows.ANY_ORDER if self.together.outcome is Outcome.FAILS else Overflows.SOME_ORDERS

    @property
    def witness(self) -> Trace | None:
        """A run to the overflow."""
        return self.free.counterexample

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "queue": self.queue,
            "overflows": str(self.overflows),
            "witness": None if self.witness is None else self.witness.to_json(),
        }


@dataclass(frozen=True)
class Order:
    """What depends on the order of arrival.

    Attributes
    ----------
    inputs: the open inputs.
    unsure: processors with several inputs that do not wait for a complete front; nothing is known of what they feed.
    queues: every queue; empty where there is one input only.
    """

    inputs: tuple[str, ...]
    unsure: tuple[str, ...]
    queues: tuple[QueueOrder, ...]

    @property
    def determined(self) -> bool:
        """Whether the sequence on every output is a function of the sequences on the inputs."""
        return not self.unsure

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "inputs": list(self.inputs),
            "determined": self.determined,
            "argument": ARGUMENT if self.determined else "",
            "unsure": list(self.unsure),
            "queues": [queue.to_json() for queue in self.queues],
        }


ARGUMENT = "every processor waits for a complete front, so its outputs are a function of its input sequences"


def fits(queue: str) -> Property:
    """No event ever arrives at this queue when it is full."""
    failure = f"an event arrives at the full queue '{queue}'"
    return invariant(
        f"no overflow of {queue}", lambda s: negate(overflow_of([queue_named(s, queue)])), failure, about_overflow=True
    )


def order(pipeline: Program, settings: Settings | None = None) -> Order:
    """What depends on the order in which the inputs' events arrive."""
    settings = (settings or Settings()).fitted(pipeline)
    flat = flatten(settings.over(pipeline)[0])
    columns_hold(flat, settings)
    inputs = flat.ports.arrivals
    unsure = tuple(node.name for node in flat.nodes if node.processor.in_arity > 1 and not node.processor.joins)
    queues = flat.queues if len(inputs) > 1 else ()
    found = [_queue(flat, queue, settings) for queue in queues]
    some = any(queue.free.outcome is Outcome.FAILS for queue in found)
    return Order(inputs, unsure, tuple(replace(queue, others=some) for queue in found))


def _queue(pipeline: Pipeline, queue: str, settings: Settings) -> QueueOrder:
    free = check(pipeline, fits(queue), replace(settings, environment=Environment("free")))
    if free.outcome is not Outcome.FAILS:
        return QueueOrder(queue, free, None)
    together = check(pipeline, fits(queue), replace(settings, environment=Environment("synchronised")))
    return QueueOrder(queue, free, together)
