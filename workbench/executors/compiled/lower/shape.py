"""The parameters of the loops of a transition system: the layout of its state, its events and its outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, Domain, Reals
from workbench.core.fields import scalars
from workbench.core.term import Change, Others, leaves
from workbench.executors.compiled.lower.tables import first_length
from workbench.ir.system import Pipe, System

AHEAD = 4
"""Number of copies of a repeated event that are written unconditionally, which saves jumps."""


@dataclass(frozen=True)
class Shape:
    """The parameters of the loop of a system, in order, after `first` and `last`, the range of steps.

    Attributes
    ----------
    whole, real: numbers of the variables in the arrays of integers and of floats.
    memories: name, domain, initial length and `Array.blank` of each array of a memory.
    values: name and domain of each scalar column of the inputs.
    inputs: the inputs, each with a presence column.
    results: for each output its name and the domains of its scalar columns.
    """

    whole: tuple[int, ...]
    real: tuple[int, ...]
    memories: tuple[tuple[str, Domain, int, bool], ...]
    values: tuple[tuple[str, Domain], ...]
    inputs: tuple[str, ...]
    results: tuple[tuple[str, tuple[Domain, ...]], ...]

    @property
    def owners(self) -> list[int]:
        """The output number of each array that is written: of fields, then of the steps of events."""
        return [*(j for j, (_, fields) in enumerate(self.results) for _ in fields), *range(len(self.results))]

    def split(self, arrays: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any], Sequence[Any]]:
        """Split the arrays of a dense loop into those of memories, those that are read, and those that are written."""
        inputs = len(self.memories)
        outputs = inputs + len(self.values)
        return arrays[:inputs], arrays[inputs:outputs], arrays[outputs:]


def shape(system: System) -> Shape:
    """Return the parameters of the loops of a system."""
    domains = [v.domain for v in system.variables]
    return Shape(
        tuple(i for i, domain in enumerate(domains) if not isinstance(domain, Reals)),
        tuple(i for i, domain in enumerate(domains) if isinstance(domain, Reals)),
        tuple(
            (column.name, domain, first_length(memory), memory.domain.blank)
            for memory in system.memories
            for column, (_, domain) in zip(memory.columns, scalars(memory.domain.element), strict=True)
        ),
        tuple((leaf.name, leaf.domain) for source in system.inputs for leaf in leaves(source.value)),
        tuple(source.name for source in system.inputs),
        tuple((name, _fields(system.pipes[pipe])) for name, pipe in system.outputs),
    )


def _fields(pipe: Pipe) -> tuple[Domain, ...]:
    fields = tuple(leaf.domain for leaf in leaves(pipe.slots[0].value))
    return fields if rows_of(pipe) is pipe.rows else (*fields, BOOL)


def rows_of(pipe: Pipe) -> Others | None:
    """Return the emissions of a step for many rows of a table: events of a pipe, or changes of its map."""
    value = pipe.slots[0].value
    return value.content.others if isinstance(value, Change) else pipe.rows


def spare(pipe: Pipe) -> int:
    """Return the number of extra entries that the arrays of an output need."""
    return 1 if pipe.more is None else AHEAD
