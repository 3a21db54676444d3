"""The body of a test that reproduces a run: the steps and their outputs, then the violation of the property.

A condition over pipes becomes the Python expression that the test asserts, if both mean the same. The rule of this
module: no arithmetic. The arithmetic of a finite domain is not Python's, so a condition that computes is not
translated; the test then asserts the contents of the pipes.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.conformance.written_tests.pytest_file import as_source
from workbench.core.domain import Value
from workbench.core.ops import AND, COMPARISONS, IMPLIES, NOT, OR
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import Overflow, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.language import parse_property
from workbench.language import syntax as s
from workbench.language.properties import join_dotted
from workbench.processors.held.group import Group
from workbench.verify.answer.replay import events_of
from workbench.verify.answer.trace import Trace, TraceStep
from workbench.verify.ask.equivalence import EquivalenceMode

ROUNDS = 3
"""Number of times that a loop is run."""
MAX_ON_A_LINE = 100
"""Maximum number of characters of a line."""
TRIES = 200
"""Number of steps tried after a run from which no output can come."""
OutputRow = dict[str, list[Value]]
InputRow = Mapping[str, Value]
Outputs = list[tuple[str, str]]
"""Pairs of an output and the pipe that carries it."""


@dataclass(frozen=True)
class _Played:
    """A run of a pipeline as it is tested: every step with its outputs, and the Overflow that ends it, if any."""

    run: Trace
    pipeline: Pipeline
    inputs: list[InputRow]
    outputs: list[OutputRow]
    overflow: str
    """The beginning of the message of the Overflow; empty if there is none."""


def single(run: Trace, function: str, property_name: str, syntax: s.PropertySyntax | None = None) -> Iterator[str]:
    """Yield the test of a run of one pipeline, which `function` builds."""
    played = _play(run)
    yield from _run(played, f"{function}()")
    if not played.overflow:
        yield from _write_violation(played, syntax or _parse_property(property_name))


def write_replay(run: Trace, function: str) -> Iterator[str]:
    """Yield a test that a pipeline, built by `function`, has the same outputs on these inputs as now."""
    yield from _run(_execute_run(run, [step.inputs for step in run.steps]), f"{function}()")


def _run(played: _Played, pipeline: str) -> Iterator[str]:
    """Yield the steps, and the assertion of their outputs."""
    run = played.run
    line = f"capacities = {as_source(dict(run.capacities))}"
    each = (f"    {as_source(queue)}: {size}," for queue, size in run.capacities.items())
    yield from [line] if len(line) <= MAX_ON_A_LINE else ["capacities = {", *each, "}"]
    yield f"running = wb.executors.Reference({pipeline}, capacities)"
    yield from _table("what comes in, what comes out", run, played.inputs, played.outputs)
    yield "seen = [running.step(events) for events, _ in steps]"
    yield "assert [record.outputs for record in seen] == [outputs for _, outputs in steps]"
    if played.overflow:
        quoted = f'r"{played.overflow}"' if "\\" in played.overflow else as_source(played.overflow)
        yield f"with pytest.raises(Overflow, match={quoted}):"
        yield f"    running.step({as_source(played.inputs[-1])})"


def _table(what: str, run: Trace, *columns: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the steps, one per line."""
    yield f"steps = [  # {what}"
    for (_, note), parts in zip(number_steps(run), zip(*columns, strict=False), strict=False):
        yield f"    ({', '.join(map(as_source, parts))}),{note}"
    yield "]"


def number_steps(run: Trace) -> Iterator[tuple[int, str]]:
    """Yield the number of each step that is tested, those of a loop several times, and the comment that names it."""
    loop = [] if run.loop is None else list(range(run.loop, len(run.steps)))
    for number in range(len(run.steps)):
        yield number, f"  # step {number}" + (", where the loop begins" if number == run.loop else "")
    for count in range(2, ROUNDS + 1):
        yield from ((number, f"  # step {number} in round {count}") for number in loop)


def _play(run: Trace) -> _Played:
    """Return the expected outputs: those of the run, and in later rounds of a loop those of an execution."""
    inputs = [END if step.ends else dict(step.inputs) for step in run.steps]
    played = _execute_run(run, [inputs[number] for number, _ in number_steps(run)])
    run_outputs = [_collect_outputs(step, played.pipeline.outputs) for step in run.steps]
    outputs = [*run_outputs[: len(played.outputs)], *played.outputs[len(run_outputs) :]]
    return replace(played, outputs=outputs)


def _execute_run(run: Trace, inputs: list[InputRow]) -> _Played:
    """Execute the pipeline of a run on these inputs."""
    assert run.pipeline is not None
    outputs, overflow = _execute(Reference(run.pipeline, run.capacities), inputs)
    return _Played(run, run.pipeline, inputs[: len(outputs) + bool(overflow)], outputs, overflow)


def _collect_outputs(step: TraceStep, outputs: Iterable[tuple[str, str]]) -> OutputRow:
    """Return the outputs of a step, by name."""
    return {name: events_of(step.pipes[pipe]) for name, pipe in outputs}


def _execute(executor: Reference, inputs: Sequence[InputRow]) -> tuple[list[OutputRow], str]:
    """Return the outputs up to the end or to an Overflow, and a pattern for the beginning of its message."""
    outputs: list[OutputRow] = []
    for step, events in enumerate(inputs):
        try:
            outputs.append(dict(executor.step(events).outputs))
        except Overflow as error:
            start = re.match(r"step \d+: (queue|processor) '[^']*'", error.what)
            return outputs, re.escape(start[0] if start else f"step {step}").replace("\\ ", " ")
    return outputs, ""


def _parse_property(name: str) -> s.PropertySyntax | None:
    """Parse the name of a property; None for a property of the user's own."""
    text = name if "(" in name.partition(" ")[0] else re.sub(r"^always (.*)", r"always (\1)", name)
    try:
        return parse_property(text)
    except WorkbenchError:
        return None


# --- violations of the property ---------------------------------------------------------------------------


def _write_violation(played: _Played, syntax: s.PropertySyntax | None) -> Iterator[str]:
    """Yield the assertion that the property is violated."""
    name, shows = syntax.name if syntax else "", played.run.shows
    if name == "always" and syntax and isinstance(syntax.argument, s.Expression):
        yield from _condition(played, syntax.argument, str(syntax))
    elif name == "no-full-queues":
        yield from _full(played.run)
    elif name == "bounded-liveness" and syntax and isinstance(syntax.argument, int):
        yield from _silent(played, syntax.argument)
    elif name == "response":
        yield from _falls_silent(played)
    elif name == "liveness":
        yield from _dead(played)
    elif shows:
        yield f"# so {shows}" if name not in ("ctl", "ltl") else f"# {shows}"


def _condition(played: _Played, e: s.Expression, text: str) -> Iterator[str]:
    pipes = played.run.steps[-1].pipes
    names = {**{pipe: pipe for pipe in pipes}, **dict(played.pipeline.outputs)}
    yield f"# {text}: the last step violates it"
    yield "now = {pipe: maybe.value for pipe, maybe in seen[-1].pipes.items() if maybe.present}"
    try:
        if any(isinstance(value, list) for value in pipes.values()):
            raise Untranslated  # several events on a pipe
        condition = translate(e, names, played.run.capacities)
    except Untranslated:
        yield f"assert now == {as_source({pipe: value for pipe, value in pipes.items() if value is not None})}"
        return
    if "waiting[" in condition:
        yield "waiting = seen[-1].queues"
    plain = condition.removeprefix("(").removesuffix(")") if condition.count("(") == 1 else condition
    yield f"assert not ({plain})"


def _full(run: Trace) -> Iterator[str]:
    full = {q: c for q, c in run.capacities.items() if run.steps[-1].queues.get(q) == c}
    yield "# full at the end of the last step"
    for queue, capacity in full.items():
        yield f"assert seen[-1].queues[{as_source(queue)}] == {capacity}"


def _silent(played: _Played, bound: int) -> Iterator[str]:
    """Yield the assertion that the last `bound` + 1 steps with input, and all between them, have no output."""
    with_input = [i for i, events in enumerate(played.inputs) if events]
    first = with_input[-(bound + 1)]
    yield f"# {bound + 1} steps with input and without output"
    yield f"assert sum(bool(events) for events, _ in steps[{first}:]) == {bound + 1}"
    yield f"assert not any(any(record.outputs.values()) for record in seen[{first}:])"


def _falls_silent(played: _Played) -> Iterator[str]:
    run, pipeline = played.run, played.pipeline
    assert run.loop is not None
    around = run.steps[run.loop :]
    silent = [name for name, pipe in pipeline.outputs if all(step.pipes[pipe] is None for step in around)]
    yield f"# every round of the loop feeds every input, and {', '.join(silent)} stays silent"
    yield f"rounds = [seen[i : i + {len(around)}] for i in range({run.loop}, len(seen), {len(around)})]"
    yield f"assert len(rounds) == {ROUNDS}"
    yield "for records in rounds:"
    for name, _ in pipeline.inputs:
        yield f"    assert any(record.pipes[{as_source(name)}].present for record in records)"
    for name in silent:
        yield f"    assert not any(record.outputs[{as_source(name)}] for record in records)"


def _dead(played: _Played) -> Iterator[str]:
    """Yield the assertion that no continuation has an output: it tries random inputs, as many steps as run now."""
    choices = {name: _sample_values(domain.values()) for name, domain in played.pipeline.inputs}
    executor = Reference(played.pipeline, played.run.capacities)
    _execute(executor, played.inputs)
    choose = random.Random(0)
    inputs = [{name: choose.choice(values) for name, values in choices.items()} for _ in range(TRIES)]
    outputs, _ = _execute(executor, inputs)
    yield "# from here on no input brings an output: random ones are tried"
    yield "choose = random.Random(0)"
    yield f"choices = {as_source(choices)}"
    yield f"for _ in range({len(outputs)}):"
    yield "    record = running.step({name: choose.choice(values) for name, values in choices.items()})"
    yield "    assert not any(record.outputs.values())"


def _sample_values(values: Iterable[Value]) -> list[Value]:
    """Return the values of a domain, or an even selection of many."""
    all_values = list(values)
    return all_values[:: max(1, len(all_values) // 16)]


# --- comparisons ------------------------------------------------------------------------------------------


def comparison(run: Trace, left: str, right: str, mode: EquivalenceMode) -> Iterator[str]:
    """Yield the test of a run on which two pipelines differ, or at which their comparison ends."""
    played = _play(run)
    if played.overflow:
        yield f"both, _ = wb.side_by_side({left}(), {right}(), {as_source(mode)})"
        yield from _run(played, "both")
        return
    sides = _sides(played.pipeline)
    outs = [[_collect_outputs(step, outputs) for step in run.steps] for _, outputs in sides]
    inputs = [_collect_inputs(played, name) for name, _ in sides]
    yield f"left, right = (wb.executors.Reference(side(), capacities={{}}) for side in ({left}, {right}))"
    if inputs[0] == inputs[1]:
        yield from _table("what comes in, what comes out left and right", run, inputs[0], *outs)
        row, one, two, targets = "events, _, _", "events", "events", "_, ours, theirs"
    else:
        what = "what comes in (with the faults that strike) and comes out, left and right"
        yield from _table(what, run, inputs[0], outs[0], inputs[1], outs[1])
        row, one, two, targets = "one, _, two, _", "one", "two", "_, ours, _, theirs"
    yield f"seen = [(left.step({one}).outputs, right.step({two}).outputs) for {row} in steps]"
    yield f"assert seen == [(ours, theirs) for {targets} in steps]"
    yield from _sequences(run, *(outputs for _, outputs in sides)) if mode == "sequence" else _last()


def _last() -> Iterator[str]:
    yield "# at the last step they differ"
    yield "ours, theirs = seen[-1]"
    yield "assert list(ours.values()) != list(theirs.values())"


def _sequences(run: Trace, left: Outputs, right: Outputs) -> Iterator[str]:
    """Yield the assertion about the first pair of outputs whose streams differ in their common prefix."""
    ended = run.steps[-1].ends
    differing = next(
        (ours, theirs)
        for (ours, one), (theirs, two) in zip(left, right, strict=True)
        if _differ(_stream(run, one), _stream(run, two), ended=ended)
    )
    yield "# the streams have ended, and differ" if ended else "# as far as both have come, the streams differ"
    yield f"ours = [value for outputs, _ in seen for value in outputs[{as_source(differing[0])}]]"
    yield f"theirs = [value for _, outputs in seen for value in outputs[{as_source(differing[1])}]]"
    yield "assert ours != theirs" if ended else "assert any(one != two for one, two in zip(ours, theirs))"


def _differ(ours: Sequence[Value], theirs: Sequence[Value], *, ended: bool) -> bool:
    if ended and len(ours) != len(theirs):
        return True
    return any(one != two for one, two in zip(ours, theirs, strict=False))


def _stream(run: Trace, pipe: str) -> list[Value]:
    return [value for step in run.steps for value in events_of(step.pipes[pipe])]


def _sides(pipeline: Pipeline) -> list[tuple[str, Outputs]]:
    """Return the name of each side, and its outputs with the pipes that carry them in the run."""
    sides = [(node, node.processor.body) for node in pipeline.nodes if isinstance(node.processor, Group)]
    return [
        (node.name, [(name, pipe) for (name, _), pipe in zip(body.outputs, node.outputs, strict=True)])
        for node, body in sides[:2]
    ]


def _collect_inputs(played: _Played, side: str) -> list[InputRow]:
    """Return the inputs of one side, step by step: the events, and those of its own oracles."""
    names = {name: name for name, _ in played.pipeline.inputs}
    for step in played.inputs:
        names |= {name: name.removeprefix(f"{side}.") for name in step if name.startswith(f"{side}.")}
    return [
        events if events is END else {names[name]: value for name, value in events.items() if name in names}
        for events in played.inputs
    ]


# --- conditions -------------------------------------------------------------------------------------------

TRANSLATED = COMPARISONS | {row.symbol: row for row in (AND, OR, NOT, IMPLIES)}
"""The operators that compute no values but truth values."""


class Untranslated(Exception):
    """The exception for a condition that a test cannot express plainly."""


def translate(e: s.Expression, names: Mapping[str, str], capacities: Mapping[str, int]) -> str:
    """Translate a condition over `now` (pipe to the value it carries) and `waiting` (queue to its length).

    Parameters
    ----------
    names: the names of pipes and outputs, each with its pipe.
    capacities: the bounded queues.

    Raises
    ------
    Untranslated: the condition computes, reads a field of a record, or names neither a pipe nor a queue.
    """
    if isinstance(e, s.Literal):
        return as_source(e.value)
    if isinstance(e, s.Operation):
        return _operation(e, names, capacities)
    if isinstance(e, s.Field) and isinstance(e.value, s.Call) and e.value.name == "queue":
        return _queue(e.value, e.name, capacities)
    path = join_dotted(e)
    if path is not None:
        return _name_parts(path.split("."), names)
    raise Untranslated(str(e))


def _operation(e: s.Operation, names: Mapping[str, str], capacities: Mapping[str, int]) -> str:
    parts = [translate(part, names, capacities) for part in e.operands]
    if e.operator not in TRANSLATED:
        raise Untranslated(f"'{e.operator}' computes")
    return TRANSLATED[e.operator].python.format(*parts)


def _queue(call: s.Call, label: str, capacities: Mapping[str, int]) -> str:
    queue = join_dotted(call.arguments[0]) or ""
    if label == "full" and queue in capacities:
        return f"(waiting[{as_source(queue)}] == {capacities[queue]})"
    if label == "length":
        return f"waiting[{as_source(queue)}]"
    raise Untranslated(f"queue({queue}).{label}")


def _name_parts(parts: list[str], names: Mapping[str, str]) -> str:
    for size in range(len(parts), 0, -1):
        pipe = names.get(".".join(parts[:size]))
        if pipe is None:
            continue
        rest = parts[size:]
        if rest == ["present"]:
            return f"({as_source(pipe)} in now)"
        if rest in ([], ["value"]):
            return f"now[{as_source(pipe)}]"
        raise Untranslated(".".join(parts))
    if len(parts) == 1 and parts != ["overflow"]:
        return as_source(parts[0])  # a label of an enumeration
    raise Untranslated(".".join(parts))
