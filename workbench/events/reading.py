"""What a user says about the columns and rows of a log, and what has become of them so far.

The rule of this module: both are known before a row is read and hold for all files of a log, whatever their formats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Literal

from workbench.budget import phase
from workbench.errors import InputError, LostRows, listed

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray
    from workbench.events.clock import Clock
    from workbench.events.rows import InputEvents

Null = Literal["absent", "error", "zero"]
"""What an empty cell or a null is: no event at this step, or an error; or in a record that has others, 0 or no text."""
_TELLING = Lock()
"""Held while ignored columns are noted, which threads may read at the same time."""
SHAPES = ("header", "pattern", "xml")
"""What says how rows lie in files that do not say it."""


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Parameters
    ----------
    columns: the column for an input, or for a field of a record on one (`e.user`), where it is not called like that.
    strict: whether columns that no input needs are an error; else they are passed over.
    null: what an empty cell or a null is.
    bad_rows: what becomes of rows that cannot be read: `error`, `skip`, or the name of a file that they are written to.
    head: how many rows are read at most; None: all.
    words: whether whole numbers have at most 64 bits, as in compiled code.
    format: of the files; None: what their names or first bytes say.
    clock: how the log writes the times of steps; None: as numbers that are taken as they are.
    header: the names of columns in files (CSV) that begin with a row; empty: they begin with a line of names.
    pattern: what each line of a text matches as a whole, with a named group for each column.
    xml: the name of the elements of XML that are rows.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    null: Null = "absent"
    bad_rows: str = "error"
    head: int | None = None
    words: bool = False
    format: str | None = None
    clock: Clock | None = None
    header: tuple[str, ...] = ()
    pattern: str = ""
    xml: str = ""


def columns_of(given: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    """The columns of inputs, as texts say them: `x=temperature`."""
    if isinstance(given, Mapping):
        return given
    found: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(f"--column {text}: expected INPUT=COLUMN", hint="for example --column x=temperature")
        if name in found:
            raise InputError(f"--column says twice where '{name}' comes from: {found[name]} and {column}")
        found[name] = column
    return found


@dataclass
class Tally:
    """What has become of the rows of a log so far.

    Parameters
    ----------
    say: tells the user something beside the output.
    keep: takes the bad rows: the file, the number of the row, what is wrong with it, its text.

    Attributes
    ----------
    rows, bad: how many rows have been read, and could not be.
    events, made: how many events have come in and out.
    ignored: the columns that no input needs.
    first: the first bad row.
    read: how many rows readers have given away, whoever has taken them.
    computed, late: how many of them a program has been run on, and came too late.
    blank, apart: lines that are no rows, and rows that belong to nothing that is run.
    exact: whether all of them are read, and their number was known before they were.
    doing: what is being done; `tell` says how far it is.
    notes: what else the summary says, of who runs the log; empty where there is nothing to say.
    """

    say: Callable[[str], object] = lambda _: None
    keep: Callable[[str, int, str, str], object] = lambda *_: None
    rows: int = 0
    bad: int = 0
    events: int = 0
    made: int = 0
    first: InputError | None = None
    read: int = 0
    computed: int = 0
    late: int = 0
    blank: int = 0
    apart: int = 0
    exact: bool = True
    doing: phase = field(default_factory=lambda: phase("running the log"))
    ignored: dict[str, None] = field(default_factory=dict)
    notes: list[Callable[[], str]] = field(default_factory=list)

    def tell(self, left: int = 0) -> None:
        """All that comes out of the rows so far has been given away, but for so many of the last ones."""
        self.doing.now(f"running the log, after row {self.rows - left:,}")

    def take(self, columns: Mapping[str, EventArray]) -> None:
        """Rows have been read as columns."""
        for i, each in enumerate(columns.values()):
            count = each.rows
            self.rows += 0 if i else count
            self.events += count if each.present is None else int(each.present.sum())

    def counted(self, steps: Iterator[InputEvents], head: int | None) -> Iterator[InputEvents]:
        """The same steps, as long as rows are asked for."""
        for step in steps:
            self.rows += 1
            self.events += len(step)
            yield step
            if self.rows == head:
                return

    def pass_by(self, error: InputError, file: str, row: int, text: str) -> None:
        """A bad row is not run."""
        self.bad += 1
        self.rows += 1
        self.first = self.first or error
        self.keep(file, row, error.what, text)

    def settle(self) -> None:
        """All that was read has been computed, or it is known why not.

        Raises
        ------
        LostRows: some rows are missing, or are there twice.
        """
        ignored = self.blank + self.apart
        if self.exact and self.read != self.computed + self.bad + self.late + ignored:
            raise LostRows(
                f"not all rows are accounted for: {self.read:,} were read, {self.computed:,} were computed,"
                f" {self.bad:,} are bad, {self.late:,} came too late, {ignored:,} were ignored",
                hint="do not use the output; this is a defect of workbench, please report it with the command",
            )

    def shown(self) -> str:
        """How far it is."""
        return f"{self.rows:,} rows, {self.made:,} events out" if self.rows else ""

    def summary(self, seconds: float) -> str:
        """What it has been, in a line."""
        counts = f"{self.rows:,} rows, {self.events:,} events in, {self.made:,} events out, {self.bad:,} bad rows"
        rate = f"{seconds:.2f} s, {self.rows / max(seconds, 1e-9):,.0f} rows a second"
        return ", ".join(filter(None, (counts, *(note() for note in self.notes), rate)))

    def pass_over(self, names: Iterable[str]) -> None:
        """Some columns feed no input; the user is told so once, of the first ones."""
        with _TELLING:
            told = bool(self.ignored)
            self.ignored |= dict.fromkeys(names)
        if self.ignored and not told:
            self.say(f"columns that no input needs are passed over: {listed(self.ignored)} (--strict refuses them)")
