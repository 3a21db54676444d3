"""Matches of rules as tables, for files and for Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.core.domain import INT, STR
from workbench.core.program import Port, Ports
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.events.batch import LogBatch
from workbench.executors.run_options import AUTO
from workbench.executors.session import BatchOutput, Session
from workbench.extensions import later
from workbench.runner.options import make_start
from workbench.runner.rules.columns import pack_events
from workbench.runner.rules.opening import OpenedRules, prepare_rules
from workbench.runner.source import answers_as_it_comes
from workbench.tesla.engines.engine import rule_engine
from workbench.tesla.engines.matches import ComposedMatches, MatchedRules
from workbench.tesla.event_block import EventBlock
from workbench.tesla.match_block import RULE, MatchBlock, join_matches, match_names

if TYPE_CHECKING:
    from workbench.runner.loop import LogRun
    from workbench.tesla.rule_set import RuleSet


def match_table(matches: MatchBlock) -> Any:
    """Build an Arrow table: the rule, then the columns of `MatchBlock.by_name`, null for a missing event."""
    import pyarrow as pa

    from workbench.events.buffers import numbers_to_arrow
    from workbench.events.text_column import TextColumn

    columns = {RULE: numbers_to_arrow(STR, TextColumn(matches.rules.astype("i8"), matches.names))}
    for name, column in matches.by_name().items():
        there = column != 0
        columns[name] = numbers_to_arrow(INT, column, None if there.all() else there)
    return pa.table(list(columns.values()), list(columns))


COMPILED_MATCHES = later("workbench.executors.compiled.rules.matches", "CompiledMatches")
COUNT, ROWS = "count", "rows"
"""The values of `--matches`: the number of matches of each rule, or the events that they consist of."""
BATCH_EVENTS = 1 << 14
"""Number of events that are counted at a time, without interruption."""


class MatchSession(Session):
    """A rule set whose matches are requested, and no composites.

    Parameters
    ----------
    numbers: whether the events of matches are requested, or else the number of matches.
    limit: the maximum number of matches.
    show: converts matches to an output.
    """

    def __init__(
        self, opened: OpenedRules, *, numbers: bool, limit: int | None, show: Callable[[MatchBlock], Any] = match_table
    ) -> None:
        self.opened, self.numbers, self._left, self._show = opened, numbers, limit, show
        names = match_names(MatchedRules(opened.rules).roles) if numbers else ()
        ports = [Port(RULE, STR), *(Port(name, INT) for name in names)]
        if not numbers:
            ports += [Port("type", STR), Port("matches", INT)]
        self.outputs = Ports(opened.rules.name, (), tuple(ports), kind=opened.rules.kind)

    def block_size(self, rows: int) -> int:
        return min(rows, BATCH_EVENTS)

    @property
    def is_done(self) -> bool:
        return self._left == 0

    def step_batch(self, batch: LogBatch) -> BatchOutput:
        return self._make_output(self._cut(self._find_matches(batch)), computed=len(batch), failed=batch.failed)

    def step_parts(self, batch: LogBatch) -> Iterator[BatchOutput]:
        for part in self._cut(self._find_matches(batch)):
            yield self._make_output([part])
        if not self.is_done:
            yield BatchOutput(computed=len(batch), failed=batch.failed)

    def advance_clock(self, time: int) -> BatchOutput:
        return self._make_output(self._cut(self.opened.engine.matches_until(time)))

    def end(self) -> BatchOutput:
        if self.numbers:
            return BatchOutput()
        rules = zip(self.opened.rules.rules, self.counts, strict=True)
        rows = [{RULE: rule.name, "type": rule.emits, "matches": count} for rule, count in rules]
        return BatchOutput(rows, events_out=sum(self.counts))

    def notes(self) -> Iterable[str]:
        return (*self.opened.notes(), *self.opened.costs())

    @property
    def counts(self) -> list[int]:
        """The number of matches of each rule, if they are counted."""
        counts: list[int] = self.opened.engine.counts
        return counts

    @property
    def called(self) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
        """The names of the rules, and the names of the events of their matches."""
        return [rule.name for rule in self.opened.rules.rules], MatchedRules(self.opened.rules).roles

    def _find_matches(self, batch: LogBatch) -> Iterator[MatchBlock]:
        """Yield the matches that the events of a batch complete, part by part."""
        engine, events = self.opened.engine, batch.occurrences
        if isinstance(events, EventBlock):
            yield from engine.matches(events)
        elif self.numbers:  # the matches of an event come before the next event is processed
            for event in events:
                yield from engine.matches_singly([event])
        elif events:
            block = pack_events(self.opened.log.rules, events)
            yield from engine.matches_singly(events) if block is None else engine.matches(block)

    def _cut(self, parts: Iterable[MatchBlock]) -> Iterator[MatchBlock]:
        """Yield matches up to the limit."""
        for part in parts:
            if self._left is not None:
                part = part.part(0, self._left)
                self._left -= len(part)
            yield part
            if self.is_done:
                return

    def _make_output(
        self, parts: Iterable[MatchBlock], computed: int = 0, failed: WorkbenchError | None = None
    ) -> BatchOutput:
        some = [part for part in parts if len(part)]
        table = self._show(some[0] if len(some) == 1 else join_matches(some)) if some else None
        return BatchOutput(table=table, computed=computed, events_out=sum(map(len, some)), failed=failed)


def match_run(rules: RuleSet, data: Any, options: dict[str, Any], *, again: bool = False) -> LogRun:
    """Prepare a run of rules on data that finds their matches, with the options of `workbench.run`.

    Its session is a `MatchSession`. Each part of the matches is computed when the caller takes it, as an output table.

    Parameters
    ----------
    again: whether the data have been read before.

    Raises
    ------
    InputError: the data can be read only once.
    """
    if again and answers_as_it_comes(data):
        raise InputError("this log has been read", hint="give a list, a table or a file to query it more than once")
    return prepare_rules(rules, make_start(data, None, options), partial(match_session, show=lambda matches: matches))


def match_session(opened: OpenedRules, show: Callable[[MatchBlock], Any] = match_table) -> MatchSession:
    """Build the session for the matches that options request: `matches` names their form, `first` the limit."""
    options = opened.start.options
    form, limit, numbers = options.matches, options.first, options.matches == ROWS
    if form not in (COUNT, ROWS):
        raise InputError(f"--matches has no form '{form}'", hint=f"'{COUNT}' counts them, '{ROWS}' lists their events")
    threads = "--threads" if (options.threads or 1) > 1 else ""
    if foreign := options.list_present("--with-sources", "--rules-control", "--key") or threads:
        raise InputError(f"{foreign} and --matches cannot be combined", hint="leave one out")
    if limit is not None and not numbers:
        raise InputError("the first matches are listed, not counted", hint=f"add --matches {ROWS}")
    opened.engine = _engine(opened, numbers)
    return MatchSession(opened, numbers=numbers, limit=limit, show=show)


def _engine(opened: OpenedRules, numbers: bool) -> Any:
    """Start the engine that finds the matches: machine code, if it supports the rules."""
    rules, facts, settings = opened.scale_windows(), opened.read_facts(), opened.settings()
    backend, opened.backend = opened.start.options.backend, "compiled"
    try:
        if backend in (AUTO, opened.backend):
            return COMPILED_MATCHES(rules, facts, settings, numbers=numbers)
    except Refused as error:
        if backend == opened.backend:
            raise
        opened.start.report(f"backend cdp: {error}")
    opened.backend = "cdp" if backend == AUTO else backend
    return ComposedMatches(rules, rule_engine(rules, opened.backend, facts, settings), numbers=numbers)
