"""Answers to the question why rules emitted a composite event, or why they did not.

The rule of this module: the answer is data; `show.rule_explanation` formats it as text and pages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from workbench.display import Displayed
from workbench.extensions import later
from workbench.tesla.explain.counted import EventCount
from workbench.tesla.explain.hindrances import Hindrance, NearCandidate
from workbench.tesla.explain.rule_view import Fit, RunRecord, SeenWindow
from workbench.tesla.explain.why import CompositeReason, SeenCondition, SeenPart
from workbench.tesla.explain.why_not import MissingReason, PartialReason, RuleReason, TriggerReason

MAX_LISTED = 1_000
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
    counts: the aggregates that have counted this event, which need not be bound in the match.
    missing: why a composite was not emitted, if that was the question.
    """

    question: str
    record: RunRecord = field(repr=False)
    composites: tuple[CompositeReason, ...] = ()
    more: int = 0
    event: int | None = None
    missing: MissingReason | None = None
    counts: tuple[EventCount, ...] = ()

    def __str__(self) -> str:
        text: str = later("workbench.show.rule_explanation", "explanation_text")(self)
        return text

    __repr__ = __str__

    def to_json(self) -> dict[str, Any]:
        """Return the answer as plain data: rows of the log are called `5`, composites `#3`; times are as in the log."""
        return _PlainAnswer(self.record).answer(self)


class _PlainAnswer:
    """Converter of answers to plain data."""

    def __init__(self, record: RunRecord) -> None:
        self.record = record

    def answer(self, explanation: RuleExplanation) -> dict[str, Any]:
        answer: dict[str, Any] = {"question": explanation.question}
        if explanation.event is not None:
            answer["event"] = self.event(explanation.event)
            answer["counted_in"] = self.counts(explanation.counts)
        if explanation.missing is not None:
            answer["missing"] = self.missing(explanation.missing)
        if explanation.missing is None or explanation.composites:
            answer["composites"] = [self.composite(each) for each in explanation.composites]
        return answer | ({"more": explanation.more} if explanation.more else {})

    def event(self, number: int) -> dict[str, Any]:
        order = self.record.order
        event = order.event(number)
        values = self.record.attributes(event.type, event.values)
        return {"event": order.label(number), "type": event.type, "time": self.time(event.time), "values": values}

    def time(self, time: int) -> Any:
        return self.record.show(time)

    def counts(self, counts: Iterable[EventCount]) -> list[dict[str, Any]]:
        label = self.record.order.label
        return [{"composite": label(each.composite), "rule": each.rule, "part": each.text} for each in counts]

    def labels(self, numbers: Iterable[int]) -> list[str]:
        return [self.record.order.label(each) for each in numbers]

    def composite(self, reason: CompositeReason) -> dict[str, Any]:
        return {
            **self.event(reason.event.number),
            "rule": reason.rule,
            "parts": self.parts(reason.parts),
            "where": self.conditions(reason.where),
            "consumed": self.labels(reason.consumed),
            "rows": list(reason.rows),
            "part_of": self.labels(reason.users),
            "causes": [self.composite(each) for each in reason.causes],
        }

    def parts(self, parts: Sequence[SeenPart]) -> list[dict[str, Any]]:
        return [self.part(each) for each in parts]

    def part(self, part: SeenPart) -> dict[str, Any]:
        entry: dict[str, Any] = {"part": part.text, "kind": part.kind, "window": self.window(part.window)}
        if part.bound is not None:
            entry["bound"] = self.fit(part.bound)
        entry["parameters"] = dict(part.parameters)
        entry["constraints"] = self.conditions(part.conditions)
        if part.kind != "trigger":
            entry["count"] = len(part.fits)
            entry["fits"] = [self.named(each) for each in part.fits[:MAX_LISTED]]
        if part.values:
            entry["values"] = list(part.values[:MAX_LISTED])
        return entry

    def named(self, fit: Fit) -> str:
        return f"fact {fit.number + 1}" if fit.event is None else self.record.order.label(fit.number)

    def fit(self, fit: Fit) -> dict[str, Any]:
        return self.event(fit.number) if fit.event is not None else {"fact": fit.number + 1, "values": dict(fit.own)}

    def window(self, window: SeenWindow | None) -> dict[str, Any] | None:
        if window is None:
            return None
        first = None if window.first is None else self.time(window.first)
        return {"text": window.text, "from": first, "to": self.time(window.last)}

    def conditions(self, conditions: Sequence[SeenCondition]) -> list[dict[str, Any]]:
        return [{"text": each.text, "values": each.values, "result": each.result} for each in conditions]

    # --- missing composites -----------------------------------------------------------------------------

    def missing(self, reason: MissingReason) -> dict[str, Any]:
        return {
            "type": reason.type,
            "time": self.time(reason.time),
            "values": dict(reason.values),
            "there": self.labels(reason.there),
            "rules": [self.rule(each) for each in reason.rules],
        }

    def rule(self, reason: RuleReason) -> dict[str, Any]:
        entry: dict[str, Any] = {"rule": reason.rule, "trigger": reason.trigger, "time": self.time(reason.time)}
        entry["triggers"] = [self.trigger(each) for each in reason.triggers]
        if not reason.triggers:
            entry["nearest"] = [self.fit(each) for each in reason.nearest]
        return entry | ({} if reason.cause is None else {"cause": self.missing(reason.cause)})

    def trigger(self, reason: TriggerReason) -> dict[str, Any]:
        return {
            **self.fit(reason.trigger),
            "composites": self.labels(reason.composites),
            "stopped": reason.stopped,
            "complete": reason.complete,
            "reasons": [dict(self.reason(each)) for each in reason.reasons],
        }

    def reason(self, reason: PartialReason) -> Iterator[tuple[str, Any]]:
        yield "match", self.parts(reason.seen)
        yield "stopped_by", reason.text or None
        yield "window", self.window(reason.window)
        yield "reasons", self.hindrances(reason.hindrances)
        if reason.candidates is not None:
            yield "looked_at", reason.candidates.looked
            yield "left_out", reason.candidates.left
            yield "nearest", [self.candidate(each) for each in reason.candidates.near]

    def candidate(self, candidate: NearCandidate) -> dict[str, Any]:
        return {**self.fit(candidate.fit), "reasons": self.hindrances(candidate.hindrances)}

    def hindrances(self, hindrances: Sequence[Hindrance]) -> list[Mapping[str, Any]]:
        return [
            {"kind": each.kind, "text": each.text, "events": self.labels(each.events)}
            | ({} if each.lacking is None else {"by": each.lacking})
            for each in hindrances
        ]
