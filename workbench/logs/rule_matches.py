"""Matches of rules as tables: what is written of them, and what Python gets."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from workbench.core.domain import INT, STR
from workbench.core.program import Port, Ports
from workbench.errors import InputError, Refused
from workbench.executors.run_options import AUTO
from workbench.executors.table import Start
from workbench.extensions import later
from workbench.logs.rule_columns import text_codes
from workbench.logs.rule_facts import facts_of
from workbench.logs.rule_log import RuleLog, instant
from workbench.logs.rule_order import EventPiece
from workbench.logs.rules import TOLD, RowsMade, RuleRun
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.matches import ComposedMatches, MatchedRules
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.match_block import RULE, MatchBlock, match_names
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet


def match_table(matches: MatchBlock) -> Any:
    """An Arrow table: the rule, then the columns of `MatchBlock.by_name`, null where a match has no such event."""
    import pyarrow as pa

    from workbench.events.buffers import shown_column
    from workbench.events.text_column import TextColumn

    columns = {RULE: shown_column(STR, TextColumn(matches.rules.astype("i8"), matches.names))}
    for name, column in matches.by_name().items():
        there = column != 0
        columns[name] = shown_column(INT, column, None if there.all() else there)
    return pa.table(list(columns.values()), list(columns))


COUNT, ROWS = "count", "rows"
"""What is wanted of matches: how many each rule has, or which events they consist of."""
STRETCH = 1 << 14
"""Events that are counted at a time, and not interrupted."""


class MatchRun(RuleRun):
    """A rule set of which the matches are wanted, and no composites.

    Parameters
    ----------
    start: `matches` says what is wanted, `first` how many matches at most.
    """

    def __init__(self, rules: RuleSet, start: Start, read: Callable[[RuleLog], Iterator[EventPiece]]) -> None:
        wanted = start.options.matches
        if wanted not in (COUNT, ROWS):
            raise InputError(f"matches are not '{wanted}'", hint=f"'{COUNT}' counts them, '{ROWS}' tells their events")
        threads = "--threads" if (start.options.threads or 1) > 1 else ""
        if foreign := start.options.given("--with-sources", "--rules-control", "--key") or threads:
            raise InputError(f"{foreign} and --matches do not go together", hint="leave one out")
        self._numbers, self._most = wanted == ROWS, start.options.first
        if self._most is not None and not self._numbers:
            raise InputError("the first matches are told, not counted", hint=f"add --matches {ROWS}")
        super().__init__(rules, start, read)
        names = match_names(MatchedRules(rules).roles) if self._numbers else ()
        ports = [Port(RULE, STR), *(Port(name, INT) for name in names)]
        if not self._numbers:
            ports += [Port("type", STR), Port("matches", INT)]
        self.ports = Ports(rules.name, (), tuple(ports), kind=rules.kind)

    def _started(self) -> Any:
        start, unit, dates = self._start, self._clock.unit, bool(self._clock.dates)
        trex = start.options.compat == "trex"
        settings = EngineSettings(unit, dates, trex, start.options.profile)
        facts = self._facts = facts_of(self.rules, start)
        made, asked = in_units(self.rules, unit, dates=dates, trex=trex), start.options.backend
        self.engine = "compiled"
        try:
            if asked in (AUTO, self.engine):
                compact = later("workbench.executors.compiled.rules.matching_rules", "MatchingRules")
                return compact(made, facts, settings, numbers=self._numbers)
        except Refused as error:
            if asked == self.engine:
                raise
            start.say(f"backend cdp: {error}")
        self.engine = "cdp" if asked == AUTO else asked
        return ComposedMatches(made, rule_engine(made, self.engine, facts, settings), numbers=self._numbers)

    def made(self) -> Iterator[RowsMade]:
        """The matches as tables, or in the end how many there are."""
        for part in self.parts():
            yield match_table(part)
        if not self._numbers:
            yield [
                {RULE: rule.name, "type": rule.emits, "matches": count}
                for rule, count in zip(self.rules.rules, self.counts, strict=True)
            ]

    @property
    def called(self) -> tuple[list[str], tuple[tuple[str, ...], ...]]:
        """The names of the rules, and what they call the events of a match."""
        return [rule.name for rule in self.rules.rules], MatchedRules(self.rules).roles

    @property
    def counts(self) -> list[int]:
        """How many matches each rule has had, where they are counted."""
        found: list[int] = cast(Any, self._engine).counts
        return found

    def parts(self) -> Iterator[MatchBlock]:
        """The matches, part by part: what comes next is looked for when it is asked for."""
        left = self._most
        with self._closing:
            for part in self._all():
                if left is not None:
                    part = part.part(0, left)
                    left -= len(part)
                self._start.reporter.account.events_out += len(part)
                yield part
                if left == 0:
                    return
        self._start.reporter.account.events_out += 0 if self._numbers else sum(self.counts)
        self._tell()

    def _all(self) -> Iterator[MatchBlock]:
        engine = cast(Any, self._engine)
        reporter, account = self._start.reporter, self._start.reporter.account
        for piece in self._pieces:
            if isinstance(piece, EventBlock):
                account.computed += len(piece)
                for first in range(0, len(piece), STRETCH):
                    yield from engine.matches(piece.part(first, first + STRETCH))
                    reporter.after(max(0, len(piece) - first - STRETCH))
            elif self._numbers:  # what comes of an event is told before the next one is asked for
                for event in piece:
                    yield from engine.matches_singly([event])
                    account.computed += 1
                    reporter.after()
            else:
                for some in itertools.takewhile(bool, (list(itertools.islice(piece, TOLD)) for _ in itertools.count())):
                    yield from self._of_some(engine, some)
                    account.computed += len(some)
                    reporter.after()
        self._settle()
        until = self._start.options.until
        if until is not None:
            yield from engine.matches_until(instant(self._clock, str(until)))

    def _of_some(self, engine: Any, events: Sequence[Occurrence]) -> Iterator[MatchBlock]:
        """The matches of single events."""
        try:
            block = event_block(self._log.rules, events, text_codes)
        except LargeNumberError:
            yield from engine.matches_singly(events)
        else:
            yield from engine.matches(block)
