"""Explain a run of rules on a log: why it emitted a composite, or why it did not.

The rule of this module: an engine runs, and its events are recorded; the formulas explain them. It runs no further than
the question requires.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby
from typing import Any, cast

from workbench.core.domain import Domain, Value
from workbench.errors import InputError, did_you_mean
from workbench.events.batch import LogBatch
from workbench.events.date_formats import UntimedError
from workbench.events.values import UnreadableError, from_text
from workbench.executors.session import BatchOutput
from workbench.executors.table import Start
from workbench.runner.options import make_start
from workbench.runner.rules.columns import text_codes
from workbench.runner.rules.composites import RuleRow
from workbench.runner.rules.opening import OpenedRules, prepare_rules
from workbench.runner.rules.session import RuleSession
from workbench.tesla import tree as t
from workbench.tesla.event_block import EventBlock, event_block, join_blocks
from workbench.tesla.explain.counted import list_counts
from workbench.tesla.explain.order import EventOrder, emitting
from workbench.tesla.explain.rule_view import RunRecord
from workbench.tesla.explain.why import composite_reason
from workbench.tesla.explain.why_not import missing_reason
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_explanation import RuleExplanation
from workbench.tesla.rule_set import RuleSet

RunPiece = EventBlock | Sequence[Occurrence]
"""Successive events of a run, all from outside or all composites."""
MAX_EXPLAINED = 10
"""The default limit on composites that are explained."""
MAX_LISTED = 256
"""The number of composites at a time above which they are kept as columns."""
_NAMED = re.compile(r"\s*(\w+)\s*(?:\((.*)\))?\s+at\s+(\S.*?)\s*", re.DOTALL)
_VALUE = re.compile(r"""\s*(\w+)\s*==?\s*("[^"]*"|'[^']*'|[^,"']*?)\s*(?:,|$)""")
_TIME_OF_DAY = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


@dataclass(frozen=True)
class CompositeNamed:
    """A composite as a user names it: `Fire(area = 1) at 12:00:05`.

    Attributes
    ----------
    time: the time as it is written.
    """

    type: str
    values: Mapping[str, Value | None]
    time: str


@dataclass(frozen=True)
class RuleQuestion:
    """A question about a run.

    Attributes
    ----------
    event: the number of a row of the log, from 1 on: which composites is it a part of, and which have counted it?
    output: the `id` of a composite, or its name: why was it emitted?
    missing: the name of a composite: why was it not emitted?
    limit: the maximum number of composites to explain.
    """

    event: int | None = None
    output: int | str | None = None
    missing: str | None = None
    limit: int = MAX_EXPLAINED

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.event, self.output, self.missing)) != 1:
            hint = 'name a row (event 12), an output (3, or "Fire at 12:00:05"), or a missing composite'
            raise InputError("expected one question", hint=hint)

    def __str__(self) -> str:
        if self.missing is not None:
            return f"why is there no {self.missing}?"
        if self.event is not None:
            return f"what is event {self.event} a part of?"
        return f"why is there {self.output if isinstance(self.output, str) else f'#{self.output}'}?"

    @property
    def named(self) -> str | None:
        """The composite that the question names by its type and time."""
        return self.output if isinstance(self.output, str) else self.missing


def explain_rules(rules: RuleSet, data: Any, question: RuleQuestion, options: dict[str, Any]) -> RuleExplanation:
    """Answer a question about a run on data, with the options of `workbench.run`."""
    start = make_start(data, None, options)
    with start.reporter.doing:
        return explain(rules, start, question)


def explain(rules: RuleSet, start: Start, question: RuleQuestion) -> RuleExplanation:
    """Answer a question about a run on the log of its options.

    Raises
    ------
    InputError: there is no such event, or no rule emits the composite. EngineGap: the engine deviates from the meaning.
    """
    if foreign := start.options.list_present("--key", "--rules-control", "--matches", "--first"):
        hint = "leave it out; from a log with keys, take the rows of one key"
        raise InputError(f"a run with {foreign} cannot be explained", hint=hint)
    named = None if question.named is None else composite_named(rules, question.named)

    def make(opened: OpenedRules) -> RecordingSession:
        opened.start_engine()
        return RecordingSession(opened, question, named)

    run = prepare_rules(rules, start, make)
    for _ in run.outputs():
        pass
    return cast(RecordingSession, run.session).answer()


def composite_named(rules: RuleSet, text: str) -> CompositeNamed:
    """Parse a text such as `Fire(area = 1) at 12:00:05`.

    Raises
    ------
    InputError: the text cannot be read, or no rule emits such a composite.
    """
    match = _NAMED.fullmatch(text)
    if match is None:
        raise InputError(f"'{text}' names no composite", hint='write its type and its time: "Fire at 12:00:05"')
    type, given_values, time = match.groups()
    emitting(rules, type)
    domains = rules.declarations[type].domains
    values: dict[str, Value | None] = {}
    rest = (given_values or "").strip()
    while rest:
        one = _VALUE.match(rest)
        if one is None:
            raise InputError(f"'{rest}' gives no attribute a value", hint=f'write {type}(area = 1, name = "x") at ...')
        name, value = one.groups()
        if name not in domains:
            raise InputError(f"{type} has no attribute '{name}'", hint=did_you_mean(name, domains))
        values[name] = _read(value, domains[name], f"'{name}' of {type}")
        rest = rest[one.end() :].strip()
    return CompositeNamed(type, values, time)


def _read(text: str, domain: Domain, what: str) -> Value | None:
    if text == "null":
        return None
    try:
        return from_text(text[1:-1] if text[:1] in ("'", '"') else text, domain)
    except UnreadableError as error:
        raise error.refusal(what, text) from error


class RecordingSession(RuleSession):
    """A rule set whose run is recorded, for a question about it.

    Parameters
    ----------
    named: the composite that the question names.
    """

    def __init__(self, opened: OpenedRules, question: RuleQuestion, named: CompositeNamed | None) -> None:
        super().__init__(opened, None, opened.rules.composites)
        self._question, self._named = question, named
        self._given, self._found = list[RunPiece](), list[RunPiece]()
        self._told = 0
        self._time: int | None = None
        self._until: int | None = None
        self._began: int | None = None
        self._stopped = False

    @property
    def is_done(self) -> bool:
        output = self._question.output
        return self._stopped or (isinstance(output, int) and self._told >= output)

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        events = batch.occurrences
        if len(events):
            times = events.times if isinstance(events, EventBlock) else [event.time for event in events]
            if self._began is None:
                self._begin(int(times[0]))
            if self._time is not None and times[-1] > self._time:
                self._stopped = True
                end = bisect_right(times, self._time) + 1
                events = events.part(0, end) if isinstance(events, EventBlock) else events[:end]
        self._given.append(events)
        if self.block_engine is not None and isinstance(events, EventBlock) and self.block_size(len(events)):
            for each in self.block_engine.process_block(events, sources=True):
                self._keep(each)
            return BatchOutput(computed=len(events), failed=batch.failed)
        return super().step_batch(replace(batch, occurrences=events))

    def advance_clock(self, time: int) -> BatchOutput:
        self._until = time
        return super().advance_clock(time)

    def answer(self) -> RuleExplanation:
        """Return the answer, when the run has gone far enough."""
        opened, rules = self.opened, self.engine.rules
        order = EventOrder(rules, self._join(self._given), self._join(self._found))
        facts = cast("Facts", _FactRows(opened.facts))
        micro = bool(opened.clock.dates) or opened.clock.unit is not None
        record = RunRecord(
            rules,
            order,
            facts,
            opened.start.options.compat or "",
            opened.clock.show,
            self._until,
            opened.backend,
            micro,
            opened.plain,
        )
        return self._explain(record)

    def _explain(self, record: RunRecord) -> RuleExplanation:
        question, order, named = self._question, record.order, self._named
        if question.event is not None:
            number = order.of_row(question.event)
            return replace(self._of(record, order.users(number)), event=number, counts=list_counts(record, number))
        if isinstance(question.output, int):
            return self._of(record, [order.of_id(question.output)])
        assert named is not None
        missing = missing_reason(record, named.type, self._read_time(named.time), named.values)
        if question.missing is None:
            if not missing.there:
                hint = f'--missing "{question.output}" explains why'
                raise InputError(f"there is no {question.output}", hint=hint)
            return self._of(record, missing.there)
        return replace(self._of(record, missing.there), missing=missing)

    def _of(self, record: RunRecord, numbers: Sequence[int]) -> RuleExplanation:
        some = tuple(composite_reason(record, each) for each in numbers[: self._question.limit])
        return RuleExplanation(str(self._question), record, some, len(numbers) - len(some))

    def _begin(self, time: int) -> None:
        """Note the time of the first event, and compute the time after which nothing matters."""
        self._began = time
        if self._named is not None:
            rules = self.engine.rules
            lookaheads = [_compute_lookahead(rules.rules[each]) for each in emitting(rules, self._named.type)]
            self._time = self._read_time(self._named.time) + max(lookaheads)

    def _read_time(self, text: str) -> int:
        """Read a time in the form of the log; a time of day is on the day of the first event."""
        first_time = str(self.opened.clock.show(self._began or 0))
        if self.opened.clock.dates and _TIME_OF_DAY.fullmatch(text):
            zone = re.search(r"(Z|[+-]\d\d:\d\d)$", first_time)
            text = f"{first_time[:10]}T{text.rjust(8, '0') if text.count(':') == 2 else text}{zone[0] if zone else ''}"
        try:
            return self.opened.clock.read(text)
        except UntimedError as error:
            raise InputError(f"'{text}' is not a time of this log: expected {error}") from error

    def _format_rows(self, composites: Iterable[Occurrence]) -> list[RuleRow]:
        self._keep(list(composites))
        return []

    def _keep(self, piece: RunPiece) -> None:
        if len(piece):
            self._told += len(piece)
            self._found.append(self._pack(piece) if isinstance(piece, list) and len(piece) > MAX_LISTED else piece)

    def _join(self, pieces: Sequence[RunPiece]) -> EventBlock:
        """Join successive events of the run into one block."""
        blocks = list[EventBlock]()
        for columns, some in groupby(pieces, lambda each: isinstance(each, EventBlock)):
            group: list[Any] = list(some)
            blocks += group if columns else [self._pack([*chain.from_iterable(group)])]
        return join_blocks([each for each in blocks if len(each)] or [self._pack(())])

    def _pack(self, events: Sequence[Occurrence]) -> EventBlock:
        """Convert events to columns, which take a fifth of the memory."""
        return event_block(self.engine.rules, events, text_codes, large=True)


def _compute_lookahead(rule: t.Rule) -> int:
    """Return how long after a trigger the rule may still depend on events."""
    windows = (part.window for part in rule.predicates)
    return max((each.far or 0 for each in windows if each is not None and not each.counts_events), default=0)


class _FactRows(dict[str, Sequence[Any]]):
    """Facts as rows in memory; those of a database are read on demand."""

    def __init__(self, facts: Facts) -> None:
        super().__init__()
        self._facts = facts

    def get(self, name: str, default: Any = ()) -> Any:
        """Return the rows of a type."""
        return self[name] if name in self._facts else default

    def __missing__(self, name: str) -> Sequence[Any]:
        self[name] = rows = list(self._facts[name])
        return rows
