"""Runs of models of pipelines with rules in them as tests: of the pipeline, with times in place of ticks.

The rule of this module: the steps are those of the run, a loop several times; what is expected is what execution shows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from workbench.conformance.written_tests.reproduce import ROUNDS, played
from workbench.core.domain import FLOAT, INT, Domain, Value
from workbench.core.fields import Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.units import ELAPSED
from workbench.processors.held.group import flatten
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.rules_in_pipeline import RulesInPipeline
from workbench.verify.answer.trace import Trace


def timed(run: Trace) -> bool:
    """Whether time passes in a run in ticks."""
    return run.pipeline is not None and any(isinstance(node.processor, RulesInPipeline) for node in run.pipeline.nodes)


def timed_run(run: Trace, function: str, side: Pipeline) -> Iterator[str]:
    """The test of a run of a pipeline, which `function` builds and which is `side`, over its domain for `int`."""
    flat = flatten(side)
    rows = list(_rows(run, flat))
    steps = tuple(replace(run.steps[number], inputs=row) for number, row in rows)
    known = {queue: size for queue, size in run.capacities.items() if queue in flat.queues}
    yield from played(replace(run, steps=steps, loop=None, pipeline=flat, capacities=known), function)
    yield f"# so {run.shows}" if run.shows else "# the model has no room for more"


def _rows(run: Trace, side: Pipeline) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Which step of the run comes, and what it brings; each has its time."""
    assert run.pipeline is not None
    tick = next(node.processor.tick for node in run.pipeline.nodes if isinstance(node.processor, RulesInPipeline))
    numbers = list(range(len(run.steps)))
    numbers += numbers[run.loop :] * (ROUNDS - 1) if run.loop is not None else []
    places, now = {name: place for place, (name, _) in enumerate(run.pipeline.inputs)}, 0
    for number in numbers:
        given = dict(run.steps[number].inputs)
        now += ticks_of(given.pop(ELAPSED, 0)) * tick
        own = {side.inputs[places[name]]: value for name, value in given.items()}
        row = {name: _meant(value, domain) for (name, domain), value in own.items()}
        yield number, {**row, **dict.fromkeys(side.clocks, now)}


def _meant(shown: Value, domain: Domain) -> Value:
    """What an input carries where the pipeline runs; a model may have the names of values."""
    if isinstance(domain, Tuple):
        return tuple(_meant(each, part) for each, part in zip(shown, domain.fields, strict=True))
    return float(shown) if domain == FLOAT else int(shown) if domain == INT else shown
