"""A number of steps that was searched for, and the run that shows it."""

from __future__ import annotations

from collections.abc import Callable

from workbench.core.program import Program
from workbench.core.readable import plural
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.properties import Property
from workbench.verify.finding import Finding

MEASURE = {
    "what": "about", "steps": "steps", "unbounded": "unbounded", "verdict": "outcome", "reason": "reason",
    "seconds": "seconds", "assumptions": "rests_on", "witness": "witness",
}  # fmt: skip
"""The form of what is measured: `steps` is the greatest number, None where there is none, or it was not found."""


def find_longest(
    pipeline: Program, longest: Property, fewer: Callable[[int], Property], settings: Settings
) -> tuple[Verdict, Trace | None]:
    """The verdict on how many steps in a row something can last, and a run that shows it.

    Where there is a greatest number, the run is from another algorithm: a shortest one that refutes a counter of
    `fewer` steps.
    """
    verdict = check(pipeline, longest, settings)
    if not verdict.length:
        return verdict, verdict.counterexample
    return verdict, check(pipeline, fewer(verdict.length - 1), settings).counterexample


def measure(what: str, verdict: Verdict, steps: int | None, witness: Trace | None, **between: str) -> Finding:
    """The largest number of steps of something.

    Parameters
    ----------
    verdict: of the search: `holds`: there is a largest number, `steps`; `holds-within-bounds`: `steps` is the largest
        before a queue overflows (or a checked number leaves its domain), and a lower bound beyond; `fails`: there is
        none, and the counterexample is a lasso on which it grows for ever.
    steps: the number; None where there is none, or it was not found.
    witness: a run that reaches the number, or the lasso.
    between: what else JSON has, before all.
    """
    data = {
        "steps": steps, "unbounded": verdict.outcome is Outcome.FAILS, "reason": verdict.reason,
        "seconds": round(verdict.seconds, 4), "witness": witness, **between,
    }  # fmt: skip
    runs = {"": witness} if witness is not None and steps != 0 else {}
    decided = verdict.outcome is not Outcome.UNKNOWN
    form = {**{name: name for name in between}, **MEASURE}
    says = _words(verdict, steps)
    return Finding(what, says, says, verdict, runs, decided, data=data, form=form)


def _words(verdict: Verdict, steps: int | None) -> str:
    if verdict.outcome is Outcome.FAILS:
        return "unbounded"
    if verdict.outcome is Outcome.UNKNOWN:
        return f"unknown: {verdict.reason}"
    exact = verdict.outcome is Outcome.HOLDS
    if steps is None:
        return "none" if exact else "none within the bounds"
    return plural(steps, "step") + ("" if exact else " within the bounds, perhaps more beyond")
