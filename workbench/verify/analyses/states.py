"""The states of machines: which are reached, which may follow which, and which are for ever.

Each transition that a machine declares, and that it stays where it is, is asked about: an invariant says that it never
happens. What refutes it is a shortest run on which it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.domain import Enum
from workbench.core.ops import EQ, conjunction, negate
from workbench.core.pipeline import Node
from workbench.core.program import Program
from workbench.core.term import const, var
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.processors.moore import Moore
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import check, discount_early
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import Property, invariant


@dataclass(frozen=True)
class MachineStep:
    """A step of a machine from one state to another, or to the same, and the verdict that it never happens."""

    source: str
    target: str
    never: Verdict

    @property
    def happens(self) -> bool | None:
        """Whether there is a run with it; None where that was not decided."""
        return None if self.never.outcome is Outcome.UNKNOWN else self.never.outcome is Outcome.FAILS

    def __str__(self) -> str:
        return f"{self.source} -> {self.target}"


@dataclass(frozen=True)
class MachineStates:
    """What is known of the states of a machine, `steps` being all that it can do.

    Attributes
    ----------
    machine: the name of the processor, `untainted.machine` for one in a group.
    states: the first one being where it begins.
    """

    machine: str
    states: tuple[str, ...]
    steps: tuple[MachineStep, ...]

    @property
    def decided(self) -> bool:
        """Whether all of it is known."""
        return all(step.happens is not None for step in self.steps)

    @property
    def unreached(self) -> tuple[str, ...]:
        """The states that no run reaches."""
        reached = {step.target for step in self.steps if step.happens is not False}
        return tuple(name for name in self.states[1:] if name not in reached)

    def after(self, state: str) -> tuple[str, ...]:
        """The states that may follow a state."""
        return tuple(step.target for step in self.steps if step.source == state and step.happens)

    @property
    def final(self) -> tuple[str, ...]:
        """The states that are reached and never left."""
        left = {step.source for step in self.steps if step.source != step.target and step.happens is not False}
        return tuple(name for name in self.states if name not in left and name not in self.unreached)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        steps = [
            {
                "from": step.source, "to": step.target, "happens": step.happens, "verdict": str(step.never.outcome),
                "assumptions": list(step.never.rests_on),
                "witness": None if step.never.counterexample is None else step.never.counterexample.to_json(),
            }
            for step in self.steps
        ]  # fmt: skip
        return {
            "machine": self.machine, "states": list(self.states), "final": list(self.final),
            "unreached": list(self.unreached), "steps": steps,
        }  # fmt: skip


def states(pipeline: Program, settings: Settings | None = None) -> tuple[MachineStates, ...]:
    """What the machines of a pipeline can do, those in groups too; not those that slices and the like hold."""
    settings = (settings or Settings()).fitted(pipeline)
    flat = flatten(settings.over(pipeline)[0])
    found = []
    for node in flat.nodes:
        if isinstance(node.processor, Moore):
            declared = {(each.source, each.target): None for each in node.processor.transitions}
            declared |= {(name, name): None for name in node.processor.names}
            verdicts = [discount_early(check(flat, _never(node, *pair), settings)) for pair in declared]
            steps = [MachineStep(*pair, never) for pair, never in zip(declared, verdicts, strict=True)]
            found.append(MachineStates(node.name, node.processor.names, tuple(steps)))
    return tuple(found)


def _never(node: Node, source: str, target: str) -> Property:
    """The machine never goes from one state to another."""
    assert isinstance(node.processor, Moore)
    domain = Enum(node.processor.names)

    def term(system: System) -> Any:
        (state,) = (each for each in system.variables if each.name == f"{node.name}:state")
        before = EQ(var(state.name, domain), const(source, domain))
        fires = system.pipes[node.outputs[0]].present
        return negate(conjunction([fires, before, EQ(state.next, const(target, domain))]))

    step = f"{node.name} goes from {source} to {target}"
    return invariant(f"never: {step}", term, step)
