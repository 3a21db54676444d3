"""Runs that show how long a queue gets, on the reference executor: one that overflows it, or makes it ever longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from workbench.core.domain import Value
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.verify.answer.replay import CONFIRMED, contents, heard
from workbench.verify.answer.verdict import Trace, TraceStep
from workbench.verify.most import ROUNDS, Growth, InputSteps


def overflowing(pipeline: Pipeline, queue: str, capacity: int, inputs: InputSteps, *, shortest: bool = False) -> Trace:
    """The run of a flat pipeline at whose last step the queue, of this capacity, overflows; replayed.

    All other queues have room for everything.
    """
    steps = _recorded(pipeline, inputs)
    if len(steps) == len(inputs):
        last = steps[-1]
        held = {**last.contents, queue: last.contents[queue][:capacity]}
        steps[-1] = replace(last, queues={**last.queues, queue: capacity}, overflows=(queue,), contents=held)
    shows = f"an event arrives at queue({queue}), which holds {capacity} already"
    replay = _first_overflow(pipeline, queue, capacity, inputs)
    return Trace(tuple(steps), None, shows, shortest, replay, dict(pipeline.domains), {queue: capacity}, (), pipeline)


def show_growth(pipeline: Pipeline, queue: str, growth: Growth) -> Trace:
    """The run of a flat pipeline that makes the queue longer with each round of its cycle; replayed."""
    steps = _recorded(pipeline, growth.repeated(ROUNDS - 1))
    shows = f"each round leaves {growth.by} more {'event' if growth.by == 1 else 'events'} in queue({queue})"
    replay, domains = _grows(steps, queue, growth), dict(pipeline.domains)
    shown = tuple(steps[: len(growth.inputs)])
    return Trace(shown, growth.start, shows, False, replay, domains, {}, (queue,), pipeline)


def _recorded(pipeline: Pipeline, inputs: Sequence[Mapping[str, Value]]) -> list[TraceStep]:
    """What the executor shows with unbounded queues, up to where a number leaves its checked domain."""
    executor = Reference(pipeline, {})
    steps: list[TraceStep] = []
    for events in inputs:
        try:
            record = executor.step(events)
        except Overflow:
            break
        pipes = {name: maybe.value if maybe.present else None for name, maybe in record.pipes.items()}
        given = heard(pipeline, events, pipes)
        steps.append(TraceStep(given, pipes, record.queues, (), {}, events is END))
    held = contents(pipeline, steps)
    return [replace(step, contents=waiting) for step, waiting in zip(steps, held, strict=True)]


def _escaped(step: int) -> str:
    return f"{CONFIRMED} up to step {step}, where a number that the queue does not depend on leaves its domain"


def _first_overflow(pipeline: Pipeline, queue: str, capacity: int, inputs: InputSteps) -> str:
    executor = Reference(pipeline, {queue: capacity})
    for step, events in enumerate(inputs):
        try:
            executor.step(events)
        except Overflow as error:
            if error.queue != queue:
                return _escaped(step)
            return CONFIRMED if step == len(inputs) - 1 else f"model gap at step {step}"
    return f"model gap at step {len(inputs) - 1}"


def _grows(steps: Sequence[TraceStep], queue: str, growth: Growth) -> str:
    lengths = [0, *(step.queues[queue] for step in steps)]
    for end in range(growth.start + growth.length, growth.start + ROUNDS * growth.length + 1, growth.length):
        if end >= len(lengths):
            return _escaped(len(steps))
        if lengths[end] - lengths[end - growth.length] != growth.by:
            return f"model gap at step {end - 1}"
    return CONFIRMED
