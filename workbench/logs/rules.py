"""Run a rule set on a log: events in, composites out.

The rule of this module: a composite is a row like those that are read (`rule_log`), written when what causes it has
been read.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from itertools import chain
from time import monotonic
from typing import TYPE_CHECKING, Any, cast

from workbench.core.domain import ANY, INT
from workbench.core.program import Port
from workbench.errors import InputError, WorkbenchError
from workbench.events.account import UNDECLARED
from workbench.events.clock import Clock
from workbench.events.inputs import expected_rows
from workbench.executors.run_options import AUTO, RunOptions
from workbench.executors.table import BackendRow, Start, backend_row, refuse_kind, refuse_options
from workbench.extensions import later
from workbench.logs.rule_choice import MACHINE_CODE, USUAL, EventsGiven, chosen_engine, engine_name
from workbench.logs.rule_composites import NUMBER, SOURCES, RuleRow, Sources, composite_table, event_columns, event_row
from workbench.logs.rule_control import RuleControl
from workbench.logs.rule_facts import facts_of
from workbench.logs.rule_keys import KeyedRules, with_key
from workbench.logs.rule_log import RuleLog, instant
from workbench.logs.rule_order import EventPiece, LateEvents, begun
from workbench.tesla.engines.engine import EngineSettings, RuleEngine, rule_engine
from workbench.tesla.engines.rule_split import rule_split
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter

RowsMade = Any
"""Composites: a list of `RuleRow`, or an Arrow table (`RowWriter.table`)."""
WAIT = 0.05
"""Seconds after which composites are given away, though more events of a block are there."""
TOLD = 1 << 12
"""Events after which it is said how far it is; so many of a block are single ones at a time."""


def run_rules(rules: RuleSet, start: Start) -> None:
    """Read and write a log: a row for each composite, in the order in which they are published.

    Raises
    ------
    InputError: a row cannot be read, times go back, or a window has a unit that the times have not.
    """
    from workbench.events.write import output_format, write_events

    options = start.options
    row = rule_backends(rules, options)[0]
    if row.whole is not None:
        row.whole(rules, start)
        return
    inputs = options.input if isinstance(options.input, list) else [options.input]
    read = str(inputs[0]).rpartition("=")[2]
    written = output_format(options.output, options.reading().format, read, wanted=options.output_format)
    run = rule_run(rules, start, lambda log: log.pieces(inputs))
    with write_events(options.output, run.ports, format=written, live=start.live) as writer, start.watched():
        for made in run.made():
            write_made(writer, made)
            writer.flush()


def rule_backends(rules: RuleSet, options: RunOptions) -> Sequence[BackendRow]:
    """What may run rules on a log, as options ask for it.

    Raises
    ------
    Refused, InputError: that runs no rules, or an option is not for it.
    """
    names = (USUAL, MACHINE_CODE) if options.backend == AUTO else (options.backend,)
    rows = [backend_row(name) for name in names]
    for row in rows:
        refuse_kind(row, rules, graph=False)
    refuse_options(rows, rules, options, graph=False)
    if options.compat not in (None, "trex"):
        raise InputError(f"there is no '{options.compat}' to be compatible with", hint="did you mean 'trex'?")
    return rows


def rule_run(rules: RuleSet, start: Start, read: Callable[[RuleLog], Iterator[EventPiece]]) -> RuleRun:
    """A run of rules, or one of which only the matches are wanted."""
    if start.options.matches is None:
        if start.options.first is not None:
            raise InputError("--first is for matches", hint="add --matches rows, or --head for the first events")
        return RuleRun(rules, start, read)
    run: RuleRun = later("workbench.logs.rule_matches", "MatchRun")(rules, start, read)
    return run


def write_made(writer: RowWriter, made: RowsMade) -> None:
    """Write composites."""
    if isinstance(made, list):
        for row in made:
            writer.row(row)
    else:
        writer.table(made)


class RuleRun:
    """A rule set that runs on the events of a log.

    Parameters
    ----------
    start: with the options of `workbench run`.
    read: gives the events, of what reads them; the first one is read at once.

    Attributes
    ----------
    ports: the columns of composites.
    engine: the name of what runs.
    """

    def __init__(self, rules: RuleSet, start: Start, read: Callable[[RuleLog], Iterator[EventPiece]]) -> None:
        from workbench.events.write import kept_rows

        row = rule_backends(rules, start.options)[0]
        if row.engine is None:
            raise InputError(f"the {row.name} backend reads a file and writes one", hint="name input and output")
        given = start.options.rules_control
        self._control = None if given is None else RuleControl(given, rules, start)
        self.rules, self._start = rules if self._control is None else self._control.everything, start
        self._first, self._key = rules, start.options.key
        if self._key is not None:
            self.rules = with_key(rules, self._key, start)
        self._seen: int | None = None
        self._clock = start.options.clock(start.options.late)
        reading = start.options.reading()
        self._log = RuleLog(self.rules, self._clock, reading, start.reporter, key=self._key or "")
        self._late = _Late(start, self.rules, self._clock)
        self._sources = Sources() if start.options.with_sources else None
        with start.closing:  # what has been opened is closed, with nothing left behind, should anything go wrong here
            start.closing.enter_context(kept_rows(reading, start.reporter, live=start.live))
            pieces = read(self._log)
            if self._clock.late is not None:
                pieces = LateEvents(self.rules, self._clock, self._late).ordered(pieces)
            self._pieces = begun(pieces)  # now it is known what times are
            if self._control is not None:
                self._control.see(self._clock)
            self._engine = self._started()
            if hasattr(self._facts, "close"):
                start.closing.callback(self._facts.close)
            more = (Port(NUMBER, INT), Port(SOURCES, ANY)) if self._sources else ()
            live = self._control is not None and self._control.live
            types = self.rules.events if live else self.rules.composites
            self.ports = event_columns(self.rules, self._clock, types, more)
            self._closing = self._late.closing = start.closing.pop_all()

    def _started(self) -> RuleEngine:
        start, unit, dates = self._start, self._clock.unit, bool(self._clock.dates)
        trex = start.options.compat == "trex"
        threads = start.options.threads or 1
        if threads > 1 and (self._control is not None or self._key is not None):
            raise InputError("--rules-control and --key are for rules in one thread", hint="leave --threads out")
        settings = EngineSettings(unit, dates, trex, start.options.profile, threads=threads)
        facts = self._facts = facts_of(self.rules, start)
        made = in_units(self._first, unit, dates=dates, trex=trex)
        if threads > 1 and (reason := rule_split(made).reason):
            start.say(f"the rules run in one thread: {reason}")
        self.engine = engine_name(start.options)

        @cache
        def make(name: str) -> RuleEngine:
            one = partial(rule_engine, made, name, facts, settings)
            # with keys nothing is changed or saved, which an engine could be asked for, too
            keyed = self._key is not None and KeyedRules(self._key, self._first, self.rules, one)
            return cast("RuleEngine", keyed) if keyed else one()

        if start.options.backend == AUTO:
            first = next(self._pieces, None)
            self._pieces = chain(filter(None, [first]), self._pieces)
            singly = self._control is not None or not isinstance(first, EventBlock)
            given: EventsGiven = "keyed" if self._key is not None else "singly" if singly else "columns"
            choice = chosen_engine(made, settings, expected_rows(start.options.input), given, make)
            self.engine = choice.engine
            choice.tell(start.say)
        return make(self.engine)

    def made(self) -> Iterator[RowsMade]:
        """The composites that events cause, and those of the clock in the end. What is worth knowing is told.

        Files of bad rows and of late events are there when this has come to its end.
        """
        with self._closing:
            for piece in self._pieces:
                yield from self._of_block(piece) if isinstance(piece, EventBlock) else self._singly(piece, wait=0)
                self._start.reporter.after()
            self._settle()
            until = self._start.options.until
            if until is not None:
                end = instant(self._clock, str(until))
                if self._control is not None:
                    yield from self._changed(self._control, end)
                yield self._rows(self._engine.advance(end), 0)
        self._tell()

    def _settle(self) -> None:
        """All events have been taken, or came too late, or are of types that no rule knows."""
        account = self._start.reporter.account
        account.late, account.ignored[UNDECLARED] = self._late.count, self._log.unknown.total()
        account.check()

    def _of_block(self, block: EventBlock) -> Iterator[RowsMade]:
        engine: Any = self._engine
        slow, first = self._control is not None or not hasattr(engine, "process_block"), 0
        while first < len(block) and (slow or not engine.fast(len(block) - first)):
            # more objects at once take Python longer to look after
            events = block.part(first, first + TOLD).occurrences(self._log.rules)
            with getattr(self._facts, "together", nullcontext)():
                yield from self._singly(events, WAIT)
            first += TOLD
            self._start.reporter.after(max(0, len(block) - first))
        if first < len(block):
            yield from self._as_columns(block.part(first, len(block)) if first else block)

    def _as_columns(self, block: EventBlock) -> Iterator[RowsMade]:
        """The composites that a block of events causes, of an engine that takes it at once."""
        at_once = getattr(self._engine, "process_block")  # noqa: B009
        blocks, wrong = list[Any](), None
        try:
            for each in at_once(block, sources=self._sources is not None):
                blocks += [each] if len(each) else []
        except WorkbenchError as error:  # what came before it is there
            wrong = error
        self._start.reporter.account.events_out += sum(map(len, blocks))
        self._start.reporter.account.computed += len(block)
        if self._sources is not None:
            self._sources.add([number for each in blocks for number in _numbers(each)], len(block))
        for found in blocks:
            if isinstance(found, list):
                yield self._shown(found)
                continue
            table = composite_table(found, self.ports.shown, self.rules, self._clock, self._sources)
            yield self._shown(found.occurrences(self.rules)) if table is None else table
        if wrong is not None:
            raise wrong

    def _singly(self, events: Iterable[Occurrence], wait: float) -> Iterator[RowsMade]:
        """The composites that events cause one by one, not much later than so many seconds after the first of them."""
        found, seen, begun = list[Occurrence](), 0, monotonic()
        try:
            for event in events:
                if self._control is not None and not (yield from self._changed(self._control, event.time, event)):
                    continue
                seen += 1
                if made := self._engine.process(event):
                    found += made
                if seen == TOLD or self._control is not None or (made and monotonic() - begun >= wait):
                    yield self._rows(found, seen)
                    found, seen, begun = [], 0, monotonic()
                    if not wait:
                        self._start.reporter.after()
        except WorkbenchError:  # what came before it is there
            yield self._rows(found, seen)
            raise
        yield self._rows(found, seen)

    def _changed(
        self, control: RuleControl, time: int, event: Occurrence | None = None
    ) -> Generator[list[RuleRow], None, bool]:
        """Change the rules up to a time, after what the clock causes before; whether they know the type of an event."""
        for change in control.until(time):
            if self._seen is not None and change.time > self._seen:
                yield self._rows(self._engine.advance(change.time - 1), 0)
            control.make(change, self._engine, self.ports.shown)
            self.rules = self._engine.rules
        if event is None:
            return False
        self._seen = time
        if event.type not in self._engine.rules.declarations:
            self._log.unknown[event.type] += 1
            return False
        return True

    def _rows(self, found: Sequence[Occurrence], events: int) -> list[RuleRow]:
        """The rows of composites that so many events have caused."""
        self._start.reporter.account.events_out += len(found)
        self._start.reporter.account.computed += events
        if self._sources is not None:
            self._sources.add([each.number for each in found], events)
        if hasattr(self._facts, "release"):  # it may take long until they are written
            self._facts.release()
        return self._shown(found)

    def _shown(self, found: Iterable[Occurrence]) -> list[RuleRow]:
        return [event_row(each, self.rules, self._clock, self._sources) for each in found]

    def _tell(self) -> None:
        say = self._start.say
        self._log.tell(say)
        self._late.tell()
        if hasattr(self._facts, "told"):
            for line in self._facts.told(costs=self._start.options.profile):
                say(line)
        if self._control is not None:
            self._control.tell()
        for cost in (*(self._control.costs if self._control is not None else ()), *self._engine.profile()):
            say(
                f"{cost.rule}: {cost.events:,} events, {cost.partial:,} partial matches, {cost.matches:,} matches,"
                f" {cost.composites:,} composites, {cost.seconds:.2f} s"
            )


def _numbers(composites: EventBlock | list[Occurrence]) -> list[int]:
    if isinstance(composites, list):
        return [each.number for each in composites]
    assert composites.numbers is not None
    found: list[int] = composites.numbers.tolist()
    return found


class _Late:
    """What becomes of events that come too late: they are written to a file, or are an error."""

    def __init__(self, start: Start, rules: RuleSet, clock: Clock) -> None:
        self.start, self.rules, self.clock, self.closing, self.count = start, rules, clock, start.closing, 0
        self.writer: RowWriter | None = None

    def __call__(self, event: Occurrence) -> None:
        path, shown = self.start.options.late_output, self.clock.show(event.time)
        if path is None:
            what = f"an event of type {event.type}, of {shown}, came later than --late {self.clock.late}"
            raise InputError(what, hint="wait longer, or keep such rows: --late-output FILE")
        if self.writer is None:
            from workbench.events.write import write_events

            ports = event_columns(self.rules, self.clock, self.rules.events)
            self.writer = self.closing.enter_context(write_events(path, ports, live=self.start.live))
        self.count += 1
        self.writer.row(event_row(event, self.rules, self.clock))
        self.writer.flush()

    def tell(self) -> None:
        """How many there were."""
        if self.count:
            self.start.say(f"{self.count:,} events came too late: they are in {self.start.options.late_output}")
