"""Contracts: what a pipeline assumes of its inputs, and what it then guarantees of its outputs.

The rule of this module: a contract is a Boolean stream, computed by a pipeline of its own that reads ports of the
pipeline it belongs to. A step breaks it if it carries `false`; a step without an event breaks nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from workbench.core.domain import Domain, ModelScope
from workbench.errors import Location

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline


class ContractKind(StrEnum):
    """The side that a contract binds."""

    ASSUME = "assume"
    """The environment, which feeds the pipeline."""
    GUARANTEE = "guarantee"
    """The pipeline, as long as no assumption is broken."""


@dataclass(frozen=True)
class Contract:
    """A contract of a pipeline.

    Parameters
    ----------
    name: the name of the Boolean stream where the contract is watched: `assume1`, in a group `group.assume1`.
    body: computes the stream.
    reads: the pipe or output for each input of the body.
    text: the condition, as the user wrote it.
    of: the name of the pipeline that states it.
    call: the name of the group whose contract it is; empty for one of the pipeline itself.
    where: its place in the text, or that of the call.
    relied_on: whether it stands for the body of its call, which the pipeline lacks (`verify.ask.abstraction`).
    """

    kind: ContractKind
    name: str
    body: Pipeline
    reads: tuple[str, ...]
    text: str
    of: str
    call: str = ""
    where: Location | str = field(default="", compare=False)
    relied_on: bool = False

    @property
    def is_own_assumption(self) -> bool:
        """Whether it restricts the inputs of the pipeline that lists it."""
        return self.relied_on or (self.kind is ContractKind.ASSUME and not self.call)

    def resolve(self, over: Domain | ModelScope) -> Contract:
        """Return this contract with the unbounded types in its body replaced."""
        return replace(self, body=self.body.resolve(over))

    def __str__(self) -> str:
        if not self.call:
            return f"{self.kind} {self.text}"
        line = f", line {self.where.line}" if isinstance(self.where, Location) and self.where.line else ""
        return f"{self.kind} {self.text} of {self.of} (call '{self.call}'{line})"
