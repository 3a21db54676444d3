"""Counterexamples: from an engine's trace to a run over the user's names, replayed on the running pipeline.

Only the inputs are taken from the engine. The transition system, evaluated in Python, gives what every pipe
carries, and its variables must agree with the engine's. Then the reference executor runs the same inputs. If all
agree the run is "confirmed by execution"; if not, it is a "model gap at step k", which is a defect of workbench.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from typing import Any, NamedTuple

from workbench.budget import phase
from workbench.core.domain import Overflowing, Value
from workbench.core.fields import join_parts, split
from workbench.core.kinds import Keeping, Lacking
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import END, FIND_ESCAPES
from workbench.core.readable import plural
from workbench.core.term import FALSE, leaves
from workbench.errors import Overflow
from workbench.executors.backend import StepRecord
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import outline
from workbench.ir.reduce import Model, escape_in
from workbench.ir.simulate import Simulator, Step
from workbench.ir.system import Input, System, instance_of
from workbench.processors.held.group import flatten
from workbench.processors.moore import Moore, name_variables
from workbench.smv.engines.engine import RawTrace
from workbench.smv.printer import SmvModel
from workbench.verify.answer.trace import ROUNDS, Growth, Trace, TraceStep, Waiting
from workbench.verify.ask.environment import Environment

CONFIRMED = "confirmed by execution"
Inputs = Sequence[Mapping[str, Value]]
"""The events on the inputs, per step."""


@phase("replaying the run that was found")
def decode(
    pipeline: Pipeline,
    system: System,
    model: Model,
    smv: SmvModel,
    raw: RawTrace,
    environment: Environment,
    shows: str = "",
    shortest: bool = False,
) -> Trace:
    """Decode the engine's trace into a run of the pipeline, and replay it.

    Parameters
    ----------
    pipeline: over finite domains.
    system: the system of the question.
    model, smv: the cone that the engine was given, and its text.
    environment: the assumptions about the inputs.
    shows, shortest: as in `Trace`.
    """
    whole, pipeline = pipeline, flatten(pipeline)
    inputs = [inputs_of(system, partial(smv.read, state), environment) for state in raw.steps]
    bounds = {queue.name: queue.capacity for queue in model.queues}
    run = _simulate(pipeline, bounds, inputs, raw.loop, model)
    gap = _find_engine_gap(smv, raw, run.steps)
    if gap is None and raw.loop is not None and not _comes_back(smv, run.steps, raw.loop, len(inputs)):
        gap = len(inputs) - 1
    replay = f"model gap at step {gap}" if gap is not None else _confirm_outside(environment, raw, run.replay)
    keeping = {node: node.processor for node in pipeline.nodes if isinstance(node.processor, Keeping)}
    variables = name_variables(pipeline.nodes)
    again = [] if raw.loop is None else inputs[raw.loop :]
    kept_inside = [*_hold_inside(run.executed, keeping, variables, bounds, [*inputs, *again])]
    steps = tuple(
        replace(step, outside=environment.outside(state), contents={**step.contents, **queues}, variables=values)
        for step, state, (queues, values) in zip(
            show_steps(pipeline, inputs, run), raw.steps, kept_inside, strict=False
        )
    )
    varies = () if raw.loop is None else _find_varying(run, [each for _, each in kept_inside], len(inputs), raw.loop)
    inside = {
        queue: as_
        for node, each in keeping.items()
        for queue, as_ in zip(node.inside, each.queue_domains, strict=False)
    }
    domains = {
        **{name: moore.variables[i].domain for name, (_, moore, i) in variables.items()},
        **pipeline.domains,
        **inside,
    }
    stop, remedy = ("", "") if run.stop is None else (run.stop.what, run.stop.hint.removeprefix(FIND_ESCAPES))
    shows = f"{shows}: {stop}" if stop else shows
    return Trace(steps, raw.loop, shows, shortest, replay, domains, bounds, varies, whole, remedy)


class Rerun(NamedTuple):
    """The steps of a run with two more rounds of its loop, the queue contents after each, and the replay's result.

    `stop`: the error about the number that leaves its range, if the run ends with that. `executed`: the pipeline that
    was run.
    """

    steps: Sequence[Step]
    waiting: Sequence[Mapping[str, Waiting]]
    executed: Pipeline
    replay: str
    stop: Overflow | None = None


def _simulate(
    pipeline: Pipeline,
    bounds: Mapping[str, int],
    inputs: Inputs,
    loop: int | None,
    model: Model | None = None,
    unseen: str = "a number the property does not see",
) -> Rerun:
    """Run the transition system of a flat pipeline on these inputs, up to an overflow, and replay the run.

    Values that the model lacks are those of the replay, if the run goes on as in the model.

    `unseen`: describes a number that may leave its checked domain.
    """
    rounds = [*inputs] if loop is None else [*inputs, *inputs[loop:], *inputs[loop:]]
    steps = _make_simulator(pipeline, bounds, len(rounds), model).trace_to_overflow(rounds)
    waiting = contents(pipeline, steps)
    replay, stop = execute(pipeline, bounds, rounds, steps, waiting, unseen)
    if any(seen < anywhere for seen, anywhere in (step.labels for step in steps)):
        whole = _for_replay(pipeline)
        if completed := _execute_whole(whole, bounds, rounds, steps):
            return Rerun(completed, contents(pipeline, completed), whole, CONFIRMED)
    return Rerun(steps, waiting, pipeline, replay, stop)


def _for_replay(pipeline: Pipeline) -> Pipeline:
    """Return a flat pipeline that goes on where its model lacks a value that no processor reads."""
    read = {pipe for node in pipeline.nodes for pipe in node.inputs}

    def node_for_replay(node: Node) -> Node:
        if isinstance(node.processor, Keeping) and read.isdisjoint(node.outputs):
            return replace(node, processor=node.processor.for_replay())
        return node

    return replace(pipeline, nodes=tuple(map(node_for_replay, pipeline.nodes)))


def _execute_whole(
    pipeline: Pipeline, bounds: Mapping[str, int], inputs: Inputs, expected: Sequence[Step]
) -> list[Step]:
    """Run the inputs on the reference executor; return the expected steps, with the values that the model lacks.

    Empty if something else differs, or if the property sees such a value.
    """
    executor, steps = Reference(pipeline, bounds), list[Step]()
    for events, step in zip(inputs, expected, strict=False):
        try:
            record = executor.step(events)
        except Overflow as error:
            return [*steps, step] if error.queue in step.overflows else []
        if step.labels[0] or step.overflows or not _is_same(record, step):
            return []
        carried = {pipe: record.pipes[pipe] for pipe in step.pipes}
        completed = {pipe: _show_lacking(each.value) if each.present else None for pipe, each in carried.items()}
        steps.append(step._replace(pipes=completed))
    return steps


def _show_lacking(value: Any) -> Any:
    """Return what a pipe carries, with the values that the model lacks."""
    if isinstance(value, tuple | list):
        return type(value)(map(_show_lacking, value))
    return value.value if isinstance(value, Lacking) else value


def show_steps(pipeline: Pipeline, inputs: Inputs, run: Rerun) -> tuple[TraceStep, ...]:
    """Return the steps of a run of a flat pipeline on these inputs, with their `contents`."""
    return tuple(
        TraceStep(heard(pipeline, events, step.pipes), step.pipes, step.queues, step.overflows, held, events is END)
        for events, step, held in zip(inputs, run.steps, run.waiting, strict=False)
    )


def contents(pipeline: Pipeline, steps: Sequence[Step | TraceStep]) -> list[dict[str, Waiting]]:
    """Return the events waiting in every queue at the end of each step, oldest first.

    A queue is first in, first out; an event that arrived at a full queue is not included.

    Parameters
    ----------
    pipeline: flat.
    steps: from the initial state on.
    """
    held = {queue: Waiting([]) for queue in pipeline.queues}
    joins = [list(zip(node.queues, node.inputs, strict=True)) for node in pipeline.nodes if node.queues]
    snapshots = []
    for step in steps:
        for join in joins:
            lines = {queue: held[queue].append(events_of(step.pipes[pipe])) for queue, pipe in join}
            # one queue is empty at the end of the step and lost nothing, so its length is the number of fronts consumed
            front_count = min((len(line) for queue, line in lines.items() if queue not in step.overflows), default=0)
            held.update((queue, line[front_count : front_count + step.queues[queue]]) for queue, line in lines.items())
        snapshots.append(dict(held))
    return snapshots


def _hold_inside(
    pipeline: Pipeline,
    keeping: Mapping[Node, Keeping],
    variables: Mapping[str, tuple[Node, Moore, int]],
    bounds: Mapping[str, int],
    inputs: Inputs,
) -> Iterator[tuple[dict[str, Sequence[Value]], dict[str, Value]]]:
    """Yield the contents of queues inside of processors, and variables of machines, at the end of each step."""
    executor = Reference(pipeline, bounds)
    for events in inputs:
        with suppress(Overflow):  # then the queues are unchanged
            if keeping or variables:
                executor.step(events)
        held = {
            queue: values
            for node, processor in keeping.items()
            for queue, values in zip(node.inside, processor.queue_contents(executor.states[node.name]), strict=False)
        }
        yield held, {name: executor.states[node.name][1 + i] for name, (node, _, i) in variables.items()}


def heard(pipeline: Pipeline, events: Mapping[str, Value], pipes: Mapping[str, Value | None]) -> Mapping[str, Value]:
    """Return the inputs of a step, without oracle values that have no effect."""
    vain = {name for name in events if name in pipeline.oracles and pipes[name] is None}
    return {name: value for name, value in events.items() if name not in vain} if vain else events


def events_of(carried: Value | None) -> list[Value]:
    """Return what a pipe carries in a step, as a list."""
    if carried is None:
        return []
    return carried if isinstance(carried, list) else [carried]


def _find_varying(run: Rerun, variables: Sequence[Mapping[str, Value]], length: int, loop: int) -> tuple[str, ...]:
    """Return the pipes, queues and variables that differ between the first and the second round of a loop."""
    names: dict[str, None] = {}
    rows = zip(run.steps, run.waiting, variables, strict=False)
    records = [{**step.pipes, **held, **own} for step, held, own in rows]
    for one, two in zip(records[loop:length], records[length:], strict=False):
        names |= {name: None for name in one if one[name] != two[name]}
    return tuple(names)


def _confirm_outside(environment: Environment, raw: RawTrace, replay: str) -> str:
    """Return the result of the replay, checked also against the system that drives the inputs, if any."""
    if not any(environment.outside(state) for state in raw.steps):
        return replay
    if not environment.confirm(raw):
        return "model gap: the system alone has no such run"
    return f"{replay}, and a run of the system alone" if replay == CONFIRMED else replay


def _make_simulator(pipeline: Pipeline, bounds: Mapping[str, int], longest: int, model: Model | None) -> Simulator:
    """Return a simulator of the whole system; queues without a bound have capacity for the whole run.

    Labels: whether a checked number that the model sees leaves its domain; whether any checked number does.
    """
    widest = max(width or 1 for width in pipeline.widths.values())
    everything = outline(pipeline, {**dict.fromkeys(pipeline.queues, longest * widest), **bounds})
    if model is not None:
        counted = everything.names().keys()
        looked_at = {instance_of(v.name) for v in model.system.variables if v.name not in counted}
        everything = everything.with_held(dict.fromkeys(looked_at & everything.holding.keys()))
    escapes = escape_in(everything, set(everything.names()), Overflowing.CHECKED)
    return Simulator(everything, [FALSE if model is None else model.escapes, escapes])


ReadLeaf = Callable[[str], Value | None]
"""Returns the value of a leaf of an input, by its name; None if the model does not have it."""


def inputs_of(system: System, read: ReadLeaf, environment: Environment) -> Mapping[str, Value]:
    """Return the input events in a state of a model; inputs that the property does not read get a default."""
    end, presence = system.end, {each.name: read(each.present.name) for each in system.inputs}
    if end and read(end.now.name):
        return END
    events = {each.name: _read_value(each, read) for each in system.inputs if presence[each.name]}
    if end and read(end.over.name):
        return events
    # inputs outside the cone: as the environment requires, else silent
    arrived = any(presence[each.name] for each in system.arrivals)
    if environment.row.together and (arrived or not environment.row.idle):
        events.update((each.name, each.domain.default) for each in system.arrivals if presence[each.name] is None)
    return events


def _read_value(source: Input, read: ReadLeaf) -> Value:
    unseen = split(source.domain, source.domain.default)
    known = ((read(leaf.name), default) for leaf, default in zip(leaves(source.value), unseen, strict=True))
    return join_parts(source.domain, (default if value is None else value for value, default in known))


def _find_engine_gap(smv: SmvModel, raw: RawTrace, simulated: Sequence[Any]) -> int | None:
    """Return the first step at which a variable differs between the engine and the direct evaluation."""
    for position, (state, step) in enumerate(zip(raw.steps, simulated, strict=False)):
        for name, value in step.state.items():
            if smv.read(state, name) not in (None, value):
                return position
    return None


def execute(
    pipeline: Pipeline,
    bounds: Mapping[str, int],
    inputs: Inputs,
    expected: Sequence[Step],
    waiting: Sequence[Mapping[str, Waiting]],
    unseen: str,
) -> tuple[str, Overflow | None]:
    """Run the inputs on the reference executor.

    Returns whether it makes the expected steps, with their `contents`, and the `stop` of a `Rerun`.
    """
    executor = Reference(pipeline, bounds)
    for position, (events, step, held) in enumerate(zip(inputs, expected, waiting, strict=False)):
        seen_escape, any_escape = step.labels
        try:
            record = executor.step(events)
        except Overflow as error:
            if error.queue in step.overflows or seen_escape:
                cause = error.__cause__
                return CONFIRMED, cause if isinstance(cause, Overflow) and not error.queue else None
            if any_escape:
                return f"{CONFIRMED} up to step {position}, where {unseen} leaves its domain and execution stops", None
            return f"model gap at step {position}", None
        # otherwise comparing both ends is enough: each waiting event reaches the head of its queue in the end, or waits
        # before the last step, which may overflow
        whole = position >= len(expected) - 2
        waits = executor.contents() == held if whole else all(held[q].ends_as(x) for q, x in executor.lines.items())
        if step.overflows or any_escape or not _is_same(record, step) or not waits:
            return f"model gap at step {position}", None
    return CONFIRMED, None


def _is_same(record: StepRecord, step: Step) -> bool:
    """Whether the executor and the transition system agree on every pipe and queue."""
    for pipe, value in step.pipes.items():
        maybe = record.pipes[pipe]
        if bool(maybe.present) != (value is not None) or (maybe.present and not _agrees(maybe.value, value)):
            return False
    return all(record.queues[queue] == length for queue, length in step.queues.items())


def _agrees(value: Any, expected: Any) -> bool:
    """Whether the executor has a value that the model expects, except where the model lacks it."""
    if isinstance(value, tuple | list) and isinstance(expected, tuple | list) and len(value) == len(expected):
        return all(map(_agrees, value, expected))
    return isinstance(value, Lacking) or value == expected


def _comes_back(smv: SmvModel, steps: Sequence[Step], loop: int, length: int) -> bool:
    """Whether a lasso returns to the state it loops to, in every variable that the property depends on."""
    first, again = ({n: value for n, value in steps[i].state.items() if n in smv.names} for i in (loop, length))
    return first == again


def replay_inputs(
    pipeline: Pipeline, inputs: Inputs, loop: int | None = None, *, shows: str = "", shortest: bool = False
) -> Trace:
    """Run a flat, resolved pipeline on these inputs with unbounded queues, and replay it on the reference executor.

    Parameters
    ----------
    loop: the step that follows the last one, for an infinite run.
    """
    run = _simulate(pipeline, {}, inputs, loop)
    steps = show_steps(pipeline, inputs, run)
    return Trace(steps, loop, shows, shortest, run.replay, dict(pipeline.domains), {}, (), pipeline)


# --- runs that show how long a queue gets -------------------------------------------------------------------


def show_overflow(pipeline: Pipeline, queue: str, capacity: int, inputs: Inputs, *, shortest: bool = False) -> Trace:
    """Return the replayed run of a flat pipeline at whose last step the queue, of this capacity, overflows.

    All other queues are unbounded.
    """
    run, replay = _run_queue(pipeline, {queue: capacity}, inputs)
    if replay == CONFIRMED and (len(run) < len(inputs) or not run[-1].overflows):
        replay = f"model gap at step {len(run) - 1}"
    shows = f"an event arrives at queue({queue}), which holds {capacity} already"
    return Trace(run, None, shows, shortest, replay, dict(pipeline.domains), {queue: capacity}, (), pipeline)


def show_growth(pipeline: Pipeline, queue: str, growth: Growth) -> Trace:
    """Return the replayed run of a flat pipeline that makes the queue longer with each round of its cycle."""
    run, replay = _run_queue(pipeline, {}, growth.repeat(ROUNDS - 1))
    lengths = [0, *(step.queues[queue] for step in run)]
    ends = range(growth.start + growth.length, len(lengths), growth.length)
    gap = next((end - 1 for end in ends if lengths[end] - lengths[end - growth.length] != growth.by), None)
    replay = replay if gap is None else f"model gap at step {gap}"
    shows = f"each round leaves {plural(growth.by, 'more event')} in queue({queue})"
    steps, domains = run[: len(growth.inputs)], dict(pipeline.domains)
    return Trace(steps, growth.start, shows, False, replay, domains, {}, (queue,), pipeline)


def _run_queue(pipeline: Pipeline, bounds: Mapping[str, int], inputs: Inputs) -> tuple[tuple[TraceStep, ...], str]:
    """Return the steps of a run up to where a number leaves its checked domain, and the result of the replay."""
    run = _simulate(pipeline, bounds, inputs, None, unseen="a number that the queue does not depend on")
    known = list(takewhile(lambda step: not step.labels[1], run.steps))
    return show_steps(pipeline, inputs, run._replace(steps=known)), run.replay
