"""Whether the outputs depend on the order in which events of several inputs arrive.

They do not if every processor waits for a complete front. Then a processor's i-th firing consumes the i-th event of
each of its inputs, whenever these came, so its output streams are a function of its input streams; and so are, by
induction over the acyclic graph, those of the pipeline (G. Kahn, The semantics of a simple language for parallel
programming, IFIP 1974; docs/reference/analyses.md has the proof). What can depend on the order is the step at which
an event is emitted, the order of events of different outputs, and which queues overflow. This module decides the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum

from workbench.core.ops import negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.language import AnyProgram, program_of
from workbench.verify.answer.problem import check, refuse_full_columns
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import Property, invariant, overflow_of, queue_named
from workbench.verify.finding import Finding


class Overflows(StrEnum):
    """The circumstances in which a queue overflows."""

    NEVER = "never"
    NOT_FIRST = "never before another queue does"
    SOME_ORDERS = "in some orders"
    ANY_ORDER = "even when the inputs come together"
    UNKNOWN = "unknown"


ARGUMENT = "every processor waits for a complete front, so its outputs are a function of its input sequences"


def fits(queue: str) -> Property:
    """Return the property that no event ever arrives at this queue when it is full."""
    failure = f"an event arrives at the full queue '{queue}'"
    return invariant(
        f"no overflow of {queue}", lambda s: negate(overflow_of([queue_named(s, queue)])), failure, about_overflow=True
    )


@refuse_loose_settings
def order(pipeline: AnyProgram, settings: Settings | None = None) -> Finding:
    """Find what depends on the order in which the inputs' events arrive.

    The finding has the open inputs, whether the sequence on every output is a function of those on the inputs, the
    processors that do not wait for a complete front (`unsure`: nothing is known of what they feed), and for each queue
    when it `Overflows`, with a run to it; no queue if there is only one input.
    """
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    flat = settings.flat(pipeline)
    refuse_full_columns(flat, settings)
    inputs = flat.ports.arrivals
    unsure = tuple(node.name for node in flat.nodes if node.processor.in_arity > 1 and not node.processor.joins)
    verdicts = [(queue, *_decide_queue(flat, queue, settings)) for queue in (flat.queues if len(inputs) > 1 else ())]
    some = any(free.outcome is Outcome.FAILS for _, free, _ in verdicts)
    queues = tuple(_report_queue(*each, others=some) for each in verdicts)
    if len(inputs) < 2:
        text = "there is one input: nothing to interleave"
    elif unsure:
        names = ", ".join(f"'{name}'" for name in unsure)
        text = f"not known: {names} do not wait for a complete front"
    else:
        text = f"the sequence on every output does not depend on it: {ARGUMENT.partition(',')[0]}"
    decided = not unsure and all(each.decided for each in queues)
    data = {
        "inputs": inputs, "determined": not unsure, "argument": "" if unsure else ARGUMENT, "unsure": unsure,
        "queues": queues,
    }  # fmt: skip
    answer, form = "unknown" if unsure else "determined", {name: name for name in data}
    return Finding(flat.name, answer, text, decided=decided, data=data, form=form)


def _decide_queue(pipeline: Pipeline, queue: str, settings: Settings) -> tuple[Verdict, Verdict | None]:
    """Decide whether a queue never overflows, in any order, and with all inputs in the same steps."""
    free = check(pipeline, fits(queue), replace(settings, environment=Environment("free")))
    if free.outcome is not Outcome.FAILS:
        return free, None
    return free, check(pipeline, fits(queue), replace(settings, environment=Environment("synchronised")))


def _report_queue(queue: str, free: Verdict, together: Verdict | None, *, others: bool) -> Finding:
    """Report when a queue overflows; if another one can overflow first, nothing is known."""
    overflows = Overflows.SOME_ORDERS
    if Outcome.UNKNOWN in (free.outcome, together and together.outcome):
        overflows = Overflows.UNKNOWN
    elif together is None:
        overflows = Overflows.NOT_FIRST if others else Overflows.NEVER
    elif together.outcome is Outcome.FAILS:
        overflows = Overflows.ANY_ORDER
    form = {"queue": "about", "overflows": "answer", "witness": "counterexample"}
    text = f"queue {queue} overflows: {overflows}"
    return Finding(queue, overflows, text, free, decided=overflows is not Overflows.UNKNOWN, form=form)


def order_findings(pipeline: Program, settings: Settings) -> tuple[Finding]:
    """Return the finding of `order`, as an analysis."""
    return (order(pipeline, settings),)


def order_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what depends on the order, and a line for each queue."""
    (whole,) = findings
    unsure = whole["unsure"] and len(whole["inputs"]) > 1
    yield f"{'?' if unsure else ' '} {whole.says}"
    yield from (f"  {queue.says}" for queue in whole["queues"])
