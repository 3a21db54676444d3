"""A number of steps that was searched for, and the run that shows it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.verify.answer.verdict import Outcome, Trace, Verdict


def counted(steps: int) -> str:
    """A number of steps in words."""
    return f"{steps} step{'' if steps == 1 else 's'}"


@dataclass(frozen=True)
class Measure:
    """The largest number of steps of something.

    Attributes
    ----------
    what: what is measured.
    verdict: of the search: `holds`: there is a largest number, `steps`; `holds-within-bounds`: `steps` is the largest
        before a queue overflows (or a checked number leaves its domain), and a lower bound beyond; `fails`: there is
        none, and the counterexample is a lasso on which it grows for ever.
    steps: the number; None where there is none, or it was not found.
    witness: a run that reaches the number, or the lasso.
    """

    what: str
    verdict: Verdict
    steps: int | None
    witness: Trace | None

    @property
    def unbounded(self) -> bool:
        """Whether no number of steps is enough."""
        return self.verdict.outcome is Outcome.FAILS

    @property
    def exact(self) -> bool:
        """Whether `steps` is the largest number on all runs, for queues of this capacity or larger."""
        return self.verdict.outcome is Outcome.HOLDS

    def __str__(self) -> str:
        if self.unbounded:
            return "unbounded"
        if self.verdict.outcome is Outcome.UNKNOWN:
            return f"unknown: {self.verdict.reason}"
        if self.steps is None:
            return "none" if self.exact else "none within the bounds"
        return counted(self.steps) + ("" if self.exact else " within the bounds, perhaps more beyond")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "what": self.what,
            "steps": self.steps,
            "unbounded": self.unbounded,
            "verdict": str(self.verdict.outcome),
            "reason": self.verdict.reason,
            "seconds": round(self.verdict.seconds, 4),
            "assumptions": list(self.verdict.rests_on),
            "witness": None if self.witness is None else self.witness.to_json(),
        }
