"""The account of the rows of a log, and the reporter that updates it.

The rule of this module: rows read = computed + bad + late + ignored. Readers count the rows that are read and bad, the
runner counts the rest, and a run whose account does not balance ends with an error.
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
"""The reasons for ignoring rows."""
MAX_KINDS = 4
"""The maximum number of kinds of bad rows that are listed with their counts."""
_REPORTING = Lock()
"""The lock for reports that several threads may make, and that appear once."""
_WHOSE = re.compile(r"((?:column|input) '[^']*': )?(.*)", re.DOTALL)
_VALUE = re.compile(r"'[^']*'|\"[^\"]*\"|[+-]?\d\S*")
"""A pattern for values in the reason for a bad row."""


class BadRow(NamedTuple):
    """A row that cannot be read: its file, its number, the reason, and its text."""

    file: str
    number: int
    reason: str
    text: str

    @property
    def kind(self) -> str:
        """The reason, with placeholders for the values of this row."""
        match = _WHOSE.fullmatch(self.reason)
        assert match is not None, "the pattern takes any text"
        whose, what = match.groups("")
        return whose + _VALUE.sub("...", re.split(r": |, not | \(", what)[0])


@dataclass
class Account:
    """The counts of the rows of a log.

    Attributes
    ----------
    read: the rows that readers have delivered.
    rows: the rows that have been decoded so far, bad ones included.
    computed, bad, late: the rows that a program has run on, that could not be decoded, and that came too late.
    ignored: the rows that nothing runs on, by reason.
    earlier: the rows that earlier runs have computed or reported, if this run continues from a state.
    empty: the rows without an event of any input of a pipeline.
    events_in, events_out: the input and output events.
    first_bad: the first of the bad rows.
    reasons: the number of bad rows of each kind.
    is_exact: whether all rows are read, and their number is known before they are decoded.
    rows_are_events: whether a row is one event, as for rules, and not one event for each cell.
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
    empty: int = 0

    def __add__(self, other: Account) -> Account:
        """Return the account of two successive parts of a log."""
        return Account(
            self.read + other.read, self.rows + other.rows, self.computed + other.computed, self.bad + other.bad,
            self.late + other.late, self.ignored + other.ignored, self.events_in + other.events_in,
            self.events_out + other.events_out, self.first_bad or other.first_bad, self.is_exact and other.is_exact,
            self.rows_are_events or other.rows_are_events, self.earlier + other.earlier,
            self.reasons + other.reasons, self.empty + other.empty,
        )  # fmt: skip

    def add(self, other: Account) -> None:
        """Add the counts of another part of the log."""
        self.__dict__.update(vars(self + other))

    def take(self, columns: Columns) -> None:
        """Count rows that have been decoded as columns."""
        rows = next((each.rows for each in columns.values()), 0)
        self.rows += rows
        self.events_in += rows if self.rows_are_events else sum(each.total for each in columns.values())

    def check(self) -> None:
        """Raise LostRows if rows are missing or counted twice."""
        ignored = self.ignored.total()
        if self.is_exact and self.read != self.computed + self.bad + self.late + ignored + self.earlier:
            raise LostRows(
                f"not all rows are accounted for: {self.read:,} were read, {self.computed:,} were computed,"
                f" {self.bad:,} are bad, {self.late:,} came too late, {ignored:,} were ignored",
                hint="do not use the output; this is a defect of workbench, please report it with the command",
            )

    def describe_bad(self, file: str = "") -> str:
        """Return the number and the kinds of bad rows, the file they are in, and the first; empty if there is none."""
        if self.first_bad is None:
            return ""
        kinds = ", ".join(f"{count:,}: {kind}" for kind, count in self.reasons.most_common(MAX_KINDS))
        first = f"{self.first_bad.file}:{self.first_bad.number}: {self.first_bad.reason}"
        return "; ".join(
            filter(
                None,
                (
                    f"{self.bad:,} of {self.rows - self.earlier:,} rows {'was' if self.bad == 1 else 'were'} skipped"
                    + (f" and written to {file}" if file else ""),
                    kinds * (len(self.reasons) > 1),
                    f"the first one: {first}",
                ),
            )
        )

    def progress(self) -> str:
        """Return a line of progress; empty before the first row."""
        rows = max(self.rows - self.earlier, self.computed)  # rows of a block are counted when all have been read
        counts = f"{_count(rows, 'row')}, {_count(self.events_out, 'event')} out" if self.rows or rows else ""
        return f"{counts}, {_count(self.bad, 'bad row')}" if self.bad else counts

    def summary(self, seconds: float, notes: Sequence[str] = ()) -> str:
        """Return a line that sums up a run of that many seconds."""
        rows = self.rows - self.earlier
        events = self.events_in - self.earlier * self.rows_are_events
        late = f" ({self.late:,} late)" if self.late else ""  # they are among the rows that were read
        of_rows, of_events = ("", late) if self.rows_are_events else (late, "")
        read = f"{_count(rows, 'row')}{of_rows}, {_count(events, 'event')} in{of_events}"
        counts = f"{read}, {_count(self.events_out, 'event')} out"
        rate = f"{seconds:.2f} s, {_count(round(rows / max(seconds, 1e-9)), 'row')} a second"
        return ", ".join(filter(None, (counts, _count(self.bad, "bad row"), *notes, rate)))


def _count(number: int, noun: str) -> str:
    # not `core.readable.plural`: this module is loaded before a program is, and must not load the core
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


@dataclass
class Reporter:
    """Reports on a run beside its output, and has its account.

    Parameters
    ----------
    report: shows a line to the user.
    keep: stores a bad row.

    Attributes
    ----------
    doing: the current activity, which the error of a limit names.
    notes: return further texts for the summary, empty ones included.
    columns: the columns that no input needs.
    near: the keys of objects that lack a key of a path, for hints.
    bad: the number of bad rows of each file.
    reported: the number of these that earlier runs have reported, if this run continues from a state.
    reported_once: the reports that hold for all files of the log.
    last_days: the latest day of each column of dates, with `--year`; None: rows are in no order (`DateReader`).
    """

    report: Callable[[str], object] = lambda _: None
    keep: Callable[[BadRow], object] = lambda _: None
    account: Account = field(default_factory=Account)
    doing: phase = field(default_factory=lambda: phase(RUNNING_LOG))
    notes: list[Callable[[], str]] = field(default_factory=list)
    columns: dict[str, None] = field(default_factory=dict)
    near: dict[str, None] = field(default_factory=dict)
    bad: Counter[str] = field(default_factory=Counter)
    reported: Counter[str] = field(default_factory=Counter)
    reported_once: set[str] = field(default_factory=set)
    last_days: dict[str, int] | None = field(default_factory=dict)

    def report_once(self, text: str, kind: str = "") -> None:
        """Report a fact about all files of a log once, or only the first fact of its kind."""
        with _REPORTING:
            known = (kind or text) in self.reported_once
            self.reported_once.add(kind or text)
        if not known:
            self.report(text)

    def after(self, left: int = 0) -> None:
        """Note that all output up to the last rows, `left` in number, has been yielded."""
        self.doing.now(f"{RUNNING_LOG}, after row {self.account.rows - left:,}")

    def report_bad(self, row: BadRow) -> None:
        """Count a bad row, and store it where bad rows are kept."""
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
        """Report columns that no input uses, once, when the first of them are found."""
        with _REPORTING:
            known = bool(self.columns)
            self.columns |= dict.fromkeys(names)
        if self.columns and not known:
            self.report(f"ignored columns: {listed(self.columns)} (no input uses them; --strict makes this an error)")

    def summary(self, seconds: float) -> str:
        """Return the account as a line, with the notes."""
        return self.account.summary(seconds, [note() for note in self.notes])
