"""Answers to the question why rules emitted a composite event, or why they did not.

The rule of this module: the answer is data; `show.rule_explanation` formats it as text and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.display import Displayed
from workbench.extensions import later
from workbench.tesla.explain.hindrances import Hindrance, NearCandidate
from workbench.tesla.explain.rule_view import Fit, RunRecord, SeenWindow
from workbench.tesla.explain.why import CompositeReason, SeenCondition, SeenPart
from workbench.tesla.explain.why_not import MissingReason, PartialReason, RuleReason, TriggerReason

MOST_LISTED = 1_000
"""Maximum number of candidates or values of a part that are listed."""


@dataclass(frozen=True)
class RuleExplanation(Displayed):
    """The answer to a question about a run of rules.

    Attributes
    ----------
    question: the question as the user asked it.
    record: the run.
    composites: the reasons for composites.
    more: the number of further composites, which are not explained.
    event: the event of the question, by its number in the order.
    missing: why a composite was not emitted, if that was the question.
    """

    question: str
    record: RunRecord = field(repr=False)
    composites: tuple[CompositeReason, ...] = ()
    more: int = 0
    event: int | None = None
    missing: MissingReason | None = None

    def __str__(self) -> str:
        found: str = later("workbench.show.rule_explanation", "explanation_text")(self)
        return found

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain data: rows of the log are called `5`, composites `#3`; times are as in the log."""
        return _Told(self.record).answer(self)


class _Told:
    """Converter of answers to plain data."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record

    def answer(self, found: RuleExplanation) -> dict[str, Any]:
        told: dict[str, Any] = {"question": found.question}
        if found.event is not None:
            told["event"] = self.event(found.event)
        if found.missing is not None:
            told["missing"] = self.missing(found.missing)
        if found.missing is None or found.composites:
            told["composites"] = [self.composite(each) for each in found.composites]
        return told | ({"more": found.more} if found.more else {})

    def event(self, number: int) -> dict[str, Any]:
        order = self.record.order
        event = order.event(number)
        values = self.record.attributes(event.type, event.values)
        return {"event": order.label(number), "type": event.type, "time": self.time(event.time), "values": values}

    def time(self, time: int) -> Any:
        return self.record.show(time)

    def labels(self, numbers: Iterable[int]) -> list[str]:
        return [self.record.order.label(each) for each in numbers]

    def composite(self, found: CompositeReason) -> dict[str, Any]:
        return {
            **self.event(found.event.number),
            "rule": found.rule,
            "parts": self.parts(found.parts),
            "where": self.conditions(found.where),
            "consumed": self.labels(found.consumed),
            "rows": list(found.rows),
            "part_of": self.labels(found.users),
            "causes": [self.composite(each) for each in found.causes],
        }

    def parts(self, parts: Sequence[SeenPart]) -> list[dict[str, Any]]:
        return [self.part(each) for each in parts]

    def part(self, part: SeenPart) -> dict[str, Any]:
        told: dict[str, Any] = {"part": part.text, "kind": part.kind, "window": self.window(part.window)}
        if part.bound is not None:
            told["bound"] = self.fit(part.bound)
        told["parameters"] = dict(part.parameters)
        told["constraints"] = self.conditions(part.conditions)
        if part.kind != "trigger":
            told["count"] = len(part.fits)
            told["fits"] = [self.named(each) for each in part.fits[:MOST_LISTED]]
        if part.values:
            told["values"] = list(part.values[:MOST_LISTED])
        return told

    def named(self, fit: Fit) -> str:
        return f"fact {fit.number + 1}" if fit.event is None else self.record.order.label(fit.number)

    def fit(self, fit: Fit) -> dict[str, Any]:
        return self.event(fit.number) if fit.event is not None else {"fact": fit.number + 1, "values": dict(fit.own)}

    def window(self, window: SeenWindow | None) -> dict[str, Any] | None:
        if window is None:
            return None
        first = None if window.first is None else self.time(window.first)
        return {"text": window.text, "from": first, "to": self.time(window.last)}

    def conditions(self, found: Sequence[SeenCondition]) -> list[dict[str, Any]]:
        return [{"text": each.text, "values": each.values, "result": each.result} for each in found]

    # --- missing composites -----------------------------------------------------------------------------

    def missing(self, found: MissingReason) -> dict[str, Any]:
        return {
            "type": found.type,
            "time": self.time(found.time),
            "values": dict(found.values),
            "there": self.labels(found.there),
            "rules": [self.rule(each) for each in found.rules],
        }

    def rule(self, found: RuleReason) -> dict[str, Any]:
        told: dict[str, Any] = {"rule": found.rule, "trigger": found.trigger, "time": self.time(found.time)}
        told["triggers"] = [self.trigger(each) for each in found.triggers]
        if not found.triggers:
            told["nearest"] = [self.fit(each) for each in found.nearest]
        return told | ({} if found.cause is None else {"cause": self.missing(found.cause)})

    def trigger(self, found: TriggerReason) -> dict[str, Any]:
        return {
            **self.fit(found.trigger),
            "composites": self.labels(found.composites),
            "stopped": found.stopped,
            "complete": found.complete,
            "reasons": [dict(self.reason(each)) for each in found.reasons],
        }

    def reason(self, found: PartialReason) -> Iterator[tuple[str, Any]]:
        yield "match", self.parts(found.seen)
        yield "stopped_by", found.text or None
        yield "window", self.window(found.window)
        yield "reasons", self.hindrances(found.hindrances)
        if found.candidates is not None:
            yield "looked_at", found.candidates.looked
            yield "left_out", found.candidates.left
            yield "nearest", [self.candidate(each) for each in found.candidates.near]

    def candidate(self, found: NearCandidate) -> dict[str, Any]:
        return {**self.fit(found.fit), "reasons": self.hindrances(found.hindrances)}

    def hindrances(self, found: Sequence[Hindrance]) -> list[Mapping[str, Any]]:
        return [
            {"kind": each.kind, "text": each.text, "events": self.labels(each.events)}
            | ({} if each.lacking is None else {"by": each.lacking})
            for each in found
        ]
