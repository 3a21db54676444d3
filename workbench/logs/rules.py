"""Run a rule set on a log: events in, composites out.

The rule of this module: a row is an event, of the type that its column `type` names, or of the type that the user has
named for its file; several files are one log, in the order of time. Rows of types that are not declared are passed
over, and the user is told. Source: design section 11, Files.
"""

from __future__ import annotations

import heapq
import itertools
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError, did_you_mean
from workbench.events.clock import Clock
from workbench.events.files import is_stream
from workbench.events.read import read_events
from workbench.events.reading import Reading, Tally
from workbench.events.values import UnreadableError, Words, from_json, short
from workbench.executors.table import Start
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.table import rule_engine
from workbench.tesla.occurrence import Facts, Occurrence, in_units
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.rows import RowWriter
    from workbench.tesla.tree import Declaration

TYPE, SOURCES, NUMBER = "type", "sources", "id"
"""What columns are called: the type of an event; with --with-sources the events of a match, and a composite's id."""


def run_rules(rules: RuleSet, start: Start) -> None:
    """Run and write: a row for each composite, in the order in which they are published.

    Raises
    ------
    InputError: a row cannot be read, times go back, or a window has a unit that the times have not.
    """
    from workbench.events.write import kept_rows, output_format, write_events

    options = start.options
    clock = Clock(start.option("time", "time"), start.option("time_unit"), start.option("late"))
    reading = Reading.of(options)
    start.closing.enter_context(kept_rows(reading, start.tally))
    log = _Log(rules, clock, reading, start.tally)
    inputs = options.input if isinstance(options.input, list) else [options.input]
    late = _Late(start, rules, clock)
    events = clock.ordered(log.events(inputs), lambda event: event.time, late)
    first = next(events, None)
    settings = EngineSettings(trex=start.option("compat") == "trex", profiled=start.option("profile", False))
    timed = in_units(rules, clock.unit, dates=bool(clock.dates))
    engine = rule_engine(timed, start.option("engine", "cdp"), _facts(rules, start.option("facts", [])), settings)
    sources = _Sources() if start.option("with_sources", False) else None
    path = str(inputs[0]).rpartition("=")[2]
    written = output_format(options.output, options.format, path)
    live = is_stream(options.output)
    until = start.option("until")
    more = () if sources is None else (Port(NUMBER, INT), Port(SOURCES, ANY))
    with write_events(options.output, _columns(rules, clock, rules.composites, more), format=written) as writer:

        def write(found: Sequence[Occurrence], event: Occurrence | None) -> None:
            if sources is not None:
                sources.add(found, event)
            for each in found:
                writer.row(_row(each, rules, clock) | (sources.row(each) if sources else {}))
            if found and live:
                writer.flush()

        for event in () if first is None else itertools.chain([first], events):
            write(engine.process(event), event)
        if until is not None:
            write(engine.advance(_instant(clock, until)), None)
    log.tell(start.say)
    late.tell()
    for cost in engine.profile():
        start.say(
            f"{cost.rule}: {cost.events:,} events, {cost.partial:,} partial matches, {cost.matches:,} matches,"
            f" {cost.composites:,} composites, {cost.seconds:.2f} s"
        )


def _instant(clock: Clock, text: str) -> int:
    from workbench.events.clock import UntimedError

    try:
        return clock.read(text)
    except UntimedError as error:
        raise InputError(f"--until {text}: expected {error}") from error


# --- events in ------------------------------------------------------------------------------------------


@dataclass
class _Log:
    """Reads the events of a log."""

    rules: RuleSet
    clock: Clock
    reading: Reading
    tally: Tally
    unknown: Counter[str] = field(default_factory=Counter)
    seen: set[tuple[str, str]] = field(default_factory=set)
    types: set[str] = field(default_factory=set)

    def events(self, inputs: Sequence[Any]) -> Iterator[Occurrence]:
        """Those of several files, in the order of time; those of one time in the order of the files."""
        streams = [self._file(*self._named(each)) for each in inputs]
        return streams[0] if len(streams) == 1 else heapq.merge(*streams, key=lambda event: event.time)

    def _named(self, given: Any) -> tuple[Declaration | None, Any]:
        """The type of the events in a file, where it is said (`Temp=temp.csv`), and the file."""
        name, equals, path = str(given).partition("=")
        if not equals or not name.isidentifier():
            return None, given
        declared = self.rules.declarations.get(name)
        if declared is None or declared.fact:
            what = f"--input {given}: there are no events of type '{name}'"
            raise InputError(what, hint=did_you_mean(name, self.rules.events))
        return declared, path

    def _file(self, declared: Declaration | None, path: Any) -> Iterator[Occurrence]:
        time = self.clock.column
        types = [declared] if declared else [self.rules.declarations[name] for name in self.rules.events]
        ports = log_ports(self.rules, self.clock, declared)
        readers = {each.name: _reader(each, ports.domains) for each in types}
        for row in read_events(path, ports, self.reading, tally=self.tally):
            if not self.tally.rows % TOLD:
                self.tally.tell()
            name = declared.name if declared else str(row.get(TYPE, "")).strip()
            if name not in readers:
                self.unknown[name] += 1
                continue
            if time not in row:
                raise InputError(
                    f"a row of type {name} has no '{time}'", where=str(path), hint="--time names the column"
                )
            self._see(name, row)
            yield Occurrence(name, row[time], readers[name](row))

    def _see(self, name: str, row: Mapping[str, Value]) -> None:
        self.types.add(name)
        for attribute in self.rules.declarations[name].positions:
            if attribute in row:
                self.seen.add((name, attribute))

    def tell(self, say: Callable[[str], object]) -> None:
        """What is worth knowing about the log, when it has been read."""
        if self.unknown:
            shown = ", ".join(f"{name or 'none'} ({count:,})" for name, count in self.unknown.most_common(5))
            say(f"rows of types that are not declared are passed over: {shown}")
        for name in sorted(self.types):
            for attribute in self.rules.declarations[name].positions:
                if (name, attribute) not in self.seen:
                    say(f"no event of type {name} has a '{attribute}': it is null in all of them")


def types_of(inputs: Sequence[Any], time: str, reading: Reading) -> dict[str, Declaration]:
    """The types of events in the first rows of a log, each with the attributes that have a value in some of them.

    Raises
    ------
    InputError: the log cannot be read twice, or a file has no column of types and the user names none.
    """
    from workbench.events.look import samples

    found: dict[str, dict[str, list[Any]]] = {}
    for given in inputs:
        name, _, path = str(given).rpartition("=")
        if path == "-":
            raise InputError("the types of the standard input are not known beforehand", hint="declare them")
        for shown, cells in samples(path, Ports("log", ()), reading):
            if not name and TYPE not in cells:
                hint = f"name the type of its events: --input Smoke={shown}"
                raise InputError(f"there is no column '{TYPE}'", where=shown, hint=hint)
            rows = max(map(len, cells.values()), default=0)
            types = [str(cell).strip() for cell in cells[TYPE]] if not name else [name] * rows
            for column in cells.keys() - {TYPE, time}:
                for kind, cell in zip(types, cells[column], strict=True):
                    held = found.setdefault(kind, {})
                    if cell is not None and cell != "":
                        held.setdefault(column, []).append(cell)
    return {name: _declared(name, columns) for name, columns in found.items()}


TOLD = 1 << 12
"""Rows after which it is said how far it is."""
_GUESSED = {"whole numbers": INT, "numbers": FLOAT, "truth values": BOOL}


def _declared(name: str, columns: Mapping[str, list[Any]]) -> Declaration:
    from workbench.events.look import guessed
    from workbench.tesla.tree import Attribute, Declaration

    attributes = (Attribute(column, _GUESSED.get(guessed(cells), STR)) for column, cells in sorted(columns.items()))
    return Declaration(name, tuple(attributes))


def log_ports(rules: RuleSet, clock: Clock, declared: Declaration | None = None) -> Ports:
    """The columns of a log, as inputs of a program: types, times and all attributes.

    Parameters
    ----------
    declared: the type of all events in it; None: a column tells.
    """
    types = [declared] if declared else [rules.declarations[name] for name in rules.events]
    domains: dict[str, Domain] = {}
    for each in types:
        for name, domain in each.domains.items():
            domains[name] = domain if domains.get(name, domain) == domain else ANY
    several = len(types) > 1 or declared is None
    attributes = tuple(Port(name, domain, optional=several) for name, domain in domains.items())
    first = () if declared else (Port(TYPE, Words()),)
    return Ports(rules.name, (*first, Port(clock.column, clock.of_rows()), *attributes), kind=rules.kind)


def _reader(declared: Declaration, domains: Mapping[str, Domain]) -> Callable[[Mapping[str, Value]], tuple[Any, ...]]:
    """What makes the values of an event of a row; columns that several types share are read for this one."""
    names = list(declared.domains.items())
    if all(domains[name] == domain for name, domain in names):
        order = [name for name, _ in names]
        return lambda row: tuple(map(row.get, order))

    def read(row: Mapping[str, Value]) -> tuple[Any, ...]:
        return tuple(_typed(declared, name, row.get(name), domain) for name, domain in names)

    return read


def _typed(declared: Declaration, name: str, value: Any, domain: Domain) -> Value | None:
    try:
        return None if value is None else from_json(value, domain)
    except UnreadableError as error:
        raise error.refusal(f"'{name}' of {declared.name}", short(repr(value))) from error


def _facts(rules: RuleSet, given: Sequence[str]) -> Facts:
    """The rows of the facts, each type from its file: `Line=lines.csv`."""
    found: dict[str, list[tuple[Any, ...]]] = {name: [] for name, d in rules.declarations.items() if d.fact}
    for each in given:
        name, equals, path = each.partition("=")
        if not equals or name not in found:
            hint = did_you_mean(name, found) or "the rules declare no facts"
            raise InputError(f"--facts {each}: expected TYPE=FILE, with a type of facts", hint=hint)
        declared = rules.declarations[name]
        ports = Ports(name, tuple(Port(n, d) for n, d in declared.domains.items()), kind="table")
        found[name] += [tuple(map(row.get, declared.domains)) for row in read_events(path, ports)]
    without = [name for name in found if not any(each.startswith(f"{name}=") for each in given)]
    if without:
        raise InputError(
            f"there are no facts of type '{without[0]}'", hint=f"say where they are: --facts {without[0]}=F"
        )
    return found


class _Late:
    """What becomes of events that come too late: they are written to a file, or are an error."""

    def __init__(self, start: Start, rules: RuleSet, clock: Clock) -> None:
        self.start, self.rules, self.clock, self.count = start, rules, clock, 0
        self.writer: RowWriter | None = None

    def __call__(self, event: Occurrence) -> None:
        path, shown = self.start.option("late_output"), self.clock.show(event.time)
        if path is None:
            what = f"an event of type {event.type}, of {shown}, came later than --late {self.clock.late}"
            raise InputError(what, hint="wait longer, or keep such rows: --late-output FILE")
        if self.writer is None:
            from workbench.events.write import write_events

            ports = _columns(self.rules, self.clock, self.rules.events)
            self.writer = self.start.closing.enter_context(write_events(path, ports))
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
    domains: dict[str, Domain] = {}
    for name in types:
        for attribute, domain in rules.declarations[name].domains.items():
            domains[attribute] = domain if domains.get(attribute, domain) == domain else ANY
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
