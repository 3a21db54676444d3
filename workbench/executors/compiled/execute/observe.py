"""Observation of a compiled executor between two steps: any term of its system, evaluated in plain Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.domain import BOOL, Domain, Reals
from workbench.core.term import FALSE, TRUE, Term
from workbench.errors import Overflow
from workbench.executors.compiled.code.loop import step_function
from workbench.executors.compiled.code.numbers import encode_any
from workbench.executors.compiled.code.plain import plain_function
from workbench.executors.compiled.lower.shape import Shape
from workbench.executors.compiled.lower.system import hazards, list_known
from workbench.ir.system import System


class Observer:
    """Terms over a system, to be evaluated at a state and on the inputs of a step.

    Parameters
    ----------
    state: the arrays of the executor: integers, floats, and those of the memories.
    row: whether the terms also depend on the number of a row.
    """

    def __init__(
        self, system: System, form: Shape, state: Sequence[Any], terms: Sequence[Term], *, row: bool = False
    ) -> None:
        self._system, self._form, self._state = system, form, state
        self._function = plain_function(step_function(system, terms, row=row))

    def __call__(self, inputs: Mapping[str, Any], *row: int) -> tuple[Any, ...]:
        """Return the values of the terms, as numbers of compiled code; inputs that are not named are absent."""
        whole, real = self._state[0].tolist(), self._state[1].tolist()
        numbers = dict(zip(self._form.whole, whole, strict=True)) | dict(zip(self._form.real, real, strict=True))
        state = [numbers[i] != 0 if v.domain == BOOL else numbers[i] for i, v in enumerate(self._system.variables)]
        arguments = [inputs.get(name, encode_any(domain, domain.default)) for name, domain in self._system.free.items()]
        values = self._function(*(memoryview(array) for array in self._state[2:]), *state, *arguments, *row)
        return values if isinstance(values, tuple) else (values,)


def overflow_in(system: System, form: Shape, state: list[Any], step: int, inputs: Sequence[Any], kind: str) -> Overflow:
    """Return the error of a step from a state, in exact arithmetic, given the entries of the columns.

    Parameters
    ----------
    kind: the kind of the loop.
    """
    numbers = [array.item(0) for array in inputs]
    entries = dict(zip((name for name, _ in form.values), numbers, strict=False))
    flags = numbers[len(form.values) :]
    entries.update((source.present.name, flag) for source, flag in zip(system.inputs, flags, strict=False))
    entries.update(
        (term.name, value is TRUE) for term, value in list_known(system, kind).items() if term.name in system.free
    )
    all_hazards = hazards(system)
    conditions = Observer(system, form, state, [hazard.happens for hazard in all_hazards])(entries)
    hazard = next(hazard for hazard, here in zip(all_hazards, conditions, strict=True) if here)
    gets = "" if hazard.gets is FALSE else f" {Observer(system, form, state, [hazard.gets])(entries)[0]}"
    found_there = Overflow(f"step {step}: {hazard.what}{gets}", hint=hazard.hint, queue=hazard.queue).at(step=step)
    found_there.exceeds_64_bits, found_there.by_compiled = hazard.exceeds_64_bits, True
    return found_there


def dtype(domain: Domain) -> Any:
    """Return the array type of a scalar domain."""
    import numpy as np

    if domain == BOOL:
        return np.bool_
    return np.float64 if isinstance(domain, Reals) else np.int64
