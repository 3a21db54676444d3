"""The options of a run, made from a command line or from keyword arguments.

The rule of this module: an option says which programs it is for. Those that are for some backends only stand in the
rows of these, too (`table`), and are None where they are not given.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.events.reading import SHAPES, Reading, columns_of, nulls_of
from workbench.events.table import format_of_options

if TYPE_CHECKING:
    from workbench.core.domain import Integer, Value
    from workbench.core.program import Ported
    from workbench.events.clock import Clock
    from workbench.events.follow import Follower

AUTO = "auto"
"""What stands for the backend that fits the program and the log."""
PIPELINES, RULES, TIMES = "pipelines", "rules", "rules and pipelines with a clock"
CLOCKS, FACTS = "rules and pipelines with rules in them", "programs that look facts up"
"""What an option is for, where it is not for all programs; rules have a clock, and may look up facts."""


def _of(only: str, default: Any = None, flag: str = "") -> Any:
    """An option of some programs."""
    return field(default=default, metadata={"only": only, "flag": flag})


def _rename_option(flag: str, default: Any = None) -> Any:
    """An option that the command line calls otherwise."""
    return field(default=default, metadata={"flag": flag})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How a program runs: the options of `workbench run`, by their names there."""

    input: Any = None
    """The log: files, or data."""
    output: str = "-"
    """The file that is written; `-` for the standard output, or an answer in Python."""
    outputs: Mapping[str, str] | tuple[()] = _rename_option("--output NAME=FILE", ())
    """In place of that one, the files of some of the outputs, by their names."""
    progress: bool = False
    """Whether it is shown how far a run is, also where no terminal is."""
    backend: str = AUTO
    """What runs it; `auto`: what fits the program and the log."""
    seconds: float | None = _rename_option("--timeout")
    """How long it may take."""
    memory_mb: int | None = _rename_option("--memory")
    """By how many megabytes the process may grow."""

    columns: Mapping[str, str] | Sequence[str] = _rename_option("--column", ())
    """The column for an input, or for a field of a record on one (`e.user`), where it is not called like that."""
    strict: bool = False
    """Whether columns that no input needs are an error."""
    null: str | Sequence[str] = "absent"
    """`absent`: a null, a None or an empty cell is no event at this step; `error`: it is an error; `zero`: where other
    fields of its record are there, it is 0, false or the empty text. Any other text: a cell with it is empty, too."""
    bad_rows: str | Path = "error"
    """What becomes of rows that cannot be read: `error`, `skip`, or the name of a file that they are written to."""
    head: int | None = None
    """How many rows are read at most."""
    format: str | None = None
    """Of files, where their names do not tell."""
    output_format: str | None = None
    """Of the output, whatever its name tells."""
    header: str | Sequence[str] = ()
    """The columns of a CSV file without a line of names."""
    pattern: str = ""
    """What each line of a text matches, with a named group for each column; or the name of a well-known log."""
    xml: str = ""
    """The name of the elements of XML that are rows."""
    delimiter: str = ""
    """What separates the cells of CSV, where the header does not tell: a character, or `tab`."""
    quote: str | None = None
    """What stands around cells of CSV; empty: nothing."""
    decimal: str = ""
    """The decimal mark in numbers of texts."""
    encoding: str = ""
    """Of texts, where it is not UTF-8."""
    skip_lines: int = 0
    """How many lines at the beginning of each text are no rows."""
    comment: str = ""
    """What lines of texts begin with that are no rows."""
    follow: bool | Follower = False
    """Whether the log is a file that grows, which is read on until the run is stopped."""

    steps: bool = _of(PIPELINES, default=False)
    """Whether a step in which nothing came out has a row, too, without events."""
    integers: Integer | None = _of(PIPELINES, flag="-N")
    """What `int` is; without it, numbers as the backend has them."""
    fault: Sequence[str] = ()
    """What may go wrong, beside what the program says."""
    seed: int | None = None
    """Of the faults that strike at random."""
    rate: float | None = None
    """How likely a fault is to strike where it can."""
    threads: int | None = None
    """How many there are."""
    processes: int | None = None
    """In how many worker processes the copies of quantifiers, windows and slices are."""
    why: int | None = None
    """How many times the run says of which values a quantifier is false."""
    html: str | None = None
    """The page on which that is written."""
    phases: int | None = None
    """The most steps on their way at once."""
    groups: bool = False
    """Whether what is in a pipeline that is called runs as one."""
    compiled: bool = False
    """The same as machine code, where it can be compiled."""
    reassociate: bool = False
    """Whether sums of floats may be made in another order, in several threads."""
    worker_backend: str | None = None
    """What runs rules on the workers of Spark."""
    key: str | None = None
    """A column: the program runs once for each of its values, and rows of the answer have them."""
    with_row: bool = _of(PIPELINES, default=False)
    """Whether rows of the answer have the number of the row that caused them, counted from 1, in a column `row`."""
    carry: str | Sequence[str] = _of(PIPELINES, ())
    """Columns of the log: rows of the answer have what the row that caused them has there."""
    only_true: bool = _of(PIPELINES, default=False)
    """Whether the answer has only rows in which an output is true."""
    state: str | Path | None = None
    """A file: the run goes on from the state in it, and saves its own when it stops."""
    order: str | None = None
    """What orders the rows of a key."""
    master: str | None = None
    """A Spark master."""
    stream: bool = False
    """The input is a folder that grows."""
    checkpoint: str = ""
    """Where a stream keeps its state."""
    once: bool = False
    """Whether a stream ends when all that is there has been done."""
    files: int | None = None
    """Files that a stream takes at a time."""

    time: str | None = None
    """The column of times; rows of pipelines are put in their order, and those of the answer begin with them."""
    time_unit: str | None = _of(TIMES)
    """What the numbers in it count."""
    time_format: str | None = _of(TIMES)
    """How they are written, for `strptime`; `auto`, as without it: their form tells."""
    year: int | None = _of(TIMES)
    """That of times without a year; without it the newest one in which they are not in the future."""
    late: str | None = _of(TIMES)
    """How late events may come."""
    late_output: str | Path | None = _of(TIMES)
    """The file of those that come later still."""
    infer: bool = _of(RULES, default=False)
    """Whether types that are not declared are inferred from the log."""
    infer_rows: int | None = _of(RULES)
    """From how many of its first rows."""
    until: str | int | None = _of(CLOCKS)
    """The time to which the clock moves in the end."""
    facts: Mapping[str, Any] | Sequence[str] | str | Path = _of(FACTS, default=())
    """The rows of each type of facts, as the log may be given, or their files: a SQLite database, or `TYPE=FILE`."""
    facts_fixed: bool = _of(FACTS, default=False)
    """Whether no database of facts changes while the program runs, so that nobody looks."""
    facts_timeout: float | None = _of(FACTS)
    """How many seconds a query for facts may take."""
    on_facts_failure: str | None = _of(FACTS)
    """What becomes of a query for facts that fails: `error` ends the run, `drop` gives up the matches that asked,
    `retry` asks some times more."""
    facts_cache: str | None = _of(FACTS)
    """Which answers of databases stay in memory: `gds`, `gdsf`, `lru`, `sieve`, ...; none without it."""
    facts_cache_rows: int | None = _of(FACTS)
    """How many rows the answers in a cache have, at most."""
    facts_cache_shared: bool = _of(FACTS, default=False)
    """Whether all predicates have one cache."""
    rules_control: Sequence[Mapping[str, Value]] | str | Path | None = _of(RULES)
    """How rules change as time passes, as rows or their file."""
    with_sources: bool = _of(RULES, default=False)
    """Whether rows have the events of their match."""
    passed: Sequence[str] = _of(RULES, (), "--pass")
    """The types of events of the log that are written among the composites."""
    compat: str | None = _of(RULES)
    """`trex` for windows and consumption as T-Rex has them."""
    profile: bool = _of(RULES, default=False)
    """Whether the run reports what each rule has cost."""
    matches: str | None = _of(RULES)
    """`count` for how many matches each rule has, `rows` for the numbers of their events; no composites."""
    first: int | None = _of(RULES)
    """With `matches="rows"`: how many matches at most; what comes behind them is not looked for."""

    more: Mapping[str, Any] = field(default_factory=dict)
    """The values of options that rows of backends have beside these, by name."""

    def value(self, name: str) -> Any:
        """The value of an option, also of one that only the row of a backend names; None where it is not given."""
        return getattr(self, name) if name in OPTIONS else self.more.get(name)

    def given(self, *flags: str) -> str:
        """Those of the options that have a value: `--seed, --rate`."""
        return ", ".join(flag for flag in flags if self._has(NAMES.get(flag, flag_name(flag))))

    def _has(self, name: str) -> bool:
        return bool(self.value(name) != (OPTIONS[name].default if name in OPTIONS else None))

    def reading(self, program: Ported | None = None) -> Reading:
        """How the log is read; of a program with a clock, that has the column of times.

        Raises
        ------
        InputError: an option means nothing, or a file would be written in the place of another one.
        """
        from workbench.events.inputs import see_apart
        from workbench.events.text_options import resolve_reading

        own = {f"--output {name}": file for name, file in dict(self.outputs).items()}
        beside = {flag: getattr(self, flag_name(flag)) for flag in _WRITTEN}
        see_apart(self.input, None if own else self.output, own | beside)
        null, nulls = nulls_of(self.null)
        header = self.header.split(",") if isinstance(self.header, str) and self.header else self.header
        found = Reading(
            columns_of(self.columns), self.strict, null, str(self.bad_rows), self.head,
            format=self.format or format_of_options(*(each for each in SHAPES if getattr(self, each, None))),
            clock=self.clock(), header=tuple(map(str.strip, header)), pattern=self.pattern, xml=self.xml, nulls=nulls,
            delimiter=self.delimiter, quote=self.quote, decimal=self.decimal, encoding=self.encoding,
            skip_lines=self.skip_lines, comment=self.comment, follow=self._follower(),
        )  # fmt: skip
        found = resolve_reading(found)
        if self.time is None or program is None:
            return found
        times = {port.name: self.time for port in program.ports.inputs if port.clock}
        return replace(found, columns={**times, **found.columns})

    def _follower(self) -> Follower | None:
        if isinstance(self.follow, bool) and self.follow:
            from workbench.events.follow import Follower, find_followed_file

            return Follower(find_followed_file(self.input))
        return self.follow or None

    def clock(self, late: str | None = None) -> Clock:
        """What knows the times of events, as the log writes them; see `Clock`."""
        from workbench.events.clock import Clock

        return Clock(self.time or Clock.column, self.time_unit, late, self.time_format or Clock.format, self.year)


_WRITTEN = ("--bad-rows", "--late-output", "--html", "--state")
"""What is written beside the output."""


def output_files(given: Any) -> dict[str, Any]:
    """The options `output` and `outputs`, of one file, or of the files of outputs by name.

    Parameters
    ----------
    given: a mapping has a name for each file, and a list of texts from a command line (`NAME=FILE`) may have.

    Raises
    ------
    InputError: there are two files for one output or for all of them, or two outputs for one file.
    """
    if given is None or isinstance(given, str | Path):
        return {"output": given if given is None else str(given), "outputs": None}
    pairs = given.items() if isinstance(given, Mapping) else map(_split_named_file, given)
    files, places = dict[str, str](), dict[str, str]()
    for name, file in pairs:
        if name in files:
            raise InputError(f"two files for {f'output {name!r}' if name else 'all outputs'}: {files[name]} and {file}")
        files[name] = str(file)
        if (other := places.setdefault(os.path.realpath(file), name)) != name:
            raise InputError(f"one file for two outputs, {other} and {name}", where=str(file), hint="name another one")
    if [*files] == [""]:
        return {"output": files[""], "outputs": None}
    if "" in files or not files:
        hint = "--output NAME=FILE for each output, or --output FILE for all"
        raise InputError(f"no output is named for {files.get('', 'a file')}", hint=hint)
    return {"output": None, "outputs": files}


def _split_named_file(text: str) -> tuple[str, str]:
    """The name of an output and its file; without a name that of all."""
    name, equals, file = text.partition("=")
    return (name, file) if equals and name.isidentifier() else ("", text)


def flag_name(flag: str) -> str:
    """The name of a value, of what the command line calls it: `with_row` of `--with-row`."""
    return flag.lstrip("-").replace("-", "_")


OPTIONS = {each.name: each for each in fields(RunOptions)}
"""The options by name."""
FLAGS = {name: each.metadata.get("flag") or f"--{name.replace('_', '-')}" for name, each in OPTIONS.items()}
"""What the command line calls each."""
NAMES = {flag: name for name, flag in FLAGS.items()}
