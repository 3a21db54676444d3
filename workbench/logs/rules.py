"""Run a rule set on a log: events in, composites out.

The rule of this module: a composite is a row like those that are read (`rule_log`), written when what causes it has
been read.
"""

from __future__ import annotations

import argparse
import itertools
from array import array
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, FLOAT, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.clock import Clock
from workbench.events.files import is_stream
from workbench.events.reading import Reading
from workbench.executors.table import AUTO, Start, backend_rows, given
from workbench.logs.rule_control import RuleControl
from workbench.logs.rule_log import TYPE, RuleLog, facts_of
from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.engines.table import rule_engine
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet, shared_domains

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter

RuleRow = dict[str, Value]
"""An event: its type, its time, and those of its attributes that are not null."""
TOLD = 1 << 12
"""Events after which it is said how far it is."""
SOURCES, NUMBER = "sources", "id"
"""What columns are called with --with-sources: the events of a match, and a composite's id."""


def run_rules(rules: RuleSet, start: Start) -> None:
    """Read and write a log: a row for each composite, in the order in which they are published.

    Raises
    ------
    InputError: a row cannot be read, times go back, or a window has a unit that the times have not.
    """
    from workbench.events.write import output_format, write_events

    options = start.options
    inputs = options.input if isinstance(options.input, list) else [options.input]
    written = output_format(options.output, options.format, str(inputs[0]).rpartition("=")[2])
    live = is_stream(options.output)
    run = RuleRun(rules, start, lambda log: log.events(inputs))
    with write_events(options.output, run.ports, format=written) as writer:
        for rows in run.rows():
            for row in rows:
                writer.row(row)
            if live and rows:
                writer.flush()


def _see_options(options: argparse.Namespace) -> None:
    """InputError where an option is given that is for pipelines, or means nothing."""
    flags = {option.flag.removeprefix("--") for row in backend_rows().values() for option in row.options}
    others = given(options, "steps", "N", "integers", *sorted(flags))
    usual = next(iter(backend_rows()))
    if options.backend not in (usual, AUTO):
        others = f"--backend {options.backend}"
    if others:
        raise InputError(f"not for rules: {others}", hint="leave it out; --engine names what runs rules")
    if getattr(options, "compat", None) not in (None, "trex"):
        raise InputError(f"there is no '{options.compat}' to be compatible with", hint="did you mean 'trex'?")


class RuleRun:
    """A rule set that runs on the events of a log.

    Parameters
    ----------
    start: with the options of `workbench run`.
    read: gives the events, of what reads them; the first one is read at once.

    Attributes
    ----------
    ports: the columns of composites.
    """

    def __init__(self, rules: RuleSet, start: Start, read: Callable[[RuleLog], Iterator[Occurrence]]) -> None:
        from workbench.events.write import kept_rows

        _see_options(start.options)
        given = start.option("rules_control")
        self._control = None if given is None else RuleControl(given, rules, start)
        self.rules, self._start = rules if self._control is None else self._control.everything, start
        self._first = rules
        self._seen: int | None = None
        self._clock = Clock(start.option("time", "time"), start.option("time_unit"), start.option("late"))
        reading = Reading.of(start.options)
        self._log = RuleLog(self.rules, self._clock, reading, start.tally)
        self._late = _Late(start, self.rules, self._clock)
        self._sources = _Sources() if start.option("with_sources", False) else None
        with start.closing:  # what has been opened is closed, with nothing left behind, should anything go wrong here
            start.closing.enter_context(kept_rows(reading, start.tally))
            events = self._clock.ordered(read(self._log), lambda event: event.time, self._late)
            self._events = itertools.chain(list(itertools.islice(events, 1)), events)  # now it is known what times are
            if self._control is not None:
                self._control.see(self._clock)
            self._engine = self._started()
            more = (Port(NUMBER, INT), Port(SOURCES, ANY)) if self._sources else ()
            live = self._control is not None and self._control.live
            types = self.rules.events if live else self.rules.composites
            self.ports = _columns(self.rules, self._clock, types, more)
            self._closing = self._late.closing = start.closing.pop_all()

    def _started(self) -> RuleEngine:
        start, unit, dates = self._start, self._clock.unit, bool(self._clock.dates)
        trex = start.option("compat") == "trex"
        settings = EngineSettings(unit, dates, trex, start.option("profile", False))
        facts = facts_of(self.rules, start.option("facts", []))
        made = in_units(self._first, unit, dates=dates, trex=trex)
        return rule_engine(made, start.option("engine", "cdp"), facts, settings)

    def rows(self) -> Iterator[list[RuleRow]]:
        """The composites that each event causes, as rows; those of the clock in the end. What is worth knowing is told.

        Files of bad rows and of late events are there when this has come to its end.
        """
        with self._closing:
            for number, event in enumerate(self._events):
                if self._control is None or (yield from self._changed(self._control, event.time, event)):
                    yield self._made(self._engine.process(event), event)
                if not number % TOLD:
                    self._start.tally.tell()
            until = self._start.option("until")
            if until is not None:
                instant = _instant(self._clock, str(until))
                if self._control is not None:
                    yield from self._changed(self._control, instant)
                yield self._made(self._engine.advance(instant), None)
        self._tell()

    def _changed(
        self, control: RuleControl, time: int, event: Occurrence | None = None
    ) -> Generator[list[RuleRow], None, bool]:
        """Change the rules up to a time, after what the clock causes before; whether they know the type of an event."""
        for change in control.until(time):
            if self._seen is not None and change.time > self._seen:
                yield self._made(self._engine.advance(change.time - 1), None)
            control.make(change, self._engine, self.ports.shown)
            self.rules = self._engine.rules
        if event is None:
            return False
        self._seen = time
        if event.type not in self._engine.rules.declarations:
            self._log.unknown[event.type] += 1
            return False
        return True

    def _made(self, found: Sequence[Occurrence], event: Occurrence | None) -> list[RuleRow]:
        self._start.tally.made += len(found)
        if self._sources is None:
            return [_row(each, self.rules, self._clock) for each in found]
        self._sources.add(found, event)
        return [_row(each, self.rules, self._clock) | self._sources.row(each) for each in found]

    def _tell(self) -> None:
        say = self._start.say
        self._log.tell(say)
        self._late.tell()
        if self._control is not None:
            self._control.tell()
        for cost in (*(self._control.costs if self._control is not None else ()), *self._engine.profile()):
            say(
                f"{cost.rule}: {cost.events:,} events, {cost.partial:,} partial matches, {cost.matches:,} matches,"
                f" {cost.composites:,} composites, {cost.seconds:.2f} s"
            )


def _instant(clock: Clock, text: str) -> int:
    from workbench.events.clock import UntimedError

    try:
        return clock.read(text)
    except UntimedError as error:
        raise InputError(f"--until {text}: expected {error}") from error


class _Late:
    """What becomes of events that come too late: they are written to a file, or are an error."""

    def __init__(self, start: Start, rules: RuleSet, clock: Clock) -> None:
        self.start, self.rules, self.clock, self.closing, self.count = start, rules, clock, start.closing, 0
        self.writer: RowWriter | None = None

    def __call__(self, event: Occurrence) -> None:
        path, shown = self.start.option("late_output"), self.clock.show(event.time)
        if path is None:
            what = f"an event of type {event.type}, of {shown}, came later than --late {self.clock.late}"
            raise InputError(what, hint="wait longer, or keep such rows: --late-output FILE")
        if self.writer is None:
            from workbench.events.write import write_events

            ports = _columns(self.rules, self.clock, self.rules.events)
            self.writer = self.closing.enter_context(write_events(path, ports))
        self.count += 1
        self.writer.row(_row(event, self.rules, self.clock))

    def tell(self) -> None:
        """How many there were."""
        if self.count:
            self.start.say(f"{self.count:,} events came too late: they are in {self.start.option('late_output')}")


# --- composites out -------------------------------------------------------------------------------------


def _columns(rules: RuleSet, clock: Clock, types: Iterable[str], more: Sequence[Port] = ()) -> Ports:
    """The columns of events of these types, as outputs of a program."""
    time: Domain = STR if clock.dates else INT if clock.unit in (None, "us") else FLOAT
    domains = shared_domains(rules.declarations[name] for name in types)
    if taken := next((port.name for port in more if port.name in domains), None):
        raise InputError(f"an attribute is called '{taken}', as a column of --with-sources is", hint="leave that out")
    ports = (Port(TYPE, STR), Port(clock.column, time), *more, *(Port(n, d) for n, d in domains.items()))
    return Ports(rules.name, (), ports, kind=rules.kind)


def _row(event: Occurrence, rules: RuleSet, clock: Clock) -> dict[str, Any]:
    """An event as a row; what is null is left out."""
    names = rules.declarations[event.type].positions
    values = {name: value for name, value in zip(names, event.values, strict=True) if value is not None}
    return {TYPE: event.type, clock.column: clock.show(event.time), **values}


class _Sources:
    """What events are called in the output: rows of the log by their number, from 1 on; composites `#3` by their id."""

    def __init__(self) -> None:
        self._labels, self._rows, self._made = array("q"), 0, 0

    def add(self, found: Sequence[Occurrence], event: Occurrence | None) -> None:
        """An event has been processed, and has caused these."""
        numbers = {each.number for each in found}
        for number in range(len(self._labels), len(self._labels) + len(found) + (event is not None)):
            if number in numbers:
                self._made += 1
                self._labels.append(-self._made)
            else:
                self._rows += 1
                self._labels.append(self._rows)

    def row(self, composite: Occurrence) -> dict[str, Any]:
        """What a composite is called, and the events of its match."""
        return {NUMBER: -self._labels[composite.number], SOURCES: tuple(map(self.name, composite.sources))}

    def name(self, number: int) -> str:
        """That of any event."""
        label = self._labels[number]
        return str(label) if label > 0 else f"#{-label}"
