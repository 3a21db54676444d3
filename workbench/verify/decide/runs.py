"""Runs of a part's system on given inputs, evaluated in Python: engines that find only inputs get the states.

The rule of this module: the result is a run of the system, whatever the engine that found its inputs assumed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.evaluate import compile_terms
from workbench.core.ops import as_term, conjunction
from workbench.core.term import Term, leaves
from workbench.interrupts import checkpoint
from workbench.ir.system import System
from workbench.smv.engines.engine import RawTrace
from workbench.verify.decide.part import Part

InputValues = Mapping[str, Value]
"""The value of each input leaf at a step."""


class RunStep(NamedTuple):
    """A step of a run: the state before it, the inputs, and the values of the labels."""

    state: tuple[Value, ...]
    inputs: InputValues
    labels: tuple[bool, ...]


def values_of_inputs(system: System) -> dict[str, dict[str, Domain]]:
    """Return, by the name of a presence flag, the leaves of the event that it announces."""
    leaf_domains = {}
    for source in system.inputs:
        if source.present.name in system.free:
            named = (leaf.name for leaf in leaves(source.value))
            leaf_domains[source.present.name] = {name: system.free[name] for name in named if name in system.free}
    return leaf_domains


class Runs:
    """The runs of a part's system.

    Parameters
    ----------
    labels: terms to evaluate at each step.
    """

    def __init__(self, part: Part, labels: Sequence[Term]) -> None:
        self.part, system = part, part.model.system
        self.initial: tuple[Value, ...] = tuple(v.initial for v in system.variables)
        self.names = tuple(v.name for v in system.variables)
        self._inputs, self._of = tuple(system.free), values_of_inputs(system)
        assume = as_term(conjunction(part.assume), BOOL)
        outputs = system.inline((*(v.next for v in system.variables), assume, *labels))
        self._step = compile_terms(outputs, system.symbols)

    def step(self, state: tuple[Value, ...], inputs: InputValues) -> tuple[tuple[Value, ...], bool, tuple[bool, ...]]:
        """Return the next state, whether the assumptions allow the step, and the labels."""
        outputs = self._step(*state, *(inputs[name] for name in self._inputs))
        count = len(state)
        return outputs[:count], bool(outputs[count]), outputs[count + 1 :]

    def follow(self, inputs: Sequence[InputValues]) -> list[RunStep]:
        """Return the steps of a run up to the first step that the assumptions forbid."""
        state, steps = self.initial, []
        for step_inputs in map(self.normalise, inputs):
            after, legal, labels = self.step(state, step_inputs)
            if not legal:
                break
            steps.append(RunStep(state, step_inputs, labels))
            state = after
        return steps

    def normalise(self, inputs: InputValues) -> InputValues:
        """Return inputs in which the values of absent events are the default ones, as in other engines' traces."""
        absent = {
            leaf: domain.default
            for present, values in self._of.items()
            if not inputs[present]
            for leaf, domain in values.items()
        }
        return {**inputs, **absent} if absent else inputs

    def shorten(self, run: list[RunStep], label: int, seconds: float) -> list[RunStep]:
        """Return a run to a step that has a label, without steps that are not needed, as far as the time suffices."""
        end, inputs = time.monotonic() + seconds, [step.inputs for step in run]
        size = max(1, len(inputs) // 2)
        while size:
            start = 0
            while start + size < len(inputs):
                checkpoint()
                if time.monotonic() > end:
                    return run
                shorter_run = self.find(inputs[:start] + inputs[start + size :], label)
                if shorter_run is None:
                    start += size
                else:
                    run, inputs = shorter_run, [step.inputs for step in shorter_run]
            size //= 2
        return run

    def find(self, inputs: Sequence[InputValues], label: int) -> list[RunStep] | None:
        """Return the run on these inputs up to the first step that has a label, if there is one."""
        run = self.follow(inputs)
        end = next((number for number, step in enumerate(run) if step.labels[label]), None)
        return None if end is None else run[: end + 1]

    def show(self, run: Sequence[RunStep], loop: int | None = None) -> RawTrace:
        """Return a run in the form of the SMV engines."""
        values = ({**dict(zip(self.names, step.state, strict=True)), **step.inputs} for step in run)
        return RawTrace(tuple(map(self.part.smv.write_state, values)), loop)
