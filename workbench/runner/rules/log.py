"""Read the events of a log for rules: types, times and attributes of rows, of one or several files.

The rule of this module: a row is an event, of the type that its column `type` names, or of the type that the user has
named for its file; several files are one log, in the order of time. Rows of undeclared types are ignored, and
reported.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.errors import InputError, did_you_mean
from workbench.events.account import UNDECLARED, Account, Reporter
from workbench.events.clock import Clock, is_timed, time_port
from workbench.events.read import share_columns
from workbench.events.reading_options import Reading
from workbench.events.rows import LogBlock
from workbench.events.values import KeyTexts, UnreadableError, from_json, short
from workbench.runner.order import HoldBack, first_rows, merge_streams
from workbench.runner.rules.columns import TYPE, EventColumns
from workbench.runner.rules.order import EventPiece, event_form
from workbench.runner.source import LogSource, source_of
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet, find_shared_domains

if TYPE_CHECKING:
    from workbench.events.batch import EventArray
    from workbench.runner.state import RunState
    from workbench.tesla.tree import Declaration


@dataclass
class RuleLog:
    """Reads the events of a log.

    Parameters
    ----------
    key: the attribute that is a key; the log may have numbers where it is a text; empty: none.
    late: takes the late events, where the clock allows lateness.
    state: the saved state of the run, which has the waiting events where the log is not a file.
    """

    rules: RuleSet
    clock: Clock
    reading: Reading
    reporter: Reporter
    unknown: Counter[str] = field(default_factory=Counter)
    seen: set[tuple[str, str]] = field(default_factory=set)
    types: set[str] = field(default_factory=set)
    warned: bool = field(default=False, init=False)
    key: str = ""
    late: Callable[[Occurrence, int, str], object] = lambda *_: None
    state: RunState | None = None

    def __post_init__(self) -> None:
        self.reporter.account.rows_are_events = True
        if self.state is not None:
            self.state.undeclared = self.unknown

    def pieces(self, logs: Sequence[LogSource]) -> Iterator[EventPiece]:
        """Return the events of several logs in the order of time; at equal times, in the order of the logs.

        The first N rows of several logs are the first N of the events.
        """
        if len(logs) == 1:
            return self._log(logs[0])
        self.reporter.account.is_exact &= self.reading.head is None
        self.reporter.last_days = None
        head, self.reading = self.reading.head, replace(self.reading, head=None)  # times decide which rows are first
        streams = [self._log(each) for each in logs]
        pieces = merge_streams(streams, event_form(self.rules))
        return pieces if head is None else first_rows(pieces, head)

    def named(self, argument: Any) -> tuple[Declaration | None, Any]:
        """Return the type of the events in a file, if it is given (`Temp=temp.csv`), and the file."""
        name, equals, path = str(argument).partition("=")
        if not equals or not name.isidentifier():
            return None, argument
        declared = self.rules.declarations.get(name)
        if declared is None or declared.fact:
            what = f"--input {argument}: there are no events of type '{name}'"
            raise InputError(what, hint=did_you_mean(name, self.rules.events))
        return declared, path

    def named_types(self, logs: Sequence[LogSource]) -> set[str]:
        """Return the types that are given for the logs; none if one log has a column of types."""
        types = {declared.name if declared else None for declared, _ in (self.named(each.name) for each in logs)}
        return set() if None in types else {name for name in types if name}

    def _log(self, log: LogSource) -> Iterator[EventPiece]:
        declared, path = self.named(log.name)
        log = log if declared is None else source_of(path)
        ports = log_ports(self.rules, self.clock, declared, self.key)
        if declared is not None:
            ports = share_columns(path, ports, self.reading, self.key)
        return self.of_blocks(log.blocks(ports, self.reading, self.reporter), ports, declared, log.name)

    def of_blocks(
        self, blocks: Iterator[LogBlock], ports: Ports, declared: Declaration | None = None, log_name: str = ""
    ) -> Iterator[EventPiece]:
        """Return the events in rows that have been read for `log_ports`; `log_name` is the log that they come from."""
        pieces = self._of_blocks(blocks, ports, declared)
        if self.clock.late is None:
            return pieces
        ends = (lambda: True) if self.state is None else self.state.end_log
        hold_back = HoldBack(
            event_form(self.rules), self.clock, lambda event, number: self.late(event, number, log_name), ends
        )
        if self.state is not None:
            self.state.hold_back(hold_back)
        return hold_back.order_pieces(pieces)

    def _of_blocks(
        self, blocks: Iterator[LogBlock], ports: Ports, declared: Declaration | None
    ) -> Iterator[EventPiece]:
        types = [declared] if declared else [self.rules.declarations[name] for name in self.rules.events]
        readers = {each.name: row_reader(each, ports.domains) for each in types}
        event_columns = EventColumns(self.rules, ports, self.clock.column, declared)
        for block in blocks:
            columns = block.columns()
            piece = None if columns is None else self._of_columns(columns, event_columns)
            if piece is None:
                yield self._of_rows(block, readers, declared)
            else:
                self._warn(block)
                yield piece

    def _of_rows(
        self, block: LogBlock, readers: Mapping[str, Any], declared: Declaration | None
    ) -> Iterator[Occurrence]:
        time = self.clock.column
        for row in block.steps():
            name = declared.name if declared else str(row.get(TYPE, "")).strip()
            if name not in readers:
                self.pass_over(name)
                continue
            self._see(name, row)  # columns that the type does not have do no harm
            yield Occurrence(name, row[time], readers[name](row))
        self._warn(block)

    def _warn(self, block: LogBlock) -> None:
        """Report attributes that the first rows lack, before these are run, unless they come one by one."""
        if not self.warned and (block.rows or 0) > 1:
            known = {attribute for _, attribute in self.seen}
            for name, attribute in sorted(self._lacking()):
                if attribute not in known:
                    self.reporter.report(f"no event of type {name} has a '{attribute}' so far: it is null")
        self.warned = True

    def _lacking(self) -> set[tuple[str, str]]:
        """Return pairs of a type that has come and an attribute that none of its events has had."""
        return {(name, each) for name in self.types for each in self.rules.declarations[name].positions} - self.seen

    def _of_columns(self, columns: Mapping[str, EventArray], event_columns: EventColumns) -> EventBlock | None:
        """Build events from columns; None where rows must be read one by one."""
        pair = event_columns.block(columns)
        if pair is None:
            return None
        block, unknown = pair
        for name, count in unknown.items():
            self.pass_over(name, count)
        self.reporter.account.take(columns)
        for type in set(block.types.tolist()):
            name = block.names[type]
            there = (each.nulls is None or not each.nulls.all() for each in block.columns[type])
            self._see(name, itertools.compress(self.rules.declarations[name].positions, there))
        return block

    def _see(self, name: str, there: Iterable[str]) -> None:
        self.types.add(name)
        self.seen.update((name, attribute) for attribute in there)

    def pass_over(self, name: str, rows: int = 1) -> None:
        """Count ignored rows of an undeclared type."""
        if self.state is not None:
            rows = self.state.position.new_undeclared(name, rows, self.reporter.account)
        if rows:
            self.unknown[name] += rows
            self.reporter.account.ignored[UNDECLARED] += rows

    def notes(self) -> Iterator[str]:
        """Yield remarks about the log, when it has been read."""
        if self.unknown and not self._is_undeclared(self.reporter.account):
            yield f"ignored rows of types that are not declared: {self._describe_unknown()}"

    def remark(self, account: Account) -> str:
        """Describe a log of which all rows are ignored, or whose events all lack an attribute; empty for any other."""
        if self._is_undeclared(account):
            return f"no row is of a type that is declared: {self._describe_unknown()} (the 'type' of a row names it)"
        lacking = (f"no event of type {name} has a '{attribute}'" for name, attribute in sorted(self._lacking()))
        return " and ".join(lacking) + ": it is null in all of them" if self._lacking() else ""

    def _is_undeclared(self, account: Account) -> bool:
        """Whether all rows are ignored, since they are of types that are not declared."""
        return bool(account.ignored[UNDECLARED]) and not (self.types or account.bad or account.late)

    def _describe_unknown(self) -> str:
        return ", ".join(f"{name or 'no type'} ({count:,})" for name, count in self.unknown.most_common(5))


def infer_types(
    inputs: Sequence[Any], time: str, reading: Reading, rows: int, say: Callable[[str], object]
) -> dict[str, Declaration]:
    """Infer the declarations of event types from the first rows of a log.

    A type has the attributes with a value in some of its rows, and as texts those without a value in any row.

    Parameters
    ----------
    rows: the number of rows of each file to read.
    say: reports the inferred declarations.

    Raises
    ------
    InputError: the log cannot be read twice, or a file has no column of types and the user names none.
    """
    from workbench.events.inspection import samples

    columns_by_type: dict[str, dict[str, set[str]]] = {}
    empty: set[str] = set()
    read, named = 0, {column: name for name, column in reading.columns.items()}
    for argument in inputs:
        name, _, path = str(argument).rpartition("=")
        if path == "-":
            raise InputError("the types of the standard input are not known before the run", hint="declare them")
        for log_name, given_cells, kind_of in samples(path, Ports("log", ()), replace(reading, columns={}), rows):
            cells = {named.get(column, column): each for column, each in given_cells.items()}
            if not name and TYPE not in cells:
                hint = f"name the type of its events, --input TYPE={log_name}, or the column: --column type=COLUMN"
                raise InputError(f"there is no column '{TYPE}'", where=log_name, hint=hint)
            count = max(map(len, cells.values()), default=0)
            read += count
            types = [str(cell).strip() for cell in cells[TYPE]] if not name else [name] * count
            for each in types if count else [name]:
                columns_by_type.setdefault(each, {})
            for column in cells.keys() - {TYPE, time}:
                values: dict[str, list[Any]] = {}
                for kind, cell in zip(types, cells[column], strict=True):
                    if cell is not None:
                        values.setdefault(kind, []).append(cell)
                for kind, some in values.items():
                    columns_by_type[kind].setdefault(column, set()).add(kind_of(column, some))
                if not values:
                    empty.add(column)
    empty.difference_update(*columns_by_type.values())
    declared = {name: _declare(name, columns, empty, say) for name, columns in columns_by_type.items() if name}
    say(f"types from the first {read:,} rows (--infer-rows reads more): {', '.join(map(str, declared.values()))}")
    return declared


_INFERRED = {"whole numbers": INT, "numbers": FLOAT, "truth values": BOOL}


def _declare(name: str, columns: Mapping[str, set[str]], empty: set[str], say: Callable[[str], object]) -> Declaration:
    from workbench.tesla.tree import Attribute, Declaration

    known: dict[str, Domain] = dict.fromkeys(empty, STR)
    for column, kinds in columns.items():
        kind = "numbers" if kinds == {"numbers", "whole numbers"} else " and ".join(sorted(kinds))
        if re.search("objects|arrays|no float", kind):
            say(f"'{column}' of {name} is left out: attributes cannot have its type, {kind}")
        else:
            known[column] = _INFERRED.get(kind, STR)
    attributes = tuple(Attribute(column, each, inferred=True) for column, each in sorted(known.items()))
    return Declaration(name, attributes, inferred=True)


def log_ports(rules: RuleSet, clock: Clock, declared: Declaration | None = None, key: str = "") -> Ports:
    """Return the columns of a log as inputs of a program: types, times and all attributes.

    Parameters
    ----------
    declared: the type of all events of the log; None: a column names it.
    key: as in `RuleLog`.
    """
    types = [declared] if declared else [rules.declarations[name] for name in rules.events]
    domains = find_shared_domains(types)
    lenient = {part.name for each in types for part in each.attributes if part.inferred} | {key}
    domains |= {name: KeyTexts() for name in lenient if domains.get(name) == STR}
    if clock.column in domains:
        raise InputError(f"'{clock.column}' is an attribute, not a column of times", hint="--time names another one")
    several = len(types) > 1 or declared is None
    attributes = tuple(Port(name, domain, optional=several and name != key) for name, domain in domains.items())
    one = next(iter(rules.events), "TYPE")
    file, frame = f"name the one type of a file: --input {one}=FILE", f'add one: frame.assign(type="{one}")'
    first = () if declared else (Port(TYPE, KeyTexts(), remedy=file, data_remedy=frame),)
    is_event = is_timed if declared else partial(_is_declared, frozenset(rules.events))
    time = time_port(clock.column, clock.of_rows(), is_event)
    return Ports(rules.name, (*first, time, *attributes), kind=rules.kind)


def _is_declared(types: Collection[str], row: Mapping[str, Any]) -> bool:
    """Whether a row is of one of these types."""
    return str(row.get(TYPE, "")).strip() in types


def row_reader(
    declared: Declaration, domains: Mapping[str, Domain]
) -> Callable[[Mapping[str, Value]], tuple[Any, ...]]:
    """Return a function from a row to an event's values; it reads columns that several types share for this type."""
    names = list(declared.domains.items())
    if all(domains[name] == domain for name, domain in names):
        order = [name for name, _ in names]
        return lambda row: tuple(map(row.get, order))

    def read(row: Mapping[str, Value]) -> tuple[Any, ...]:
        return tuple(_type_value(declared, name, row.get(name), domain) for name, domain in names)

    return read


def _type_value(declared: Declaration, name: str, value: Any, domain: Domain) -> Value | None:
    try:
        return None if value is None else from_json(value, domain)
    except UnreadableError as error:
        raise error.refusal(f"'{name}' of {declared.name}", short(repr(value))) from error
