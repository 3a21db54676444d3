"""The smallest capacity of a queue inside a processor: of the positions that wait in `until`, `globally`, ...

Such a queue is a counter, and it is asked about as a property is: does it overflow? A run in which no position gets
its verdict, that makes it longer and otherwise comes back to where it was, can be repeated for ever. What a quantifier
keeps of positions (its copies) has to come back as far as it was there: then the first never gets its verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from workbench.core.ops import negate
from workbench.core.pipeline import Pipeline
from workbench.ir.compose import outline
from workbench.ir.simulate import Simulator
from workbench.ir.system import instance_of
from workbench.processors.held.group import with_room
from workbench.processors.held.waiting_copies import waiting_place
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome, Trace, Verdict
from workbench.verify.ask.properties import invariant, overflow_of
from workbench.verify.buffers.pumping import Pump, cone
from workbench.verify.buffers.search import QueueMost, upstream
from workbench.verify.most import InputSteps


def waiting(pipeline: Pipeline, queue: str, proven: Mapping[str, int], settings: Settings, most: int) -> QueueMost:
    """The smallest capacity of this queue of a flat and resolved pipeline; other queues have their proven ones."""
    part = upstream(pipeline, queue)
    others = {*part.queues, *(node.pending for node in part.nodes if node.pending)} - {queue}
    if unknown := sorted(others - set(proven)):
        reason = f"it depends on queues that have no proven capacity: {', '.join(unknown)}"
        return QueueMost(at_least=1, part=part, reason=reason)
    part = with_room(part, {name: proven[name] for name in others})
    q = {name: proven[name] for name in part.queues}
    settings = replace(settings, q=q)
    fits, short = 1, 0
    too_short: Trace | None = None
    while (verdict := _asked(part, queue, fits, settings)).outcome is Outcome.FAILS:
        short, too_short = fits, verdict.counterexample
        found = QueueMost(at_least=short + 1, part=part, verdict=verdict, engine=verdict.engine, witness=too_short)
        if pumping := _pump(part, queue, q, verdict):
            return replace(found, pumping=pumping)
        if fits >= most:
            text = f"{fits + 1} positions can wait, and no stream was found that makes ever more wait"
            return replace(found, reason=text)
        fits = min(most, 2 * fits)
    while verdict.outcome is Outcome.HOLDS and fits - short > 1:
        middle = (short + fits) // 2
        between = _asked(part, queue, middle, settings)
        if between.outcome is Outcome.HOLDS:
            fits, verdict = middle, between
        else:
            short, too_short = middle, between.counterexample
    found = QueueMost(at_least=short + 1, part=part, verdict=verdict, engine=verdict.engine, witness=too_short)
    if verdict.outcome is Outcome.HOLDS:
        return replace(found, at_least=fits, at_most=fits)
    return replace(
        found,
        reason=verdict.reason or "a number can leave its checked domain, and nothing is concluded from what follows",
    )


def _asked(part: Pipeline, queue: str, capacity: int, settings: Settings) -> Verdict:
    """Whether never more positions wait than this."""
    text = f"more than {capacity} positions wait in queue({queue})"
    room = invariant(f"{queue} has room", lambda s: negate(overflow_of([s.queues[queue]])), text, about_overflow=True)
    return check(with_room(part, {queue: capacity}), room, settings)


def _pump(part: Pipeline, queue: str, q: Mapping[str, int], verdict: Verdict) -> tuple[InputSteps, Pump] | None:
    """The first moments of a counterexample between which the queue only gets longer, and all else comes back."""
    assert verdict.counterexample is not None
    inputs = [step.inputs for step in verdict.counterexample.steps if not step.ends]
    widest = max(width or 1 for width in part.widths.values() if width)
    system = outline(part, {**q, queue: widest * len(inputs)}).whole()
    decide, owner = {v.name for v in cone(system, queue).variables}, instance_of(system.queues[queue].length.name)
    control, kept = list[int](), dict[int, list[int]]()
    for i, name in enumerate(v.name for v in system.variables):
        if name in decide and instance_of(name) != owner:
            control.append(i)
        elif name in decide and (place := waiting_place(name)) is not None:
            kept.setdefault(place, []).append(i)
    verdicts = [slot.present for slot in system.pipes[part.outputs[0][1]].slots]
    simulator, lengths, states, silent = Simulator(system, verdicts), [0], [], []
    for events in inputs:
        states.append(simulator.state)
        step = simulator.step(events)
        lengths.append(step.queues[queue])
        silent.append(not any(step.labels))
    states.append(simulator.state)
    for end in range(1, len(states)):
        for start in reversed(range(end)):
            if not silent[start]:
                break
            if lengths[end] == lengths[start] or (kept and not lengths[start]):
                continue
            same = [*control, *(i for place in range(lengths[start]) for i in kept.get(place, ()))]
            if all(states[start][i] == states[end][i] for i in same):
                return tuple(inputs[:end]), Pump(start, end - start, lengths[end] - lengths[start])
    return None
