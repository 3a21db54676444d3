"""What goes wrong in a step of compiled code, found in exact arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.term import TRUE
from workbench.errors import Overflow
from workbench.executors.compiled.execute.observe import Observer
from workbench.executors.compiled.lower.shape import Shape
from workbench.executors.compiled.lower.system import hazards, known
from workbench.ir.system import System


def overflow_in(system: System, form: Shape, state: list[Any], step: int, inputs: Sequence[Any], kind: str) -> Overflow:
    """The error of a step from a state, given the entries of the columns.

    Parameters
    ----------
    kind: that of the loop.
    """
    numbers = [array.item(0) for array in inputs]
    given = dict(zip((name for name, _ in form.values), numbers, strict=False))
    flags = numbers[len(form.values) :]
    given.update((source.present.name, flag) for source, flag in zip(system.inputs, flags, strict=False))
    given.update((term.name, value is TRUE) for term, value in known(system, kind).items() if term.name in system.free)
    found = hazards(system)
    happens = Observer(system, form, state, [hazard.happens for hazard in found])(given)
    hazard = next(hazard for hazard, here in zip(found, happens, strict=True) if here)
    found_there = Overflow(f"step {step}: {hazard.what}", hint=hazard.hint, queue=hazard.queue).at(step=step)
    found_there.beyond_words, found_there.by_compiled = hazard.beyond_words, True
    return found_there
