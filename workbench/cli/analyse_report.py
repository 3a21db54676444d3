"""The analyses of a pipeline as people read them: a section each."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from workbench.cli.output import INDENT, colour, drawn
from workbench.core.pipeline import Pipeline
from workbench.core.readable import show_value
from workbench.errors import Refused
from workbench.processors.held.group import flatten
from workbench.verify import analyses as a
from workbench.verify.analyses.constants import Constancy, PipeBehaviour
from workbench.verify.analyses.dead_paths import Dead
from workbench.verify.analyses.measure import Measure
from workbench.verify.analyses.states import MachineStates
from workbench.verify.answer.check import Settings
from workbench.verify.answer.verdict import Outcome

BOUNDS = " (within bounds: before a queue overflows)"


@dataclass(frozen=True)
class Section:
    """What one analysis says.

    Attributes
    ----------
    lines: its findings, one a line.
    details: what stands under them, runs for example; left out with `--quiet`, where the bounds are said.
    data: for `--json`.
    decided: no limit was met.
    """

    title: str
    lines: tuple[str, ...]
    details: tuple[str, ...]
    data: dict[str, Any]
    decided: bool = True

    @property
    def within_bounds(self) -> bool:
        """Whether some finding holds within bounds only."""
        weak = [("verdict", str(Outcome.WITHIN_BOUNDS)), ("within_bounds", True)]
        return any(item in weak for item in _items(self.data))

    @property
    def vacuous(self) -> bool:
        """Whether some finding is vacuous."""
        return any(key == "vacuous" and value for key, value in _items(self.data))

    def text(self, bounds: str | None = None) -> str:
        """The section; where bounds are given they are said beside its title, and it has no details."""
        title = f"{colour(self.title, '1', sys.stdout)}{f'  ({bounds})' if bounds else ''}"
        lines = [title, *(f"  {line}" for line in self.lines)]
        if bounds is None:
            lines += [part for detail in self.details for part in ("", textwrap.indent(detail, INDENT))]
        return "\n".join(lines)


def _items(data: Any) -> Iterator[tuple[str, Any]]:
    """The keys and values of plain data, and of what lies in it."""
    if isinstance(data, dict):
        yield from data.items()
    if isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            yield from _items(part)


def _resolved(pipeline: Pipeline, settings: Settings) -> Pipeline:
    return flatten(settings.over(pipeline)[0])


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


# --- measures ---------------------------------------------------------------------------------------------


def _measured(measures: Iterable[Measure], pipeline: Pipeline) -> tuple[list[str], list[str]]:
    lines, details = [], []
    for measure in measures:
        sign = "?" if measure.verdict.outcome is Outcome.UNKNOWN else " "
        lines.append(f"{sign} {measure.what}: {measure}")
        if measure.witness is not None and measure.steps != 0:
            details.append(drawn(measure.witness, pipeline))
    return lines, details


def silence(pipeline: Pipeline, settings: Settings) -> Section:
    """The longest silence, of all outputs together and of each."""
    try:
        found = [a.longest_silence(pipeline, settings)]
    except Refused as error:  # the other analyses are still of use
        return Section("longest silence", (f"? {error.what}",), (), {"silence": [], "reason": error.what}, False)
    if pipeline.out_arity > 1:
        found += [a.longest_silence(pipeline, settings, name) for name, _ in pipeline.outputs]
    lines, details = _measured(found, _resolved(pipeline, settings))
    data = {"silence": [measure.to_json() for measure in found]}
    return Section("longest silence", tuple(lines), tuple(details), data, _decided(found))


def latency(pipeline: Pipeline, settings: Settings) -> Section:
    """The latency from every input to every output."""
    try:
        found = a.latencies(pipeline, settings)
    except Refused as error:
        return Section("latency", (f"? {error.what}",), (), {"latency": [], "reason": error.what}, False)
    lines, details = _measured(found, _resolved(pipeline, settings))
    data = {"latency": [measure.to_json() for measure in found]}
    return Section("latency", tuple(lines or ["  no input leads to an output"]), tuple(details), data, _decided(found))


def _decided(measures: Iterable[Measure]) -> bool:
    return all(measure.verdict.outcome is not Outcome.UNKNOWN for measure in measures)


# --- pipes ------------------------------------------------------------------------------------------------


def constants(pipeline: Pipeline, settings: Settings) -> Section:
    """Pipes that are constant or silent."""
    flat = _resolved(pipeline, settings)
    found = a.constants(pipeline, settings)
    lines = [_carried(item, flat) for item in found if item.kind is not PipeBehaviour.VARIES]
    varying = [item.pipe for item in found if item.kind is PipeBehaviour.VARIES]
    if varying:
        lines.append(f"  {'the others vary' if lines else 'all vary'}: {', '.join(varying)}")
    data = {"pipes": [item.to_json(flat) for item in found]}
    return Section(
        "constant pipes", tuple(lines), (), data, all(item.kind is not PipeBehaviour.UNKNOWN for item in found)
    )


def _carried(item: Constancy, pipeline: Pipeline) -> str:
    name = f"{item.pipe} = {', '.join(item.outputs)}" if item.outputs else item.pipe
    bounds = BOUNDS if item.within_bounds else ""
    every = ", every N" if item.verdict and item.verdict.for_every_n else ""
    if item.kind is PipeBehaviour.CONSTANT:
        return f"  {name} always carries {show_value(item.value, pipeline.domains[item.pipe])}{every}{bounds}"
    if item.kind is PipeBehaviour.SILENT:
        return f"  {name} never carries an event{every}{bounds}"
    return f"? {name}: unknown: {item.verdict.reason if item.verdict else ''}"


def order(pipeline: Pipeline, settings: Settings) -> Section:
    """What depends on the order of arrival."""
    try:
        found = a.order(pipeline, settings)
    except Refused as error:
        return Section("order of arrival", (f"? {error.what}",), (), {"order": None, "reason": error.what}, False)
    if len(found.inputs) < 2:
        lines = ["  there is one input: nothing to interleave"]
    elif found.determined:
        lines = ["  the sequence on every output does not depend on it: every processor waits for a complete front"]
    else:
        lines = [f"? not known: {_listed(found.unsure)} do not wait for a complete front"]
    lines += [f"  queue {item.queue} overflows: {item.overflows}" for item in found.queues]
    decided = found.determined and all(item.overflows != "unknown" for item in found.queues)
    return Section("order of arrival", tuple(lines), (), found.to_json(), decided)


# --- dead paths -------------------------------------------------------------------------------------------


def dead_paths(pipeline: Pipeline, settings: Settings) -> Section:
    """What can be deleted, and what cannot."""
    found = a.dead_paths(pipeline, settings)
    lines = [f"  {name}: can be deleted; no output depends on it" for name in found.unread]
    silent = _listed(found.silent)
    lines += [f"  {name}: can be deleted; it feeds only what never speaks: {silent}" for name in found.unheard]
    done = {*found.unread, *found.unheard}
    for node in found.pipeline.nodes:
        best = found.best(node.name)
        if best is not None and node.name not in done:
            lines.append(_deleted(node.name, best))
    lines += [
        f"  {item.node}: needed; {item.without}" if item.decided else f"? {item.node}: {item.reason}"
        for item in found.needed
    ]
    if found.reduced is not None:
        kept = [node.name for node in found.reduced.pipeline.nodes]
        proved = found.reduced.verdict
        bounds = BOUNDS if proved and proved.outcome is Outcome.WITHIN_BOUNDS else ""
        lines.append(f"  together: {_listed(kept) or 'no processor at all'} would do, {found.reduced.mode}{bounds}")
    if not found.pipeline.nodes:
        lines = ["  there is no processor"]
    return Section("dead paths", tuple(lines), (), found.to_json(), all(item.decided for item in found.needed))


def _deleted(name: str, best: Dead) -> str:
    cut = best.truncation
    others = [other for other in cut.removed if other != name]
    also = f" (and {_listed(others)} with it)" if others else ""
    bounds = BOUNDS if best.verdict.outcome is Outcome.WITHIN_BOUNDS else ""
    return f"  {name}: can be deleted{also}; {cut}: the same, {best.mode}{bounds}"


# --- states -----------------------------------------------------------------------------------------------


def states(pipeline: Pipeline, settings: Settings) -> Section:
    """What may follow what in state machines."""
    found = a.states(pipeline, settings)
    lines = [line for each in found for line in _machine(each)]
    runs = [step.never.counterexample for each in found for step in each.steps if step.source != step.target]
    flat = _resolved(pipeline, settings)
    details = [drawn(run, flat) for run in runs if run is not None]
    rests = dict.fromkeys(line for each in found for step in each.steps for line in step.never.rests_on)
    details += ["\n".join(f"- {line}" for line in rests)] if rests else []
    data = {"machines": [each.to_json() for each in found]}
    none = ["  there is no state machine; of one in slices or windows, ask about the pipeline that they hold"]
    return Section("states", tuple(lines or none), tuple(details), data, all(each.decided for each in found))


def _machine(found: MachineStates) -> Iterator[str]:
    bounds = BOUNDS if any(step.never.outcome is Outcome.WITHIN_BOUNDS for step in found.steps) else ""
    for state in found.states:
        if state in found.unreached:
            yield f"  {found.machine}: {state} is never reached{bounds}"
            continue
        following = sorted(found.after(state), key=lambda name: name == state)
        following = [f"{name} (the same)" if name == state else name for name in following]
        words = f"is followed by {', '.join(following)}" if following else "comes last: nothing follows it"
        yield f"  {found.machine}: {state} {words}{', for ever' if state in found.final and following else ''}{bounds}"
    for step in found.steps:
        if step.happens is None:
            yield f"? {found.machine}: {step}: unknown: {step.never.reason}"
        elif not step.happens and step.source != step.target and step.source not in found.unreached:
            yield f"  {found.machine}: {step} is declared and never happens{bounds}"


SECTIONS: dict[str, Callable[[Pipeline, Settings], Section]] = {
    "dead-paths": dead_paths,
    "latency": latency,
    "silence": silence,
    "constants": constants,
    "order": order,
    "states": states,
}
