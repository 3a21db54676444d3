"""Tests for runs of models of rules: the rules as text, their events as rows, and the composites of each event.

The rule of this module: the expected composites come from `meaning`; the test runs an engine. A pipeline with rules in
it runs with times in place of ticks, and its expected outputs come from an execution. The steps are those of the run,
with a loop several times.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from workbench.conformance.written_tests.pytest_file import Recipe, as_source, identifier
from workbench.conformance.written_tests.reproduce import MAX_ON_A_LINE, number_steps, write_replay
from workbench.core.domain import FLOAT, INT, Domain, Value
from workbench.core.fields import Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.units import ELAPSED, MICROSECONDS, largest_unit
from workbench.errors import Refused
from workbench.processors.held.group import flatten
from workbench.tesla.formulas import TREX
from workbench.tesla.meaning import meaning
from workbench.tesla.model.encoding import ticks_of
from workbench.tesla.model.machine import ModelledRules
from workbench.tesla.model.rules_in_pipeline import RulesInPipeline
from workbench.tesla.occurrence import Occurrence
from workbench.verify.answer.trace import Trace

EventRow = dict[str, Any]
"""An event with its type and time; or only a time that the clock has reached."""


def rules_in(pipeline: Pipeline) -> ModelledRules | None:
    """Return the rules if the pipeline is their model, else None."""
    nodes = [node.processor for node in flatten(pipeline).nodes]
    return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], ModelledRules) else None


def running_rules(model: ModelledRules) -> Recipe:
    """Return the recipe of the function that starts the rules; raise Refused if the model has arbitrary facts."""
    if model.frame.fixed_facts:
        there = "those of one moment, which are fixed in a test" if model.frame.changing else "those that the run shows"
        hint = f"give {there}: --facts TYPE=FILE.csv"
        raise Refused(f"a test of {model.rules.name} needs fixed facts, but the model allows any", hint=hint)
    unit, _ = _unit(model)
    arguments = f', unit="{unit}"' if unit else ""
    names = {name: list(model.rules.declarations[name].domains) for name in model.frame.facts}
    facts = {name: [dict(zip(names[name], row, strict=True)) for row in model.frame.facts[name]] for name in names}
    arguments += f", facts={as_source(facts)}" if facts else ""
    arguments += ", trex=True" if model.trex else ""
    result = f"return wb.rules.RunningRules(SOURCE{arguments})"
    return Recipe(identifier(model.rules.name), result, str(model.rules), kind="rules")


def rule_run(run: Trace, function: str, model: ModelledRules) -> Iterator[str]:
    """Yield the test of a run of a rule set, which `function` starts."""
    rows, notes = zip(*_rows(run, model), strict=True)
    yield f"running = {function}()"
    yield "steps = [  # what happens, what is emitted"
    for row, emitted, note in zip(rows, _collect_composites(model, rows), notes, strict=True):
        yield from _step(note, row, emitted)
    yield "]"
    yield f"seen = [{_write_send('running', rows)} for event, _ in steps]"
    yield "assert seen == [emitted for _, emitted in steps]"
    yield f"# so {run.shows}" if run.shows else "# the model has no capacity for more"


def rule_difference(run: Trace, functions: Sequence[str], models: Sequence[ModelledRules]) -> Iterator[str]:
    """Yield the test of a run on which two rule sets differ, or at which their comparison ends."""
    rows, notes = zip(*_rows(run, models[0]), strict=True)
    sides = [[list(map(_nameless, composites)) for composites in _collect_composites(model, rows)] for model in models]
    yield f"left, right = {functions[0]}(), {functions[1]}()"
    yield "steps = [  # what happens, what is emitted left and right"
    for row, one, two, note in zip(rows, *sides, notes, strict=True):
        yield from _step(note, row, one, two)
    yield "]"
    for side, variable in (("left", "ours"), ("right", "theirs")):
        yield f"{variable} = [{_write_send(side, rows)} for event, _, _ in steps]"
    yield "for composite in (each for found in (*ours, *theirs) for each in found):"
    yield '    del composite["rule"]'
    yield "assert list(zip(ours, theirs)) == [(one, two) for _, one, two in steps]"
    if sides[0] != sides[1]:
        yield "assert ours[-1] != theirs[-1]" if sides[0][-1] != sides[1][-1] else "assert ours != theirs"


def _step(note: str, row: EventRow, *emitted: Sequence[EventRow]) -> Iterator[str]:
    """Yield a step of the test; the composites are on lines of their own if they are too long."""
    line = f"    ({', '.join(map(as_source, (row, *map(list, emitted))))}),"
    if len(line) <= MAX_ON_A_LINE:
        yield line + note
        return
    yield f"    ({note}"
    yield f"        {as_source(row)},"
    for composites in emitted:
        if composites:
            yield from ("        [", *(f"            {as_source(each)}," for each in composites), "        ],")
        else:
            yield "        [],"
    yield "    ),"


def _write_send(running: str, rows: Sequence[EventRow]) -> str:
    """Return the source that sends an event; it advances the clock where time passes without an event."""
    publish = f"{running}.publish(**event)"
    if all("type" in row for row in rows):
        return publish
    return f'{publish} if "type" in event else {running}.advance(event["time"])'


def _rows(run: Trace, model: ModelledRules) -> Iterator[tuple[EventRow, str]]:
    """Yield the events of a run, a loop several times, each with a comment that names the step.

    The times of events advance the clock; for rules with absences, there are rows that only advance it, too.
    """
    _, size = _unit(model)
    now = 0
    for number, note in number_steps(run):
        for name, content in run.steps[number].inputs.items():
            if name != model.ports[0]:
                values = model.event(name, content, now).values
                attributes = dict(zip(model.rules.declarations[name].domains, values, strict=True))
                yield {"type": name, "time": now // size, **attributes}, note
                continue
            now += content * model.tick
            if model.frame.absences:  # no event before this time is still to come
                yield {"time": now // size - 1}, note


def _collect_composites(model: ModelledRules, rows: Sequence[EventRow]) -> list[list[EventRow]]:
    """Return the new composites of each row, by the meaning of the rules."""
    _, size = _unit(model)
    declared, compat = model.rules.declarations, TREX if model.trex else ""
    new_composites: list[list[EventRow]] = []
    events: list[Occurrence] = []
    counts = [0]
    for row in rows:
        time = row["time"] * size
        if "type" in row:
            events.append(Occurrence(row["type"], time, tuple(row[name] for name in declared[row["type"]].domains)))
        until = None if "type" in row else time
        composites = meaning(model.scaled, events, model.frame.facts, until=until, compat=compat)
        counts.append(len(composites))
        new_composites.append([_composite(model, each, size) for each in composites[counts[-2] :]])
    return new_composites


def _composite(model: ModelledRules, each: Occurrence, size: int) -> EventRow:
    names = model.rules.declarations[each.type].domains
    return {
        "type": each.type,
        "time": each.time // size,
        "rule": each.rule,
        **dict(zip(names, each.values, strict=True)),
    }


def _nameless(composite: EventRow) -> EventRow:
    """Return a composite without its rule, whose name may differ between two rule sets."""
    return {name: value for name, value in composite.items() if name != "rule"}


def _unit(model: ModelledRules) -> tuple[str | None, int]:
    """Return the largest unit that divides a tick, and its length in the model's times."""
    if model.unit is None:
        return None, 1
    unit = largest_unit(model.tick)
    return unit, MICROSECONDS[unit]


# --- pipelines with rules in them -------------------------------------------------------------------------


def has_ticks(run: Trace) -> bool:
    """Whether time passes in ticks in a run."""
    return run.pipeline is not None and any(isinstance(node.processor, RulesInPipeline) for node in run.pipeline.nodes)


def write_timed_run(run: Trace, function: str, side: Pipeline) -> Iterator[str]:
    """Yield the test of a run of a pipeline, `side`, which `function` builds, over its domain for `int`."""
    flat = flatten(side)
    rows = list(_iterate_timed_rows(run, flat))
    steps = tuple(replace(run.steps[number], inputs=row) for number, row in rows)
    known = {queue: size for queue, size in run.capacities.items() if queue in flat.queues}
    yield from write_replay(replace(run, steps=steps, loop=None, pipeline=flat, capacities=known), function)
    yield f"# so {run.shows}" if run.shows else "# the model has no capacity for more"


def _iterate_timed_rows(run: Trace, side: Pipeline) -> Iterator[tuple[int, Mapping[str, Value]]]:
    """Yield the number of each step of the run, and its inputs with the time."""
    assert run.pipeline is not None
    tick = next(node.processor.tick for node in run.pipeline.nodes if isinstance(node.processor, RulesInPipeline))
    indices, now = {name: index for index, (name, _) in enumerate(run.pipeline.inputs)}, 0
    for number, _ in number_steps(run):
        inputs = dict(run.steps[number].inputs)
        now += ticks_of(inputs.pop(ELAPSED, 0)) * tick
        own = {side.inputs[indices[name]]: value for name, value in inputs.items()}
        row = {name: _restore_value(value, domain) for (name, domain), value in own.items()}
        yield number, {**row, **dict.fromkeys(side.clocks, now)}


def _restore_value(model_value: Value, domain: Domain) -> Value:
    """Return the value of an input in the running pipeline; a model may represent values by names."""
    if isinstance(domain, Tuple):
        return tuple(_restore_value(each, part) for each, part in zip(model_value, domain.fields, strict=True))
    return float(model_value) if domain == FLOAT else int(model_value) if domain == INT else model_value
