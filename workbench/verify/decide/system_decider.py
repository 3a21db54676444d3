"""The base of the engines that read the system of a part, and not its SMV text.

The rule of this module: whatever meets a limit raises `OutOfLimits`, in every engine; the decider then leaves questions
undecided.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import ClassVar

from workbench.budget import free_mb, resident_mb
from workbench.smv.engines.engine import Answer, EngineLimits
from workbench.verify.decide.part import Decision, Part


class OutOfLimits(Exception):
    """A limit is met; the text says which."""


class Allowance:
    """The rest of the time and memory of a decision.

    Parameters
    ----------
    lack: the reason to stop if there is no memory limit, and no memory.

    Attributes
    ----------
    deadline: when the time is over, on the clock of `time.monotonic`; infinite if it is not limited.
    """

    def __init__(self, limits: EngineLimits, lack: str = "no memory for more") -> None:
        self.limits, self._lack, now = limits, lack, time.monotonic()
        self.deadline = math.inf if limits.seconds is None else now + limits.seconds
        self._begun_mb, self._room_mb = resident_mb(), limits.memory_mb or free_mb() / 2

    @property
    def seconds_left(self) -> float:
        """The seconds left."""
        return self.deadline - time.monotonic()

    def find_exceeded(self) -> str:
        """Return the limit that is met; empty if none is."""
        if self.seconds_left <= 0:
            return self.limits.time
        if resident_mb() - self._begun_mb > self._room_mb:
            return self.limits.memory or self._lack
        return ""

    def check_limits(self) -> None:
        """Raise OutOfLimits if a limit is met."""
        if reason := self.find_exceeded():
            raise OutOfLimits(reason)


class SystemDecider(ABC):
    """A decider that reads the system of a part.

    Attributes
    ----------
    subject: the engine with its verb, at the beginning of a sentence about what it knows.
    """

    name: ClassVar[str]
    subject: ClassVar[str]
    version = "built in"

    @property
    def title(self) -> str:
        """The name, and the version of a program that does the work."""
        return self.name if self.version == "built in" else f"{self.name} ({self.version})"

    def decide(self, part: Part, limits: EngineLimits, *, count_states: bool = False) -> Decision:
        """See `Decider.decide`."""
        begin, cpu = time.monotonic(), time.process_time()
        reason = f"{self.subject} pipelines, not the SMV system that drives the inputs"
        decision = Decision(dict.fromkeys(part.questions, Answer(None, reason=reason)), self.title)
        if not part.driven:
            decision = self.answer(part, limits, count_states=count_states)
        seconds = time.monotonic() - begin
        return replace(decision, cpu_seconds=min(time.process_time() - cpu, seconds), wall_seconds=seconds)

    @abstractmethod
    def answer(self, part: Part, limits: EngineLimits, *, count_states: bool) -> Decision:
        """Answer every question about a system that nothing outside drives."""
