"""What decides the questions of a part, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from workbench.budget import remaining
from workbench.smv.engines.engine import Answer, EngineLimits
from workbench.verify.decide.part import Part


@dataclass(frozen=True)
class Decision:
    """The answers by role, who gave them, and what they cost (see `engines.TaskResult`).

    `reachable_states` are those of the printed model, as NuSMV counts them: its inputs are variables.
    """

    answers: Mapping[str, Answer]
    engine: str
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    reachable_states: int | None = None


def limits_left() -> EngineLimits:
    """What an engine may use: what is left to the work that asks it."""
    left = remaining()
    return EngineLimits(left.seconds, left.memory_mb, EngineLimits(left.of_seconds, left.of_memory_mb))


class Decider(Protocol):
    """Answers the questions of a part. A limit that was met is an answer without a truth value."""

    @property
    def name(self) -> str:
        """What it is asked for by."""

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """Answer every question.

        Raises
        ------
        EngineError, EngineMissing: the engine cannot be used.
        """
