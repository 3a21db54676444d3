"""The states of machines: which are reached, which may follow which, and which are final.

Each declared transition, and staying in each state, is checked: an invariant says that it never happens. A
counterexample is a shortest run on which it does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.core.domain import Enum
from workbench.core.ops import EQ, conjunction, negate
from workbench.core.pipeline import Node
from workbench.core.program import Program
from workbench.core.term import const, var
from workbench.ir.system import System
from workbench.language import AnyProgram, program_of
from workbench.processors.held.group import flatten
from workbench.processors.moore import Moore
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.verdict import Outcome, Verdict, discount_early
from workbench.verify.ask.properties import Property, invariant
from workbench.verify.finding import BEFORE_OVERFLOW, Finding

STEP = {
    "from": "source", "to": "target", "happens": "happens", "verdict": "outcome", "assumptions": "rests_on",
    "witness": "counterexample",
}  # fmt: skip
MACHINE = {"machine": "about", **{name: name for name in ("states", "final", "unreached", "steps")}}


def has_machines(pipeline: Program) -> bool:
    """Whether there is a state machine in a pipeline, also in groups."""
    return any(isinstance(node.processor, Moore) for node in flatten(pipeline).nodes)


@refuse_loose_settings
def states(pipeline: AnyProgram, settings: Settings | None = None) -> tuple[Finding, ...]:
    """Find the possible steps of a pipeline's machines, also in groups, but not inside slices and the like.

    Each finding has the `states`, the initial one first; those that are `unreached`, and those that are reached and
    never left (`final`); and all `steps` that the machine may take: whether some run has it, None if undecided.
    """
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    flat = settings.flat(pipeline)
    findings = []
    for node in flat.nodes:
        if isinstance(node.processor, Moore):
            declared = {(each.source, each.target): None for each in node.processor.transitions}
            declared |= {(name, name): None for name in node.processor.names}
            verdicts = [discount_early(check(flat, _never(node, *pair), settings)) for pair in declared]
            steps = tuple(_step(*pair, never) for pair, never in zip(declared, verdicts, strict=True))
            findings.append(_report_machine(node.name, node.processor.names, steps))
    return tuple(findings)


def _step(source: str, target: str, never: Verdict) -> Finding:
    """Report on a step from one state to another, or to the same, by the verdict that it never happens."""
    can_happen = None if never.outcome is Outcome.UNKNOWN else never.outcome is Outcome.FAILS
    text = {True: "happens", False: "never happens", None: f"unknown: {never.reason}"}[can_happen]
    data = {"source": source, "target": target, "happens": can_happen}
    run = never.counterexample
    runs = {} if run is None or source == target else {"": run}
    return Finding(f"{source} -> {target}", text, text, never, runs, can_happen is not None, data=data, form=STEP)


def _report_machine(name: str, names: tuple[str, ...], steps: tuple[Finding, ...]) -> Finding:
    possible = [step for step in steps if step["happens"] is not False]
    unreached = tuple(each for each in names[1:] if each not in {step["to"] for step in possible})
    left = {step["from"] for step in possible if step["from"] != step["to"]}
    final = tuple(each for each in names if each not in left and each not in unreached)
    data = {"states": names, "final": final, "unreached": unreached, "steps": steps}
    runs = {step.about: run for step in steps for run in step.runs.values()}
    grounds = tuple(dict.fromkeys(line for step in steps for line in step.rests_on))
    decided = all(step.decided for step in steps)
    return Finding(name, "states", "", None, runs, decided, grounds, data, MACHINE)


def following(machine: Finding, state: str) -> tuple[str, ...]:
    """Return the states that may follow a state of a machine."""
    return tuple(step["to"] for step in machine["steps"] if step["from"] == state and step["happens"])


def state_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each state of each machine, and for each declared step that never happens."""
    for machine in findings:
        bounds = BEFORE_OVERFLOW * any(step.outcome is Outcome.WITHIN_BOUNDS for step in machine["steps"])
        for state in machine["states"]:
            if state in machine["unreached"]:
                yield f"  {machine.about}: {state} is never reached{bounds}"
                continue
            after = sorted(following(machine, state), key=lambda name: name == state)
            after = [f"{name} (itself)" if name == state else name for name in after]
            words = f"is followed by {', '.join(after)}" if after else "comes last: nothing follows it"
            ever = ", for ever" if state in machine["final"] and after else ""
            yield f"  {machine.about}: {state} {words}{ever}{bounds}"
        for step in machine["steps"]:
            if not step.decided:
                yield f"? {machine.about}: {step.about}: {step.says}"
            elif not step["happens"] and step["from"] != step["to"] and step["from"] not in machine["unreached"]:
                yield f"  {machine.about}: {step.about} is declared and never happens{bounds}"


def _never(node: Node, source: str, target: str) -> Property:
    """Return the property that a machine never goes from one state to another."""
    assert isinstance(node.processor, Moore)
    domain = Enum(node.processor.names)

    def term(system: System) -> Any:
        (state,) = (each for each in system.variables if each.name == f"{node.name}:state")
        before = EQ(var(state.name, domain), const(source, domain))
        fires = system.pipes[node.outputs[0]].present
        return negate(conjunction([fires, before, EQ(state.next, const(target, domain))]))

    step = f"{node.name} goes from {source} to {target}"
    return invariant(f"never: {step}", term, step)
