"""The account of the rows of a log, and the reporter that has it.

The rule of this module: rows read = computed + bad + late + ignored. Readers count what is read and bad, who runs a
program counts the rest, and a run whose account does not balance ends with an error.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from workbench.budget import phase
from workbench.errors import RUNNING_LOG, LostRows, listed

if TYPE_CHECKING:
    from workbench.events.batch import Columns

BLANK, KEYLESS, UNDECLARED = "blank lines", "rows without a key", "rows of undeclared types"
"""Why rows are ignored."""
MOST_KINDS = 4
"""The most kinds of bad rows of which it is said how many there are."""
_REPORTING = Lock()
"""Held while something is reported once, which several threads may meet at the same time."""


class BadRow(NamedTuple):
    """A row that cannot be read: its file, its number, what is wrong with it, its text."""

    file: str
    number: int
    reason: str
    text: str

    @property
    def kind(self) -> str:
        """The reason without what is of this row alone."""
        found = re.match(r"((column|input) '[^']*': )?[^:'\"\d]*", self.reason)
        return found[0].strip(" ,(") if found else ""


@dataclass
class Account:
    """The rows of a log, counted.

    Attributes
    ----------
    read: the rows that readers have handed out, whoever takes them.
    rows: those that have been decoded so far, the bad ones among them.
    computed, bad, late: those on which a program has run, that could not be decoded, and that came too late.
    ignored: those that nothing runs on, by the reason.
    earlier: those that earlier runs have computed or reported, from whose state this one goes on.
    events_in, events_out: the events that have come in and out.
    first_bad: the first of the bad rows.
    reasons: how many bad rows there are of each kind.
    is_exact: whether all rows are read, and their number is known before they are decoded.
    rows_are_events: whether a row is one event, as for rules, and not one for each of its cells.
    """

    read: int = 0
    rows: int = 0
    computed: int = 0
    bad: int = 0
    late: int = 0
    ignored: Counter[str] = field(default_factory=Counter)
    events_in: int = 0
    events_out: int = 0
    first_bad: BadRow | None = None
    is_exact: bool = True
    rows_are_events: bool = False
    earlier: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: Account) -> Account:
        """The account of two parts of a log, one after the other."""
        return Account(
            self.read + other.read, self.rows + other.rows, self.computed + other.computed, self.bad + other.bad,
            self.late + other.late, self.ignored + other.ignored, self.events_in + other.events_in,
            self.events_out + other.events_out, self.first_bad or other.first_bad, self.is_exact and other.is_exact,
            self.rows_are_events or other.rows_are_events, self.earlier + other.earlier,
            self.reasons + other.reasons,
        )  # fmt: skip

    def add(self, other: Account) -> None:
        """Count the rows of another part of the log, too."""
        self.__dict__.update(vars(self + other))

    def take(self, columns: Columns) -> None:
        """Count rows that have been decoded as columns."""
        rows = next((each.rows for each in columns.values()), 0)
        self.rows += rows
        self.events_in += rows if self.rows_are_events else sum(each.total for each in columns.values())

    def check(self) -> None:
        """Raise LostRows where rows are missing, or are there twice."""
        ignored = self.ignored.total()
        if self.is_exact and self.read != self.computed + self.bad + self.late + ignored + self.earlier:
            raise LostRows(
                f"not all rows are accounted for: {self.read:,} were read, {self.computed:,} were computed,"
                f" {self.bad:,} are bad, {self.late:,} came too late, {ignored:,} were ignored",
                hint="do not use the output; this is a defect of workbench, please report it with the command",
            )

    def describe_bad(self) -> str:
        """How many rows are bad, of which kinds, and the first one; empty if none is."""
        if self.first_bad is None:
            return ""
        kinds = ", ".join(f"{count:,}: {kind}" for kind, count in self.reasons.most_common(MOST_KINDS))
        first = f"{self.first_bad.file}:{self.first_bad.number}: {self.first_bad.reason}"
        return "; ".join(
            filter(
                None,
                (
                    f"{self.bad:,} of {self.rows:,} rows were passed over",
                    kinds * (len(self.reasons) > 1),
                    f"the first one: {first}",
                ),
            )
        )

    def progress(self) -> str:
        """How far it is, for a line of progress; empty before the first row."""
        return f"{self.rows - self.earlier:,} rows, {self.events_out:,} events out" if self.rows else ""

    def summary(self, seconds: float, notes: Sequence[str] = ()) -> str:
        """A line that sums up a run of so many seconds."""
        rows = self.rows - self.earlier
        events = self.events_in - self.earlier * self.rows_are_events
        counts = f"{rows:,} rows, {events:,} events in, {self.events_out:,} events out"
        rate = f"{seconds:.2f} s, {rows / max(seconds, 1e-9):,.0f} rows a second"
        return ", ".join(filter(None, (counts, f"{self.bad:,} bad rows", *notes, rate)))


@dataclass
class Reporter:
    """Reports on a run beside its output, and has its account.

    Parameters
    ----------
    say: shows the user a line.
    keep: takes the bad rows.

    Attributes
    ----------
    doing: what is being done, which an error of a limit names.
    notes: what else the summary says; empty where there is nothing to say.
    columns: those that no input needs.
    bad: how many bad rows each file has had.
    reported: how many of them earlier runs have reported, from whose state this one goes on.
    reported_once: what has been reported of all files of the log.
    """

    say: Callable[[str], object] = lambda _: None
    keep: Callable[[BadRow], object] = lambda _: None
    account: Account = field(default_factory=Account)
    doing: phase = field(default_factory=lambda: phase(RUNNING_LOG))
    notes: list[Callable[[], str]] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)
    bad: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    reported_once: set[str] = field(default_factory=set)

    def report_once(self, text: str) -> None:
        """Report what holds for all files of a log, when it is met first."""
        with _REPORTING:
            known = text in self.reported_once
            self.reported_once.add(text)
        if not known:
            self.say(text)

    def after(self, left: int = 0) -> None:
        """Note that all output of the rows so far has been given away, but for that of so many of the last ones."""
        self.doing.now(f"{RUNNING_LOG}, after row {self.account.rows - left:,}")

    def report_bad(self, row: BadRow) -> None:
        """Count a bad row, and keep it where bad rows are kept."""
        account = self.account
        account.rows += 1
        self.bad[row.file] += 1
        if self.bad[row.file] <= self.reported[row.file]:
            account.earlier += 1
            return
        account.bad += 1
        account.reasons[row.kind] += 1
        account.first_bad = account.first_bad or row
        self.keep(row)

    def ignore_columns(self, names: Iterable[str]) -> None:
        """Report columns that feed no input, once, when the first of them are met."""
        with _REPORTING:
            known = bool(self.columns)
            self.columns |= dict.fromkeys(names)
        if self.columns and not known:
            self.say(f"ignored columns: {listed(self.columns)} (no input uses them; --strict makes this an error)")

    def summary(self, seconds: float) -> str:
        """The account as a line, with the notes."""
        return self.account.summary(seconds, [note() for note in self.notes])
