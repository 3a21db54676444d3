"""What the bounds of windows may be: times, or numbers of events.

The rule of this module: a bound is a mistake only where no log could make sense of it.
"""

from __future__ import annotations

from workbench.core.units import MICROSECONDS
from workbench.errors import LanguageError
from workbench.language.findings import Findings
from workbench.tesla import tree as t


def check_pause(pause: t.Duration | None, findings: Findings) -> None:
    """A rule is silent for a time."""
    if pause is not None and pause.counts:
        what, hint = "a rule is silent for a time, not for a number of events", "write at most once in 10 min"
        findings.add(LanguageError(what, where=pause.where, hint=hint))


def check_bounds(window: t.EventWindow, findings: Findings) -> None:
    """Both bounds are of one kind, whole where they are counted, and in their order."""
    if isinstance(window, t.AfterWindow) and window.most.counts:
        what = "what is absent is told when a time has passed: no event need come that ends a count"
        hint = f"write a time: within 5 min after {window.of}"
        findings.add(LanguageError(what, where=window.most.where, hint=hint))
    if not isinstance(window, t.WithinWindow):
        return
    least, most = window.least, window.most
    if window.counted:
        _check_counts(least, most, findings)
    if least is None or most is None or least.counts != most.counts or bool(least.unit) != bool(most.unit):
        return
    if least.amount * MICROSECONDS.get(least.unit, 1) > most.amount * MICROSECONDS.get(most.unit, 1):
        what = f"no {'event' if most.counts else 'time'} is at least {least} and at most {most}"
        findings.add(LanguageError(what + " away" * most.counts, where=least.where, hint="write the smaller one first"))


def _check_counts(least: t.Duration | None, most: t.Duration | None, findings: Findings) -> None:
    for each in (least, most):
        if each is not None and not each.counts:
            what = f"{each} is a time, and the other end of this window a number of events"
            findings.add(LanguageError(what, where=each.where, hint="write both as one"))
        elif each is not None and each.amount != int(each.amount):
            findings.add(LanguageError(f"{each} are no whole number", where=each.where, hint="events are counted"))
    if most is not None and most.counts and most.amount < 1:
        hint = "the event right before it lies within 1 event"
        findings.add(LanguageError(f"nothing lies within {most}", where=most.where, hint=hint))
