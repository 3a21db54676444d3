"""The options of a run, made from a command line or from keyword arguments.

The rule of this module: an option says which programs it is for. Options that only some backends have are also in the
rows of these backends (`table`), and are None where they are not given.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError
from workbench.events.reading_options import SHAPES, Reading, columns_of, nulls_of
from workbench.events.table import format_of_options

if TYPE_CHECKING:
    from workbench.core.domain import Integer, Value
    from workbench.core.program import Ported
    from workbench.events.clock import Clock
    from workbench.events.follow import Follower

AUTO = "auto"
"""The value of `backend` that selects one by the program and the log."""
PIPELINES, RULES, TIMES = "pipelines", "rules", "rules and pipelines with a clock"
TWO_COLUMNS = (
    "for a key of two columns, first write one that joins them, with --carry for the columns that are needed then:"
    ' pipeline joint(a: str, b: str) -> key: str { return a + "/" + b }'
)
"""The advice for a key of two columns."""
CLOCKS, FACTS = "rules and pipelines with rules in them", "programs that query facts"
"""The kinds of programs that an option may be restricted to; rules have a clock, and may query facts."""


def _of(only: str, default: Any = None, flag: str = "") -> Any:
    """Declare an option that only some programs have."""
    return field(default=default, metadata={"only": only, "flag": flag})


def _rename_option(flag: str, default: Any = None) -> Any:
    """Declare an option that has another name on the command line."""
    return field(default=default, metadata={"flag": flag})


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The options of `workbench run`, which define how a program runs, by their names there."""

    input: Any = None
    """The log: files, or Python data."""
    output: str = "-"
    """The output file; `-` for the standard output, or for a result in Python."""
    outputs: Mapping[str, str] | tuple[()] = _rename_option("--output NAME=FILE", ())
    """The files of single outputs, by output name, in place of `output`."""
    progress: bool = False
    """Whether to show progress even without a terminal."""
    backend: str = AUTO
    """The backend; `auto`: chosen by the program and the log."""
    seconds: float | None = _rename_option("--timeout")
    """Time limit in seconds."""
    memory_mb: int | None = _rename_option("--memory")
    """Megabytes by which the process may grow."""

    columns: Mapping[str, str] | Sequence[str] = _rename_option("--column", ())
    """The column for an input, or for a field of a record input (`e.user`), where its name differs."""
    strict: bool = False
    """Whether a column that no input uses is an error."""
    null: str | Sequence[str] = "absent"
    """`absent`: a null, a None or an empty cell means no event in a step; `error`: it is an error; `zero`: it is 0,
    false or the empty text; a record without any field is no event. Any other text: a cell with it is empty, too."""
    bad_rows: str | Path = "error"
    """The treatment of rows that cannot be read: `error`, `skip`, or the name of a file to write them to."""
    head: int | None = None
    """Maximum number of rows to read."""
    format: str | None = None
    """The format of input files, where their names do not show it."""
    output_format: str | None = None
    """The format of the output, whatever its name."""
    output_delimiter: str = ""
    """The separator of CSV cells in the output: a character, or `tab`; default: a comma."""
    output_decimal: str = ""
    """The decimal mark of CSV cells in the output: `,` or `.`, the default; with a comma, semicolons separate cells."""
    header: str | Sequence[str] = ()
    """The columns of a CSV file without a header line."""
    pattern: str = ""
    """A regular expression for text lines, with a named group for each column; or the name of a known log format."""
    xml: str = ""
    """The name of the XML elements that are rows."""
    delimiter: str = ""
    """The separator of CSV cells, where the header does not show it: a character, or `tab`."""
    quote: str | None = None
    """The quote character of CSV cells; empty: none."""
    decimal: str = ""
    """The decimal mark of numbers in text."""
    thousands: str = ""
    """The separator of thousands in numbers in text."""
    encoding: str = ""
    """The text encoding, where it is not UTF-8."""
    skip_lines: int = 0
    """Number of lines to skip at the beginning of each text file."""
    comment: str = ""
    """The prefix of comment lines, which are not rows."""
    follow: bool = False
    """Whether the log is a growing file, which is read until the run is stopped."""

    steps: bool = _of(PIPELINES, default=False)
    """Whether a step without output has a row, too, without events."""
    integers: Integer | None = _of(PIPELINES, flag="-N")
    """The domain of `int`; without it, the numbers of the backend."""
    check_contracts: bool = _of(PIPELINES, default=False)
    """Whether the first step that breaks an assumption or a guarantee, also of a pipeline in it, ends the run."""
    fault: Sequence[str] = ()
    """Faults that may strike, in addition to those of the program."""
    seed: int | None = None
    """The seed of faults that strike at random."""
    rate: float | None = None
    """The probability that a fault strikes where it can."""
    threads: int | None = None
    """Number of threads."""
    processes: int | None = None
    """Number of worker processes for the copies of quantifiers, windows and slices."""
    why: int | None = None
    """Maximum number of explanations of why a quantifier is false."""
    html: str | None = None
    """The HTML page for the explanations."""
    phases: int | None = None
    """Maximum number of steps that run at the same time."""
    groups: bool = False
    """Whether a pipeline that is called in a pipeline runs as one vertex."""
    compiled: bool = False
    """Whether such pipelines run as machine code, where they can be compiled."""
    reassociate: bool = False
    """Whether float sums may be computed in another order, in several threads."""
    worker_backend: str | None = None
    """The engine of rules on Spark workers."""
    key: str | None = None
    """The key column: the program runs once for each of its values, and output rows have the key."""
    with_row: bool = _of(PIPELINES, default=False)
    """Whether output rows have a column `row` with the number of the row that caused them, counted from 1."""
    carry: str | Sequence[str] = _of(PIPELINES, ())
    """Columns of the log to copy to the output, from the row that caused each output row."""
    only_true: bool = _of(PIPELINES, default=False)
    """Whether to emit only rows in which an output is true."""
    state: str | Path | None = None
    """The state file: the run resumes from the state in it, and saves its own when it stops."""
    order: str | None = None
    """The column that orders the rows of a key."""
    master: str | None = None
    """The address of a Spark master."""
    stream: bool = False
    """Whether the input is a growing folder."""
    checkpoint: str = ""
    """The folder in which a stream saves its state."""
    once: bool = False
    """Whether a stream ends once all files that exist have been processed."""
    files: int | None = None
    """Maximum number of files that a stream takes at a time."""

    time: str | None = None
    """The time column, with which output rows begin; several logs are merged by it, and `late` puts rows in order."""
    time_unit: str | None = _of(TIMES)
    """The unit of numeric times."""
    time_format: str | None = None
    """The format of times, for `strptime`; `auto`, the default: detected. With it, dates in inputs of numbers are
    read as seconds since 1970."""
    year: int | None = _of(TIMES)
    """The year of times that have none; without it, the latest year in which they are not in the future."""
    late: str | int | float | None = _of(TIMES)
    """Allowed lateness: the time for which events are held back for out-of-order input."""
    late_output: str | Path | None = _of(TIMES)
    """The file for events beyond the allowed lateness."""
    infer: bool = _of(RULES, default=False)
    """Whether to infer undeclared types from the log."""
    infer_rows: int | None = _of(RULES)
    """Number of first rows from which types are inferred."""
    until: str | int | None = _of(CLOCKS)
    """The time to which the clock advances at the end."""
    facts: Mapping[str, Any] | Sequence[str] | str | Path = _of(FACTS, default=())
    """The rows of each type of facts, in any form of a log, or their files: a SQLite database, or `TYPE=FILE`."""
    facts_fixed: bool = _of(FACTS, default=False)
    """Whether databases of facts never change during the run, so that changes are not checked for."""
    facts_timeout: float | None = _of(FACTS)
    """Time limit of a query for facts, in seconds."""
    on_facts_failure: str | None = _of(FACTS)
    """The effect of a failed query for facts: `error` ends the run, `drop` discards the matches that need it, `retry`
    repeats it a few times."""
    facts_cache: str | None = _of(FACTS)
    """The eviction policy of a cache of database answers: `gds`, `gdsf`, `lru`, `sieve`, ...; default: no cache."""
    facts_cache_rows: int | None = _of(FACTS)
    """Maximum number of rows in a cache."""
    facts_cache_shared: bool = _of(FACTS, default=False)
    """Whether all predicates share one cache."""
    rules_control: Sequence[Mapping[str, Value]] | str | Path | None = _of(RULES)
    """Changes of rules over time, as rows or as a file."""
    with_sources: bool = _of(RULES, default=False)
    """Whether output rows have the events of their match."""
    passed: Sequence[str] = _of(RULES, (), "--pass")
    """The event types of the log that are copied to the output, among the composites."""
    compat: str | None = _of(RULES)
    """`trex`: the semantics of windows and consumption of T-Rex."""
    profile: bool = _of(RULES, default=False)
    """Whether to report the cost of each rule."""
    matches: str | None = _of(RULES)
    """`count`: the number of matches of each rule; `rows`: the numbers of their events; both in place of composites."""
    first: int | None = _of(RULES)
    """Maximum number of matches, with `matches="rows"`; the search stops there."""

    more: Mapping[str, Any] = field(default_factory=dict)
    """The values of further options that rows of backends declare, by name."""

    def value(self, name: str) -> Any:
        """Return the value of an option, also of one that only a backend declares; None where it is not given."""
        return getattr(self, name) if name in OPTIONS else self.more.get(name)

    def list_present(self, *flags: str) -> str:
        """List those of the options that have a value: `--seed, --rate`."""
        return ", ".join(flag for flag in flags if self._has(NAMES.get(flag, flag_name(flag))))

    def _has(self, name: str) -> bool:
        return bool(self.value(name) != (OPTIONS[name].default if name in OPTIONS else None))

    @property
    def written(self) -> dict[str, str | Path | None]:
        """The files that a run writes, by their options; None where an option is not given."""
        outputs = {f"--output {name}": file for name, file in dict(self.outputs).items()}
        return (outputs or {"--output": self.output}) | {flag: getattr(self, flag_name(flag)) for flag in _WRITTEN}

    def reading(self, program: Ported | None = None, follower: Follower | None = None) -> Reading:
        """Return the options for reading the log; for a program with a clock, with the time column.

        Parameters
        ----------
        follower: reads a log that is followed, where an earlier run has read some of it.

        Raises
        ------
        InputError: an option is invalid.
        """
        from workbench.events.text_options import resolve_reading

        null, nulls = nulls_of(self.null)
        header = self.header.split(",") if isinstance(self.header, str) and self.header else self.header
        reading = Reading(
            columns_of(self.columns), self.strict, null, str(self.bad_rows), self.head,
            format=self.format or format_of_options(*(each for each in SHAPES if getattr(self, each, None))),
            clock=self.clock(), dated=self.time_format is not None, header=tuple(map(str.strip, header)),
            pattern=self.pattern, xml=self.xml, nulls=nulls, delimiter=self.delimiter, quote=self.quote,
            decimal=self.decimal, thousands=self.thousands, encoding=self.encoding, skip_lines=self.skip_lines,
            comment=self.comment, follow=follower or (self.follower() if self.follow else None),
        )  # fmt: skip
        reading = resolve_reading(reading)
        if self.time is None or program is None:
            return reading
        times = {port.name: self.time for port in program.ports.inputs if port.clock}
        return replace(reading, columns={**times, **reading.columns})

    def follower(self, report: Callable[[str], object] = bool) -> Follower:
        """Return the reader of a log that is followed from its beginning."""
        from workbench.events.follow import Follower, find_followed_file

        return Follower(find_followed_file(self.input), report=report)

    def clock(self, late: str | int | float | None = None) -> Clock:
        """Return the parser of event times in the log; see `Clock`."""
        from workbench.events.clock import Clock

        lateness = None if late is None else str(late)
        return Clock(self.time or Clock.column, self.time_unit, lateness, self.time_format or Clock.format, self.year)


KINDS: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "str": ((str, PathLike), "a text"),
    "Path": ((PathLike,), "a path"),
    "int": ((Integral,), "a whole number"),
    "float": ((Real,), "a number"),
    "bool": ((bool, Integral), "True or False"),
    "Sequence": ((Sequence,), "a list"),
    "Mapping": ((Mapping,), "a dictionary"),
    "None": ((type(None),), ""),
}
"""For each kind of value in the types of `RunOptions`: the types of Python, and words for them."""
LEAST = {"head": 0, "seconds": 0, "memory_mb": 1, "infer_rows": 1, "threads": 1, "processes": 1}
"""The least values of options that are numbers."""


def check_value(name: str, value: Any) -> None:
    """Raise InputError if an option has a value of a wrong type, or a number that makes no sense."""
    # the types are texts: evaluating them would require imports of some names
    kinds = [each.partition("[")[0] for each in str(OPTIONS[name].type).split(" | ")]
    if not all(kind in KINDS for kind in kinds):
        return
    allowed = tuple(each for kind in kinds for each in KINDS[kind][0])
    if not isinstance(value, allowed) or (isinstance(value, bool) and "bool" not in kinds):
        words = " or ".join(dict.fromkeys(KINDS[kind][1] for kind in kinds if kind != "None"))
        more = f"; {TWO_COLUMNS}" if name == "key" else ""
        raise InputError(f"the option {name} cannot be {value!r}", hint=f"expected {words}{more}")
    if name in LEAST and value is not None and value < LEAST[name]:
        raise InputError(f"the option {name} cannot be {value!r}", hint=f"expected a number of at least {LEAST[name]}")


_WRITTEN = ("--bad-rows", "--late-output", "--html", "--state")
"""Options that name files to write, besides the output."""


def output_files(output: Any) -> dict[str, Any]:
    """Return the options `output` and `outputs`: one file, or files by output name.

    Parameters
    ----------
    output: a mapping of names to files, or a list of texts from a command line (`NAME=FILE`, or one `FILE`).

    Raises
    ------
    InputError: there are two files for one output or for all of them, or two outputs for one file.
    """
    if output is None or isinstance(output, str | Path):
        return {"output": output if output is None else str(output), "outputs": None}
    pairs = output.items() if isinstance(output, Mapping) else map(_split_named_file, output)
    files, names_by_path = dict[str, str](), dict[str, str]()
    for name, file in pairs:
        if name in files:
            raise InputError(f"two files for {f'output {name!r}' if name else 'all outputs'}: {files[name]} and {file}")
        files[name] = str(file)
        if (other := names_by_path.setdefault(os.path.realpath(file), name)) != name:
            raise InputError(f"one file for two outputs, {other} and {name}", where=str(file), hint="name another one")
    if [*files] == [""]:
        return {"output": files[""], "outputs": None}
    if "" in files or not files:
        hint = "--output NAME=FILE for each output, or --output FILE for all"
        raise InputError(f"no output is named for {files.get('', 'a file')}", hint=hint)
    return {"output": None, "outputs": files}


def _split_named_file(text: str) -> tuple[str, str]:
    """Split `NAME=FILE` into an output name and a file; a file for all outputs has the name ""."""
    name, equals, file = text.partition("=")
    return (name, file) if equals and name.isidentifier() else ("", text)


def flag_name(flag: str) -> str:
    """Return the Python name of an option: `with_row` of `--with-row`."""
    return flag.lstrip("-").replace("-", "_")


OPTIONS = {each.name: each for each in fields(RunOptions)}
"""The options by name."""
FLAGS = {name: each.metadata.get("flag") or f"--{name.replace('_', '-')}" for name, each in OPTIONS.items()}
"""Command-line flags of the options, by name."""
NAMES = {flag: name for name, flag in FLAGS.items()}
