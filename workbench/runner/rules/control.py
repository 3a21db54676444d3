"""Change rules while a log is read, at the times that a control file states.

The rule of this module: a change at a time comes before the events of that time, and after the effects of the clock
before it. A file is read as a whole, and rehearsed on an engine without events, before anything runs. A change from a
pipe is taken when it arrives; a mistake in it is reported, and changes nothing.
"""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any

from workbench.core.domain import ANY, STR, Domain
from workbench.core.program import Port, Ports
from workbench.errors import InputError, WorkbenchError, did_you_mean
from workbench.events.account import Reporter
from workbench.events.clock import Clock
from workbench.events.files import display_name, is_stream, readable
from workbench.events.read import open_log
from workbench.events.reading_options import Reading
from workbench.executors.table import RULE_SET, Start
from workbench.named_files import allow, find_named
from workbench.runner.choice import default_row
from workbench.tesla.check import check_rule_set
from workbench.tesla.engines.engine import EngineSettings, RuleCost, RuleEngine, rule_engine
from workbench.tesla.occurrence import in_units
from workbench.tesla.parser import parse_rule_file, read_rules
from workbench.tesla.rule_set import RuleSet

ACTIONS: Mapping[str, bool] = {"add": True, "replace": True, "remove": False}
"""The actions, and whether each of them takes the text of a rule."""
COLUMNS = ("do", "rule", "text", "file")
"""The columns of a control file, beside the time."""
KINDS = {"": "numbers", "naive": "dates without a time zone", "aware": "dates with a time zone"}


@dataclass(frozen=True)
class RuleChange:
    """One change of the running rules.

    Attributes
    ----------
    rule: the name of the rule; empty where the text has it.
    text, file: the rule, or the file that has it.
    where: the row of the control file.
    folder: the folder of relative file names.
    rules: the rules, if they have been read.
    """

    time: int
    do: str
    rule: str
    text: str
    file: str
    where: str
    folder: Path
    rules: RuleSet | None = None

    def __post_init__(self) -> None:
        if self.do not in ACTIONS:
            raise InputError(f"there is no action '{self.do}'", where=self.where, hint=did_you_mean(self.do, ACTIONS))
        source_count = bool(self.text) + bool(self.file)
        if source_count != ACTIONS[self.do]:
            expected = "a 'text' or a 'file' with the rule" if ACTIONS[self.do] else "no 'text' and no 'file'"
            raise InputError(f"'{self.do}' takes {expected}", where=self.where)
        if not self.rule and self.do != "add":
            raise InputError(f"'{self.do}' takes the name of a 'rule'", where=self.where)

    def read(self, there: RuleSet) -> RuleSet | None:
        """Read the rules of the text, given the declarations of the others; None if the action takes no text."""
        if not ACTIONS[self.do]:
            return None
        try:
            with allow(self.folder):
                path = find_named(self.file, self.folder, self.where) if self.file else None
                tree = read_rules(path) if path else parse_rule_file(self.text, self.where, self.folder)
        except InputError as error:
            raise error.retold(where=self.where) from error
        rules = check_rule_set(tree, self.where, there.declarations, there.aggregates)
        if self.do == "add" and self.rule:
            if [rule.name for rule in rules.rules if rule.named] not in ([], [self.rule]) or len(rules.rules) != 1:
                hint = "leave 'rule' out, or use the name of the one rule of the text"
                raise InputError(f"the text has rules other than '{self.rule}'", where=self.where, hint=hint)
            rules = replace(rules, rules=(replace(rules.rules[0], name=self.rule, named=True),))
        return rules

    def make(self, engine: RuleEngine, new_rules: RuleSet | None) -> Mapping[str, float]:
        """Change the rules of an engine, and return the time from which each new rule is complete."""
        try:
            if new_rules is None:
                engine.remove(self.rule)
                return {}
            if self.do == "add":
                return engine.add(new_rules)
            before = {rule.name for rule in engine.rules.rules} - {self.rule}
            complete = engine.replace(self.rule, new_rules)
            return {rule.name: complete for rule in engine.rules.rules if rule.name not in before}
        except WorkbenchError as error:
            raise error if error.where else error.retold(where=self.where) from error


class RuleControl:
    """The changes of a run of rules, taken as time passes.

    Parameters
    ----------
    control: a file, or rows as mappings.
    rules: the rules that run first.

    Attributes
    ----------
    everything: all rules that run at some time, and all types, as far as they are known before the run.
    live: whether changes arrive during the run.
    costs: the costs of removed rules.

    Raises
    ------
    WorkbenchError: a file has mistakes; all of them are reported.
    """

    def __init__(self, control: Any, rules: RuleSet, start: Start) -> None:
        self.everything = rules
        self._start = start
        self._clock = start.options.clock("0")
        self._of_log = self._clock
        self._shown = display_name(control) if isinstance(control, str | Path) else "rules_control"
        self.live = isinstance(control, str | Path) and is_stream(control)
        self.costs: list[RuleCost] = []
        self._changes: list[RuleChange] = []
        self._came: SimpleQueue[RuleChange | WorkbenchError] = SimpleQueue()
        if self.live:
            inputs = start.options.input
            if str(control) == "-" and "-" in map(str, inputs if isinstance(inputs, list) else [inputs]):
                raise InputError("the standard input is the log, and cannot change the rules as well")
            Thread(target=self._listen, args=(control,), daemon=True).start()
        else:
            self._rehearse(self._read(control))

    def see(self, clock: Clock) -> None:
        """Set the clock of the log, whose times are now known; InputError where those of the changes differ."""
        self._of_log = clock
        if not self.live:
            self._agree()

    def until(self, time: int) -> Iterator[RuleChange]:
        """Yield the changes up to a time that have not been taken, in their order."""
        self._hear()
        while self._changes and self._changes[0].time <= time:
            yield self._changes.pop(0)

    def make(self, change: RuleChange, engine: RuleEngine, columns: Mapping[str, Domain]) -> None:
        """Change the rules of an engine, and report the effect.

        Parameters
        ----------
        columns: the columns of the output, which must hold what the rules emit.
        """
        costs = [cost for cost in engine.profile() if cost.rule == change.rule and change.do != "add"]
        try:
            new_rules = change.rules if change.rules is not None else change.read(engine.rules)
            if self.live and new_rules is not None:
                _see_place(new_rules, engine.rules, columns, change.where)
            complete = change.make(engine, new_rules)
        except WorkbenchError as error:
            if not self.live:
                raise
            self._start.report(f"{error}\n  this change is not made")
            return
        self.costs += costs
        for warning in new_rules.warnings if new_rules is not None else ():
            self._start.report(f"warning: {warning}")
        at = f"{change.where}: at {self._of_log.show(change.time)}"
        for name, since in complete.items():
            done = "is added" if change.do == "add" else f"replaces '{change.rule}'"
            self._start.report(f"{at} rule '{name}' {done}: {self._complete(since)}")
        if not complete:
            self._start.report(
                f"{at} rule '{change.rule}' is removed" if new_rules is None else f"{at} types are declared"
            )

    def _complete(self, since: float) -> str:
        if since == -math.inf:
            return "complete at once"
        if since == math.inf:
            return "never complete, because its window is forever"
        if math.isnan(since):
            return "complete after as many events as its window has"
        return f"complete from {self._of_log.show(int(since))} on"

    def report(self) -> None:
        """Report the changes that had no effect."""
        if self._changes:
            many = f"{len(self._changes):,} changes lie" if len(self._changes) > 1 else "a change lies"
            self._start.report(f"{self._shown}: {many} after the last event, and had no effect (--until moves time)")

    def _agree(self) -> None:
        if self._clock.dates not in (None, self._of_log.dates):
            one, other = (KINDS[each.dates or ""] for each in (self._clock, self._of_log))
            raise InputError(
                f"its times are {one}, but those of the log {other}", where=self._shown, hint="write them alike"
            )

    # --- reading ----------------------------------------------------------------------------------------

    def _read(self, control: Any) -> Iterator[RuleChange | WorkbenchError]:
        """Yield the changes as they are written, mistakes as errors."""
        columns = (Port(name, STR, optional=name != "do") for name in COLUMNS)
        ports = Ports("rules-control", (Port(self._clock.column, self._clock.of_rows()), *columns), kind="control file")
        reading, reporter = Reading(strict=True), Reporter()
        if not isinstance(control, str | Path):
            from workbench.events.data import RowsReader

            rows = RowsReader(ports, reading, reporter, control)
            yield from self._locate_changes(rows, enumerate(control, 1), self._shown, Path())
            return
        stdin = open(0, "rb", closefd=False) if str(control) == "-" else None  # noqa: SIM115 - until the process ends
        folder = Path() if self.live else Path(control).parent
        with open_log(control, ports, reading, reporter, stdin) as (reader, lines, file_name), readable(file_name):
            yield from self._locate_changes(reader, reader.rows(lines, file_name), file_name, folder)

    def _locate_changes(
        self, reader: Any, rows: Iterable[tuple[int, Any]], file_name: str, folder: Path
    ) -> Iterator[RuleChange | WorkbenchError]:
        last: int | None = None
        for number, row in rows:
            where = f"{file_name}:{number}"
            try:
                for step in reader.located(iter([(number, row)]), file_name):
                    for name in (self._clock.column, "do"):
                        if name not in step:
                            raise InputError(f"a change has no '{name}'", where=where)
                    time = step[self._clock.column]
                    if last is not None and time < last and not self.live:
                        raise InputError("its time is before that of the previous change", where=where)
                    last = time
                    do, rule, text, file = (str(step.get(name, "")) for name in COLUMNS)
                    yield RuleChange(time, do, rule, text, file, where, folder)
            except WorkbenchError as error:
                yield error

    def _rehearse(self, changes: Iterator[RuleChange | WorkbenchError]) -> None:
        """Make all changes on an engine without events; their mistakes are one error."""
        entries, wrong = list(changes), list[WorkbenchError]()
        unit, dates = self._clock.unit, bool(self._clock.dates)
        trex = self._start.options.compat == "trex"
        settings = EngineSettings(unit, dates, trex)
        try:
            running = in_units(self.everything, unit, dates=dates, trex=trex) if entries else self.everything
        except InputError as error:
            what = f"{error.what} (the times of {self._shown} are {KINDS[self._clock.dates or '']})"
            raise error.retold(what, where=error.where) from error
        engine = rule_engine(running, default_row(RULE_SET, self._start.options).name, None, settings)
        rules, failed = list(self.everything.rules), set[str]()
        for change in entries:
            if isinstance(change, WorkbenchError):
                wrong.append(change)
                continue
            if change.do != "add" and change.rule in failed:
                continue
            try:
                new_rules = change.read(engine.rules)
                change.make(engine, new_rules)
            except WorkbenchError as error:
                wrong.append(error)
                failed |= {change.rule} if change.rule else set()
                continue
            rules += new_rules.rules if new_rules is not None else ()
            self._changes.append(replace(change, rules=new_rules))
        if wrong:
            first, *others = wrong
            first.others = (*first.others, *others)
            raise first
        self.everything = replace(engine.rules, name=self.everything.name, rules=tuple(rules))

    # --- changes that arrive ------------------------------------------------------------------------------

    def _listen(self, control: Any) -> None:
        try:
            for each in self._read(control):
                self._came.put(each)
        except WorkbenchError as error:
            self._came.put(error)

    def _hear(self) -> None:
        """Read the changes that have arrived."""
        while not self._came.empty():
            try:
                each = self._came.get()
                if isinstance(each, WorkbenchError):
                    raise each
                self._agree()
                insort(self._changes, each, key=lambda change: change.time)
            except WorkbenchError as error:
                self._start.report(f"{error}\n  this change is not made")


def _see_place(new_rules: RuleSet, running: RuleSet, columns: Mapping[str, Domain], where: str) -> None:
    """Raise InputError if the output lacks a column for an attribute, or if the rules' facts have not been read."""
    for name, declared in new_rules.declarations.items():
        if declared.fact and name not in running.declarations:
            hint = f"declare {name} where the run begins, with --facts {name}=F"
            raise InputError(f"there are no facts of type '{name}'", where=where, hint=hint)
    for name in new_rules.composites:
        for attribute, domain in new_rules.declarations[name].domains.items():
            if columns.get(attribute) not in (domain, ANY):
                what = f"the output has no column for '{attribute}' of {name}"
                hint = f"declare {name} where the run begins: its columns are written then"
                raise InputError(what, where=where, hint=hint)
