"""Random runs of a pipeline's model: they quickly refute claims, which then need no engine."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

from workbench.core.domain import Overflowing, Value
from workbench.core.pipeline import Pipeline
from workbench.ir.compose import compose
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator, Step
from workbench.processors.held.contracts import LegalSteps
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Environment

RUNS, STEPS = 12, 24
"""The number of runs, and their maximum length: a few milliseconds together."""
TRIES = 20
"""Maximum number of draws of a step that breaks assumptions, before a run continues without it."""


class SampledRun(NamedTuple):
    """One run up to its first overflow: the events on the inputs, and the steps."""

    inputs: list[dict[str, Value]]
    steps: list[Step]


def fitting(pipeline: Pipeline, settings: Settings) -> Settings:
    """Return the settings without the capacities of queues that no longer exist."""
    if isinstance(settings.q, int):
        return settings
    return replace(settings, q={queue: size for queue, size in settings.q.items() if queue in pipeline.queues})


class Sampled:
    """A flat, resolved pipeline that is run on the same random inputs every time."""

    def __init__(self, pipeline: Pipeline, settings: Settings) -> None:
        self.pipeline = pipeline
        self.settings = settings
        system = compose(pipeline, fitting(pipeline, settings).q)
        escapes = escape_in(system, set(system.names()), Overflowing.CHECKED)
        self._simulator = Simulator(system, [escapes])

    @cached_property
    def samples(self) -> list[SampledRun]:
        """The runs on random inputs."""
        rng = random.Random(0)
        return [self.run(list(_draw_inputs(self.pipeline, self.settings.environment, rng, STEPS))) for _ in range(RUNS)]

    def run(self, inputs: list[dict[str, Value]]) -> SampledRun:
        """Return the run on these inputs, up to the last step before something overflows."""
        steps = list(self._simulator.trace_before(inputs))
        return SampledRun(inputs[: len(steps)], steps)


def _draw_inputs(pipeline: Pipeline, env: Environment, rng: random.Random, length: int) -> Iterator[dict[str, Value]]:
    """Yield steps that the environment and the assumptions of the pipeline allow, each with some event."""
    names = list(pipeline.ports.arrivals)
    # every run has its own probability, so that a rare order of events is not rare in all of them
    legal, weight = LegalSteps(pipeline), rng.choice((0.3, 0.6, 0.9))
    for _ in range(length):
        for _ in range(TRIES):
            present = env.row.draw(rng, names, weight)
            oracles = [oracle for oracle in pipeline.oracles if rng.random() < 1 - weight]
            step = {name: _draw_value(dict(pipeline.inputs)[name], rng) for name in (*present, *oracles)}
            if legal.admit(step):
                yield step
                break


def _draw_value(domain: Any, rng: random.Random) -> Value:
    """Draw a value of a finite domain, without listing a large one."""
    fields = getattr(domain, "fields", None)
    if fields is not None:
        return tuple(_draw_value(field, rng) for field in fields)
    if domain.numeric:
        return rng.randint(domain.lo, domain.hi)
    return rng.choice(list(domain.values()))
