"""Open a rule set on a log: events in, composites out.

The rule of this module: a composite is a row like those that are read (`log`), written when the events that cause it
have been read. The first event is read before an engine starts: it shows the form of times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import chain
from typing import TYPE_CHECKING, Any, cast

from workbench.errors import InputError
from workbench.events.clock import instant
from workbench.events.write import keep_bad_rows
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.session import Session
from workbench.executors.table import (
    RULE_SET,
    BackendRow,
    Start,
    backend_row,
    refuse_kind,
    refuse_missing,
    refuse_options,
)
from workbench.extensions import later
from workbench.runner.choice import choose_engine, default_row, rank_rows, report_choice, run_size
from workbench.runner.loop import LogRows, LogRun, run_state
from workbench.runner.order import read_first
from workbench.runner.rules.composites import Sources
from workbench.runner.rules.control import RuleControl
from workbench.runner.rules.facts import facts_of
from workbench.runner.rules.keys import KeyedRules, with_key
from workbench.runner.rules.log import RuleLog
from workbench.runner.rules.order import EventPiece, event_batches, late_events
from workbench.runner.rules.passed_events import check_passed
from workbench.runner.rules.session import ControlledSession, RuleSession
from workbench.runner.source import LogSource, source_of
from workbench.tesla.engines.engine import EngineSettings, RuleEngine, rule_engine
from workbench.tesla.engines.facts import fact_tables
from workbench.tesla.engines.rule_split import rule_split
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Facts, Occurrence, has_units, in_units
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.batch import LogBatch
    from workbench.runner.state import RunState
    from workbench.tesla.engines.engine import RuleCost
    from workbench.tesla.engines.facts.tables import FactTables

MakesSession = Callable[["OpenedRules"], Session]
"""Builds the session that steps rules."""


def run_rules(rules: RuleSet, start: Start) -> None:
    """Read a log and write a row for each composite, in the order in which they are published.

    Raises
    ------
    InputError: a row cannot be read, times go back, or a window has a unit that the times do not have.
    """
    options = start.options
    row = rule_backends(rules, options)[0]
    if row.whole is not None:
        row.whole(rules, start)
        return
    open_rules(rules, start).write()


def rule_backends(rules: RuleSet, options: RunOptions) -> Sequence[BackendRow]:
    """Return the backends that may run rules on a log with these options.

    Raises
    ------
    Refused, InputError: the backend runs no rules, or an option does not fit it.
    """
    rows = rank_rows(RULE_SET) if options.backend == AUTO else [backend_row(options.backend)]
    for row in rows:
        refuse_kind(row, rules, graph=False)
    refuse_options(rows, rules, options, graph=False)
    if options.backend != AUTO:
        refuse_missing(rows[0])
    if options.compat not in (None, "trex"):
        raise InputError(f"there is no system '{options.compat}' to be compatible with", hint="did you mean 'trex'?")
    return rows


def open_rules(rules: RuleSet, start: Start) -> LogRun:
    """Prepare rules to run on the log of their options, for composites or for matches."""
    if start.options.matches is not None:
        if start.options.passed:
            raise InputError("--matches and --pass cannot be combined", hint="leave one out")
        make: MakesSession = later("workbench.runner.rules.matches", "match_session")
    elif start.options.first is not None:
        raise InputError("--first is for matches", hint="add --matches rows, or --head for the first events")
    else:
        make = rule_session
    return prepare_rules(rules, start, make)


def prepare_rules(rules: RuleSet, start: Start, make: MakesSession) -> LogRun:
    """Prepare rules to run on a log through a session; if they cannot run, close what has been opened."""
    source, state = source_of(start.options.input, live=start.live), run_state(start)
    if state is not None and len(source.logs()) > 1:
        raise InputError("--state is for rules on one log", hint="give one --input, which may be a folder")
    start = start if state is None else state.adopt(start)
    row = rule_backends(rules, start.options)[0]
    if row.engine is None:
        raise InputError(f"the {row.name} backend reads a file and writes one", hint="name input and output")
    with nullcontext() if state is None else state.saving_position(), start.opening():
        start = start.follow()
        opened = OpenedRules(rules, start, source, state)
        start.await_log()
        start.closing.enter_context(keep_bad_rows(opened.reading, start.reporter, live=start.live, stays=start.stays))
        opened.begin()
        session = make(opened)
        if state is not None:
            state.begin(session, rules, opened.backend)
    until, file = start.options.until, str(source.format_of).rpartition("=")[2]
    return LogRun(
        session,
        opened.start,
        LogRows(
            lambda pace, _: event_batches(opened.pieces, session, pace, file),
            session.size if source.rereadable else 1,
            remark=opened.log.remark,
        ),
        backend=opened.backend,
        format=(opened.reading.format, file),
        until=None if until is None else partial(instant, opened.clock, str(until)),
        named=session.composite_rows if isinstance(session, RuleSession) else dict,
        state=state,
    )


def rule_session(opened: OpenedRules) -> Session:
    """Build the session that emits composites."""
    passed = check_passed(opened.rules, opened.start.options.passed)
    opened.start_engine()
    control = opened.control
    sources = Sources() if opened.start.options.with_sources else None
    live = control is not None and control.live
    types = opened.rules.events if live else opened.rules.composites
    if control is not None:
        return ControlledSession(opened, sources, types, control, passed)
    return RuleSession(opened, sources, types, passed)


class OpenedRules:
    """A rule set, and the log that it is to run on.

    Attributes
    ----------
    plain: the rules that run first.
    rules: all rules that run at some time, with the key as an attribute where each key has a run.
    pieces: the events of the log, after `begin`.
    log, late: the log, and the handling of its late rows.
    engine: runs the rules, and may change them; set by `start_engine`; `backend` is its name.
    facts, tables: the facts of the rules, after `read_facts`; as tables, where some may be in databases.
    """

    engine: Any
    facts: Facts
    tables: FactTables | None = None

    def __init__(self, rules: RuleSet, start: Start, source: LogSource, state: RunState | None = None) -> None:
        options = start.options
        control = options.rules_control
        self.control = None if control is None else RuleControl(control, rules, start)
        self.plain, self.start, self.source, self.key = rules, start, source, options.key
        self.rules = rules if self.control is None else self.control.everything
        if self.key is not None:
            self.rules = with_key(self.rules, self.key, source, options)
        self.clock, self.reading = options.clock(options.late), options.reading(follower=start.follower)
        self.late = late_events(
            start, self.rules, self.clock, state, cache(lambda: self.log.named_types(source.logs()))
        )
        self.log = RuleLog(
            self.rules, self.clock, self.reading, start.reporter, key=self.key or "", late=self.late, state=state
        )
        self.pieces: Iterator[EventPiece] = iter(())
        self.backend = default_row(RULE_SET, options).name

    def begin(self) -> None:
        """Read the first event, which shows the form of times."""
        self.pieces = read_first(self.log.pieces(self.source.logs()))
        if self.control is not None:
            self.control.see(self.clock)

    @property
    def has_dates(self) -> bool:
        """Whether times are dates; if the log has no row that shows it, whether windows have units."""
        unknown = self.clock.dates is None and self.clock.unit is None
        return has_units(self.plain) if unknown else bool(self.clock.dates)

    def settings(self, threads: int = 1) -> EngineSettings:
        """Return the settings with which an engine starts."""
        options = self.start.options
        return EngineSettings(
            self.clock.unit, self.has_dates, options.compat == "trex", options.profile, threads=threads
        )

    def scale_windows(self) -> RuleSet:
        """Return the rules that run first, windows in the unit of times."""
        trex = self.start.options.compat == "trex"
        return in_units(self.plain, self.clock.unit, dates=self.has_dates, trex=trex)

    def read_facts(self) -> Facts:
        """Read the facts of the rules, which are closed when the run ends."""
        self.facts = facts_of(self.rules, self.start)
        self.tables = fact_tables(self.facts)
        if self.tables is not None:
            self.start.closing.callback(self.tables.close)
        return self.facts

    def start_engine(self) -> None:
        """Start the backend of the options, or the one that fits the rules and the log."""
        start = self.start
        threads = start.options.threads or 1
        if threads > 1 and (self.control is not None or self.key is not None):
            raise InputError("--rules-control and --key need rules in one thread", hint="leave out --threads")
        settings, facts, scaled_rules = self.settings(threads), self.read_facts(), self.scale_windows()

        @cache
        def make(name: str) -> RuleEngine:
            one = partial(rule_engine, scaled_rules, name, facts, settings)
            # with keys no engine changes the rules, though some could
            keyed = self.key is not None and KeyedRules(self.key, scaled_rules, self.rules, one)
            return cast("RuleEngine", keyed) if keyed else one()

        if start.options.backend == AUTO:
            first = next(self.pieces, None)
            self.pieces = chain(filter(None, [first]), self.pieces)
            singly = self.control is not None or not isinstance(first, EventBlock)
            size = run_size(start.options, len(scaled_rules.rules))
            row = choose_engine(size, make, singly=singly)
            self.backend = row.name
            report_choice(row, RULE_SET, size, start.report)
        if threads > 1 and (reason := backend_row(self.backend).undivided(rule_split(scaled_rules))):
            start.report(f"the rules run in one thread: {reason}")
        self.engine = make(self.backend)

    # --- while it runs --------------------------------------------------------------------------------------

    def notes(self) -> Iterator[str]:
        """Yield remarks about the log, and about facts, when the log has been read."""
        yield from self.log.notes()
        yield from self.late.notes()
        if self.tables is not None:
            yield from self.tables.list_report_lines(costs=self.start.options.profile)

    def costs(self, removed: Iterable[RuleCost] = ()) -> Iterator[str]:
        """Yield the cost of each rule, with `--profile`; `removed` are the costs of removed rules."""
        yield from map(str, (*removed, *self.engine.profile()))

    def events(self, batch: LogBatch) -> Sequence[Occurrence]:
        """Return the events of a batch, one by one."""
        block = batch.occurrences
        return block.occurrences(self.log.rules) if isinstance(block, EventBlock) else block

    def together(self, batch: LogBatch) -> Any:
        """Return a context in which one query gets the facts for all events of a batch."""
        in_block = isinstance(batch.occurrences, EventBlock)
        return self.tables.together() if in_block and self.tables is not None else nullcontext()
