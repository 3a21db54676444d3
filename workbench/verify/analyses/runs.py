"""Runs of a pipeline that an analysis found for itself: as traces, executed like every counterexample."""

from __future__ import annotations

from workbench.core.domain import Overflowing
from workbench.core.pipeline import Pipeline
from workbench.core.term import FALSE
from workbench.ir.compose import outline
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator
from workbench.verify.answer.replay import Inputs, contents, executed, shown_steps
from workbench.verify.answer.verdict import Trace


def run_of(
    pipeline: Pipeline, inputs: Inputs, loop: int | None = None, *, shows: str = "", shortest: bool = False
) -> Trace:
    """What a flat, resolved pipeline does on these inputs with room in every queue, replayed on the reference executor.

    Parameters
    ----------
    loop: the step that follows the last one, for a run that goes on for ever.
    """
    rounds = [*inputs] if loop is None else [*inputs, *inputs[loop:], *inputs[loop:]]
    widest = max(width or 1 for width in pipeline.widths.values())
    system = outline(pipeline, dict.fromkeys(pipeline.queues, len(rounds) * widest))
    escapes = escape_in(system, set(system.names()), Overflowing.CHECKED)
    found = Simulator(system, [FALSE, escapes]).trace(rounds)
    waiting = contents(pipeline, found)
    steps = shown_steps(pipeline, inputs, found, waiting)
    bounds = {queue.name: queue.capacity for queue in system.queues.values()}
    replay = executed(pipeline, bounds, rounds, found, waiting)
    return Trace(steps, loop, shows, shortest, replay, dict(pipeline.domains), {}, (), pipeline)
