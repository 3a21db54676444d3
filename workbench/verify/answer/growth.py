"""Runs of which some steps can be repeated, so that something grows each time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from workbench.core.domain import Value

InputSteps = tuple[Mapping[str, Value], ...]
"""What comes on the inputs at each step of a run."""
ROUNDS = 4
"""How often steps are repeated to show that something grows."""


class Growth(NamedTuple):
    """A run, the steps of it that can be repeated, and by how much at least something grows each time.

    Attributes
    ----------
    start, length: the first of these steps, and how many they are.
    endless: whether it is proved to go on for ever.
    """

    inputs: InputSteps
    start: int
    by: int
    length: int = 1
    endless: bool = True

    @property
    def again(self) -> InputSteps:
        """The steps that are repeated."""
        return self.inputs[self.start : self.start + self.length]

    @property
    def types(self) -> str:
        """The inputs on which they come."""
        return ", ".join(name for step in self.again for name in step)

    @property
    def round(self) -> str:
        """What is repeated, in words."""
        return self.types if self.length == 1 else f"round of {self.types}"

    def repeated(self, rounds: int = ROUNDS) -> InputSteps:
        """The run with so many more of them."""
        return (*self.inputs[: self.start], *self.again * rounds, *self.inputs[self.start :])
