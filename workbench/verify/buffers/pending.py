"""The smallest capacity of a queue inside a processor: of the positions that wait in `until`, `globally`, ...

Such a queue is a counter, and whether it overflows is checked like a property. A run in which no position gets its
verdict, and which makes it longer and otherwise returns to an earlier state, can be repeated for ever. The copies
that a quantifier keeps must return as far as the queue reached: then the first position never gets its verdict.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.ops import negate
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.ir.compose import outline
from workbench.ir.system import instance_of
from workbench.processors.held.group import with_capacities
from workbench.processors.held.waiting_copies import waiting_place
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Growth, Trace
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import invariant, overflow_of
from workbench.verify.buffers.pumping import cone, find_growth, record_run
from workbench.verify.buffers.search import QueueMaximum, QueueQuestion, depends_on
from workbench.verify.maximum import Counted, SearchAbandoned, find_maximum

LEFT = "a number can leave its checked domain, and nothing is concluded from what follows"


def search_waiting(question: QueueQuestion) -> QueueMaximum:
    """Find the smallest capacity of a queue inside a processor; other queues have their proven capacities."""
    part, queue, proven = question.upstream(), question.queue, question.proven
    maximum = QueueMaximum(at_least=1, part=part)
    others = {*part.queues, *(node.pending for node in part.nodes if node.pending)} - {queue}
    if unknown := sorted(others - set(proven)):
        maximum.reason = depends_on(unknown)
        return maximum
    part = maximum.part = with_capacities(part, {name: proven[name] for name in others})
    q = {name: proven[name] for name in part.queues}
    settings = replace(question.settings, q=q)

    def exceeds(_: int, numbers: Sequence[int]) -> list[bool | None]:
        length = numbers[len(numbers) // 2]  # one at a time
        verdict = _decide_capacity(part, queue, length, settings)
        run = verdict.counterexample if verdict.outcome is Outcome.FAILS else None
        if run is None or maximum.at_most == math.inf:
            maximum.verdict, maximum.engine = verdict, verdict.engine
        if run is not None:
            maximum.at_least, maximum.witness = length + 1, run
            maximum.growth = _find_growth(part, queue, q, run) if maximum.at_most == math.inf else None
        elif verdict.outcome is not Outcome.HOLDS:
            raise SearchAbandoned(verdict.reason or LEFT)
        return [run is not None if number == length else None for number in numbers]

    find_maximum(Counted(maximum, exceeds, "positions", max(question.max_capacity, 1), 2))
    return maximum


def _decide_capacity(part: Pipeline, queue: str, capacity: int, settings: Settings) -> Verdict:
    """Decide whether at most this number of positions ever wait."""
    text = f"more than {capacity} positions wait in queue({queue})"
    prop = invariant(
        f"{queue} has capacity left", lambda s: negate(overflow_of([s.queues[queue]])), text, about_overflow=True
    )
    return check(with_capacities(part, {queue: capacity}), prop, settings)


def _find_growth(part: Pipeline, queue: str, q: Mapping[str, int], run: Trace) -> Growth | None:
    """Return the first part of a run in which the queue only gets longer, and all else returns to its state."""
    inputs = tuple(step.inputs for step in run.steps if not step.ends)
    widest = max(width or 1 for width in part.widths.values() if width)
    system = outline(part, {**q, queue: widest * len(inputs)}).whole()
    decide, owner = {v.name for v in cone(system, queue).variables}, instance_of(system.queues[queue].length.name)
    control, place_indices = list[int](), dict[int, list[int]]()
    for i, name in enumerate(v.name for v in system.variables):
        if name in decide and instance_of(name) != owner:
            control.append(i)
        elif name in decide and (position := waiting_place(name)) is not None:
            place_indices.setdefault(position, []).append(i)
    verdicts = [slot.present for slot in system.pipes[part.outputs[0][1]].slots]
    recorded = record_run(system, [FALSE, *verdicts], inputs)
    lengths, silent = recorded.lengths[queue], [not any(labels) for labels in recorded.labels]

    def repeats(start: int, end: int) -> bool:
        first = [i for position in range(lengths[start]) for i in place_indices.get(position, ())]
        same = all(recorded.states[start][i] == recorded.states[end][i] for i in first)
        return same and all(silent[start:end]) and bool(lengths[start] or not place_indices)

    return find_growth(inputs, [tuple(state[i] for i in control) for state in recorded.states], lengths, repeats)
