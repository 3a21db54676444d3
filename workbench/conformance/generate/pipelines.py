"""Hypothesis strategies for well-typed pipelines (see `construction`) and for traces of their inputs.

The rule of this module: choices are listed simplest first and counts start small, so failures shrink to few processors
with small parameters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, islice
from typing import Any

from hypothesis import strategies as st

from workbench.conformance.generate import functions as g
from workbench.conformance.generate.construction import MAX_EVENTS, Growing
from workbench.conformance.generate.domains import EXTREMES, REGROUPED, Extremes, domains, unbounded, values
from workbench.conformance.generate.single import Draw
from workbench.core.domain import Domain, Integers, Reals, Texts, Value
from workbench.core.fault import Fault, Kind
from workbench.core.fields import Map, Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.program import Port, Ported
from workbench.processors.held.contracts import LegalSteps
from workbench.processors.held.group import flatten

EXTREME = 4
"""One in `EXTREME` traces has extreme numbers."""
TRIES = 20
"""Maximum number of steps drawn for each step that keeps the assumptions of a pipeline."""


@st.composite
def pipelines(
    draw: Draw,
    *,
    max_nodes: int = 5,
    max_inputs: int = 2,
    depth: int = 2,
    max_bits: int = 24,
    inputs: st.SearchStrategy[Domain] = domains,
    most_events: int = MAX_EVENTS,
    large: bool = False,
) -> Pipeline:
    """Draw a well-typed pipeline, over finite domains unless `large`.

    Parameters
    ----------
    max_nodes: the maximum number of processors; a group counts as one.
    depth: the maximum nesting depth of groups and windows; 0 for none.
    max_bits: the maximum number of state bits, with queues of capacity `CAPACITY`.
    inputs: the domains of the open inputs.
    most_events: the maximum number of events on a pipe in one step; with 1, nothing acts at the end of a stream either.
    large: whether windows are wide, numbers are unbounded, and the state bits are not limited.
    """
    inputs = st.one_of(unbounded, inputs) if large else inputs
    input_domains = draw(st.lists(inputs, min_size=1, max_size=max_inputs))
    growing = Growing(draw, "p", input_domains, depth, max_bits, most_events, large=large)
    for _ in range(draw(st.integers(1, max_nodes))):
        growing.grow()
    return growing.finish(2)


@st.composite
def faults(draw: Draw, pipeline: Pipeline, *, max_faults: int = 2, most_events: int = MAX_EVENTS) -> list[Fault]:
    """Draw faults of a pipeline's pipes, also inside groups; no pipe then carries more than `most_events` in a step."""
    legal_faults: list[Fault] = []
    for _ in range(draw(st.integers(1, max_faults))):
        pipe = draw(st.sampled_from(sorted(pipeline.every_pipe)))
        kind = draw(st.sampled_from(Kind))
        by = draw(st.integers(1, 2)) if kind is Kind.DELAY else 0
        limit, domain = draw(st.sampled_from([None, 1, 2])), pipeline.every_pipe[pipe]
        conditions = [None, g.fix_right("=", draw(values(domain)))] if not isinstance(domain, Map | Tuple) else [None]
        tried = [*legal_faults, Fault(kind, pipe, by, limit, draw(st.sampled_from(conditions)))]
        if max(width or 0 for width in flatten(pipeline.with_faults(tried)).widths.values()) <= most_events:
            legal_faults = tried
    return legal_faults


def traces(
    pipeline: Pipeline, *, max_steps: int = 8, together: bool = False
) -> st.SearchStrategy[list[dict[str, Value]]]:
    """Return a strategy for steps of inputs, with absent events and idle steps; `together`: every input at every step.

    If a processor acts at the end of its stream, the last step may be `END`.
    """
    present = {name: values(domain) for name, domain in pipeline.inputs}
    if together:
        return st.lists(st.fixed_dictionaries(present), max_size=max_steps)
    steps = st.lists(st.fixed_dictionaries({}, optional=present), max_size=max_steps)
    if not flatten(pipeline).late:
        return steps
    return st.builds(lambda trace, ends: [*trace, END] if ends else trace, steps, st.booleans())


@st.composite
def long_traces(
    draw: st.DrawFn,
    /,
    program: Ported,
    max_steps: int,
    *,
    ends: bool = False,
    together: bool = False,
    regrouped: bool = False,
) -> list[Mapping[str, Value]]:
    """Draw a trace of inputs, of any length up to `max_steps`; many steps have every input, with `together` all do.

    The last element is `END` if `ends`, and may be `END` otherwise. In one of `EXTREME` traces some steps have extreme
    numbers; only some, since a run ends at an overflow. If `regrouped`, these are numbers whose sums do not depend on
    grouping. Oracles of faults are drawn like inputs. The clock advances by pauses near the thresholds of the
    processors, and half of the values are near their landmarks. Steps satisfy the assumptions of the program; where
    few do, there are fewer.
    """
    assumed = [each.body for each in program.own_assumptions] if isinstance(program, Pipeline) else []
    read = (program, *assumed) if isinstance(program, Pipeline) else ()
    processors = [each for pipeline in read for each in pipeline.typed.values()]
    landmarks = tuple(dict.fromkeys((type(value), value) for each in processors for value in each.landmarks))
    usual, kinds = _steps(program.ports.inputs, together, regrouped, landmarks)
    mixed = draw(st.integers(1, EXTREME)) == EXTREME
    count = draw(st.integers(0, max_steps))
    drawn = (draw(draw(kinds) if mixed else usual) for _ in range(count * (TRIES if assumed else 1)))
    legal = filter(LegalSteps(program).admit, drawn) if isinstance(program, Pipeline) else drawn
    trace: list[Mapping[str, Value]] = [*islice(legal, count)]
    count = len(trace)
    if clocks := [port for port in program.ports.inputs if port.clock and isinstance(port.domain, Integers)]:
        pauses = sorted({0, 1, *(max(0, p + by) for each in processors for p in each.pauses for by in (-1, 0, 1))})
        times = accumulate(draw(st.lists(st.sampled_from(pauses), min_size=count, max_size=count)))
        trace = [{**step, **{port.name: now for port in clocks}} for step, now in zip(trace, times, strict=True)]
    return [*trace, END] if ends or draw(st.booleans()) else trace


_Step = st.SearchStrategy[Mapping[str, Value]]


@lru_cache(64)  # Hypothesis examines a strategy on the first draw, which takes longer than drawing
def _steps(
    inputs: tuple[Port, ...], together: bool, regrouped: bool, landmarks: tuple[tuple[type, Value], ...] = ()
) -> tuple[_Step, st.SearchStrategy[_Step]]:
    """Return a strategy for usual steps, and a choice of these and of steps with extreme numbers."""

    def steps(extremes: Extremes | None) -> _Step:
        present = {port.name: values(port.domain, extremes=extremes) for port in inputs}
        complete = st.fixed_dictionaries(present)
        return complete if together else st.one_of(complete, complete, st.fixed_dictionaries({}, optional=present))

    usual = steps(_near([value for _, value in landmarks]) if landmarks else None)
    return usual, st.sampled_from((usual, usual, usual, steps(REGROUPED if regrouped else EXTREMES)))


def _near(landmarks: Sequence[Value]) -> Extremes:
    """Return strategies for each kind of the landmarks, with numbers next to them."""
    numbers = [each for each in landmarks if type(each) in (int, float)]
    texts = [each for each in landmarks if isinstance(each, str)]
    near = sorted({number + by for number in numbers for by in (-1, 0, 1)})
    whole = [number for number in near if isinstance(number, int) or number.is_integer()]
    return {
        Integers: st.sampled_from([int(number) for number in whole] or [0]),
        Reals: st.sampled_from([float(number) for number in near] or [0.0]),
        Texts: st.sampled_from(texts or [""]),
    }


@st.composite
def pipelines_and_traces(draw: st.DrawFn, /, **options: Any) -> tuple[Pipeline, list[dict[str, Value]]]:
    """Draw a pipeline and a trace for it."""
    pipeline = draw(pipelines(**options))
    return pipeline, draw(traces(pipeline, max_steps=16 if options.get("large") else 8))
