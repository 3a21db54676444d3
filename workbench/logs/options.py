"""What `wb.run` is told beside a program and data, as the command line has it."""

from __future__ import annotations

import argparse
import functools
import logging
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from workbench.core.domain import Integer, Value
from workbench.core.program import Program
from workbench.errors import InputError, did_you_mean
from workbench.events.reading import Tally, reading_options
from workbench.executors.table import AUTO, Start, backend_options, given
from workbench.logs.pipeline_facts import fact_types

Place = str | Path
LOG = logging.getLogger("workbench")


class RunOptions(TypedDict, total=False):
    """How `run` runs: the options of `workbench run`, by their names there."""

    backend: str
    """`reference`, `numba`, `threaded`, ...; `auto`, the default: numba where it runs the program and the data are
    columns, else reference."""
    include: Sequence[str] | Sequence[Path]
    """Folders in which files may lie that a program in a file names, beside its own."""
    columns: Mapping[str, str] | Sequence[str]
    """The column for an input, or for a field of a record on one (`e.user`), where it is not called like that."""
    strict: bool
    """Whether columns that no input needs are an error."""
    null: str
    """`absent`: a null, a None or an empty cell is no event at this step; `error`: it is an error; `zero`: where other
    fields of its record are there, it is 0, false or the empty text."""
    bad_rows: str
    """What becomes of rows that cannot be read: `error`, `skip`, or the name of a file that they are written to."""
    head: int
    """How many rows are read at most."""
    format: str
    """Of files, where their names do not tell."""
    header: str | Sequence[str]
    """The columns of a CSV file without a line of names."""
    pattern: str
    """What each line of a text matches, with a named group for each column."""
    xml: str
    """The name of the elements of XML that are rows."""
    steps: bool
    """Whether a step in which nothing came out has a row, too, without events."""
    integers: Integer
    """What `int` is; without it, numbers as the backend has them."""
    fault: Sequence[str]
    """What may go wrong, beside what the program says."""
    seed: int
    """Of the faults that strike at random (reference, threaded, dataflow)."""
    rate: float
    """How likely a fault is to strike where it can."""
    threads: int
    """How many (threaded, dataflow, numba, parallel)."""
    processes: int
    """In how many worker processes the copies of quantifiers, windows and slices are (reference)."""
    why: int
    """How often the logger is told of which values a quantifier is false (reference)."""
    phases: int
    """The most steps on their way at once (dataflow)."""
    groups: bool
    """Whether what is in a pipeline that is called runs as one (dataflow)."""
    compiled: bool
    """The same as machine code, where numba takes it (dataflow)."""
    seconds: float
    """How long it may take."""
    memory_mb: int
    """By how many megabytes this process may grow."""
    reassociate: bool
    """Whether sums of floats may be made in another order (numba and parallel, in several threads)."""
    key: str
    """A column: the program runs once for each of its values, and rows of the answer have them."""
    with_row: bool
    """With `key`: a column `row` with the number of the row, counted from 1."""
    order: Sequence[str]
    master: str
    stream: bool
    checkpoint: str
    once: bool
    files: int
    engine: str
    """Of rules: `cdp`, `aip`, `compiled`, or `auto`, which chooses for the rules and the log."""
    time: str
    """Of rules: the column of times."""
    time_unit: str
    """Of rules: what the numbers in it count."""
    late: str
    """Of rules: how late events may come."""
    late_output: str
    """Of rules: the file of those that come later still."""
    until: str | int
    """Of rules: the time to which the clock moves in the end."""
    facts: Mapping[str, Iterable[Mapping[str, Value]]] | Sequence[str] | Place
    """Of rules: the rows of each type of facts, or their files: a SQLite database, or `TYPE=FILE`."""
    facts_fixed: bool
    """Of rules: whether no database of facts changes while they run, so that nobody looks."""
    facts_timeout: float
    """Of rules: how many seconds a query for facts may take."""
    on_facts_failure: str
    """Of rules: what becomes of a query for facts that fails: `error` ends the run, `drop` gives up the matches that
    asked, `retry` asks some times more."""
    facts_cache: str
    """Of rules: which answers of databases stay in memory: `gds`, `gdsf`, `lru`, `sieve`, ...; none without it."""
    facts_cache_rows: int
    """Of rules: how many rows the answers in a cache have, at most."""
    facts_cache_shared: bool
    """Of rules: whether all predicates have one cache."""
    rules_control: Sequence[Mapping[str, Value]] | Place
    """Of rules: how they change as time passes, as rows or their file."""
    with_sources: bool
    """Of rules: whether rows have the events of their match."""
    compat: str
    """Of rules: `trex` for windows and consumption as T-Rex has them."""
    profile: bool
    """Of rules: whether what each has cost is told to the logger."""
    matches: str
    """Of rules: `count` for how many matches each has, `rows` for the numbers of their events; no composites."""
    first: int
    """Of rules, with `matches="rows"`: how many matches at most; what comes behind them is not looked for."""


RULE_OPTIONS = (
    "engine", "time", "time-unit", "late", "late-output", "infer", "infer-rows", "until", "facts", "facts-fixed",
    "facts-timeout", "on-facts-failure", "facts-cache", "facts-cache-rows", "facts-cache-shared",
    "rules-control", "with-sources", "compat", "profile", "matches", "first",
)  # fmt: skip
"""Those of rules, as the command line spells them."""


CLOCK_OPTIONS = ("time", "time-unit")
"""Those of them that are for pipelines with a clock, too."""
FACT_OPTIONS = tuple(name for name in RULE_OPTIONS if "facts" in name)
"""Those that are for pipelines with rules that look at facts, too."""


def refuse_rule_options(options: argparse.Namespace, program: Program) -> None:
    """InputError where an option of rules is given for a pipeline, and it has no use for it."""
    taken: tuple[str, ...] = CLOCK_OPTIONS if any(port.clock for port in program.ports.inputs) else ()
    taken += FACT_OPTIONS if any(fact_types(program)) else ()
    if foreign := given(options, *(name for name in RULE_OPTIONS if name not in taken)):
        raise InputError(f"for rules only: {foreign}", hint="leave it out, or name a .tesla file")


def started(data: Any, output: Place | None, options: dict[str, Any]) -> Start:
    """The options as the command line has them."""
    names = {*RunOptions.__annotations__}
    if unknown := next(iter(options.keys() - names), None):
        raise InputError(f"there is no option '{unknown}'", hint=did_you_mean(unknown, names))
    own = {name: value for name, value in options.items() if name != "columns"}
    own["memory"] = options.get("memory_mb")
    own |= {"column": options.get("columns"), "input": data, "output": None if output is None else str(output)}
    return Start(argparse.Namespace(**{**_defaults(), **own}), say=LOG.info, tally=Tally(LOG.info))


@functools.cache
def _defaults() -> Mapping[str, Any]:
    """The options that are not given."""
    parser = argparse.ArgumentParser()
    parser.register("type", "positive", int)
    backend_options(parser)
    reading_options(parser)
    return {"steps": False, "fault": [], "integers": None, **vars(parser.parse_args([])), "backend": AUTO}
