"""The table of backends: all code that handles several backends reads it.

The rule of this module: a backend is one file in `executors/backends`, or in the folder `backends` of an extension,
with a `ROW`. Rows are read to show help, so a row imports its implementation only when it runs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.core.form import Form
from workbench.errors import InputError, PipelineError, Refused, did_you_mean, refuse_unknown
from workbench.events.account import Reporter
from workbench.executors.run_options import (
    AUTO,
    CLOCKS,
    FACTS,
    FLAGS,
    OPTIONS,
    PIPELINES,
    RULES,
    TIMES,
    RunOptions,
    check_value,
    flag_name,
    output_files,
)
from workbench.extensions import later, rows
from workbench.extras import install_extra

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.events.follow import Follower
    from workbench.executors.backend import Backend, Oracle
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session
    from workbench.tesla.engines.engine import MakesEngine
    from workbench.tesla.engines.rule_split import RuleSplit


PIPELINE, RULE_SET = "pipeline", "rule set"
"""The kinds of programs that backends run."""
ALIASES = {"numba": "compiled", "parallel": "compiled"}
"""Former names of backends, and their current names."""


@dataclass(frozen=True)
class BackendOption:
    """An option of `workbench run` that only some backends have.

    Parameters
    ----------
    help: what it does in this backend; empty where the command declares it itself.
    how: keyword arguments for argparse; the type `positive` is a number from 1 on.
    kinds: the kinds of programs that it is for; empty: all kinds that its backend runs.
    """

    flag: str
    help: str = ""
    how: Mapping[str, Any] = field(default_factory=dict, compare=False)
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """The arguments with which a backend starts.

    Parameters
    ----------
    options: options of the run; one that is not given has the default of the backend.
    oracle: decides when faults strike.
    closing: resources to close at the end of the run.
    stays: returns the number of bytes of an output file to keep: those of the earlier runs that this run resumes.
    follower: reads the log that is followed, from where earlier runs have read it if this run resumes from them.
    report: shows the user a message, apart from the output.
    warn: shows a message that the output may not be the intended one.
    strike: reports a fault that has struck.
    progress: a context that shows a text, or the result of a function, during slow work.
    reporter: holds the account of the rows of the log.
    """

    options: RunOptions = field(default_factory=RunOptions)
    oracle: Oracle | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    stays: Callable[[str | Path], int] | None = None
    follower: Follower | None = None
    report: Callable[[str], object] = lambda _: None
    warn: Callable[[str], object] = lambda _: None
    strike: Callable[[str], object] = lambda _: None
    progress: Callable[..., Any] = nullcontext
    reporter: Reporter = field(default_factory=Reporter)

    def option(self, name: str, default: Any = None) -> Any:
        """Return the value of a backend option, or the default where it is not given."""
        value = self.options.value(name)
        return default if value is None else value

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Open a run: if that fails, close what has been opened."""
        with ExitStack() as unless:
            unless.push(self.closing)
            yield
            unless.pop_all()

    def follow(self) -> Start:
        """Begin to watch the log, if it is followed, until the run closes; return the start that reads it."""
        if not self.options.follow:
            return self
        follower = self.follower or self.options.follower(self.report)
        self.closing.enter_context(follower.watch())
        return replace(self, follower=follower)

    def await_log(self) -> None:
        """Wait until there is a file to follow."""
        if self.follower is not None:
            self.follower.await_file()

    def progress_context(self) -> Any:
        """Return a context that shows progress, unless output goes to a terminal without `--progress`."""
        from workbench.events.files import is_terminal

        written = dict(self.options.outputs).values() or [self.options.output]
        quiet = any(map(is_terminal, written)) and not self.options.progress
        return nullcontext() if quiet else self.progress(self.reporter.account.progress)

    @property
    def live(self) -> bool:
        """Whether the log is read while it is being written."""
        from workbench.events.files import is_stream
        from workbench.events.inputs import list_named_files

        names = map(str, list_named_files(self.options.input) or ())
        return self.options.follow or any(is_stream(each) or is_stream(each.rpartition("=")[2]) for each in names)


@dataclass(frozen=True)
class RunSize:
    """An estimate of a run before it begins.

    Attributes
    ----------
    rows: approximate number of rows in its log; 0 where unknown.
    rules: number of rules; 0 for a pipeline.
    threads: maximum number of threads that work at a time.
    keyed: whether each key of the log has a run of its own.
    """

    rows: int = 0
    rules: int = 0
    threads: int = 1
    keyed: bool = False


@dataclass(frozen=True)
class BackendRow:
    """A backend, as a row of the table.

    Parameters
    ----------
    name, what: its name, and a line that describes it.
    make: makes an executor of a program, in whose graph the choices of the run are set (a domain for `int`,
        capacities, faults); None where it runs no program step by step.
    session: opens the session that steps the executor through a log.
    keyed: opens a session that runs a program for each key of a log (`executors/keyed.py`), for `--key`.
    whole: runs a program on a whole log, reading and writing it, as `workbench run` does.
    engine: starts an engine of rules, for the events of a log.
    undivided: why an engine runs rules in one thread where several are requested; empty where it divides them.
    kinds: the kinds of programs that it runs, as `Program.kind` names them; one that runs pipelines runs any graph.
    form: the form in which it runs processors, which they may refuse.
    options: options of `workbench run` that only some backends have, this one included.
    lacks: by kind of program, the options for such programs that this backend does not support.
    instead: by option, the advice where it is not supported, besides leaving it out or choosing another backend.
    needs: required Python packages and programs, and how to install each.
    uses: optional ones.
    missing: returns the requirements of rules that this machine lacks; empty where they run.
    estimate: approximate seconds that a run takes, for `auto`, which chooses the fastest; None: never this one.
    compared: how `conform` compares it; without a contender of its own, step by step.
    rank: its position in lists.
    """

    name: str
    what: str
    make: Callable[[Program, Start], Backend] | None = None
    session: Callable[[Any, Start], Session] = later("workbench.executors.row_session", "step_session")
    keyed: Callable[[Program, Start, Partition], Session] | None = None
    whole: Callable[[Program, Start], None] | None = None
    engine: MakesEngine | None = None
    undivided: Callable[[RuleSplit], str] = lambda _: ""
    kinds: tuple[str, ...] = (PIPELINE,)
    form: Form = Form.VALUES
    options: tuple[BackendOption, ...] = ()
    lacks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    instead: Mapping[str, str] = field(default_factory=dict)
    needs: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, str] = field(default_factory=dict)
    missing: Callable[[], str] = str
    estimate: Callable[[RunSize], float] | None = None
    compared: str = "step by step"
    rank: int = 100

    @property
    def runs(self) -> bool:
        """Whether `workbench run` can use it."""
        return any(each is not None for each in (self.make, self.whole, self.engine))

    @property
    def description(self) -> str:
        """Description of the backend, with the kinds of programs that it runs."""
        return f"{self.what} ({self.programs})"

    @property
    def programs(self) -> str:
        """The kinds of programs that it runs: `pipelines, rule sets`."""
        return ", ".join(f"{kind}s" for kind in self.kinds)

    def takes(self, kind: str, *, graph: bool = True) -> bool:
        """Whether it runs programs of this kind; `graph`: whether their graph is run, as that of a pipeline."""
        return kind in self.kinds or (graph and PIPELINE in self.kinds)

    def flags(self, kind: str) -> Iterator[str]:
        """Return the flags of its own options for programs of this kind."""
        return (option.flag for option in self.options if kind in (option.kinds or self.kinds))

    def has_option(self, flag: str, kind: str) -> bool:
        """Whether it supports an option, its own or one of all backends, for programs of this kind."""
        own = flag in self.flags(kind)
        return own or (
            flag not in option_flags() and self.runs and kind in self.kinds and flag not in self.lacks.get(kind, ())
        )


_FAULTS = "let the faults of the file and of --fault strike at random, the same ones for the same N (default: 0)"
FAULTS = (
    BackendOption("--fault"),
    BackendOption("--seed", _FAULTS, {"type": int, "metavar": "N"}),
    BackendOption("--rate", "the probability that a fault strikes (default: 0.1)", {"type": float, "metavar": "P"}),
)
THREADS = {"type": "positive", "metavar": "N"}
PROCESSES = BackendOption(
    "--processes", "number of worker processes for the instances of quantifiers, windows and slices", THREADS
)
RULE_PROCESSES = BackendOption(
    "--threads", "number of worker processes, each with some of the rules (default: 1)", THREADS
)
KEY = BackendOption("--key", "run the program separately for each value of this column", {"metavar": "COLUMN"})
STATE = BackendOption("--state", "resume from the state in FILE; save it at the end", {"metavar": "FILE"})
PYTHON_SECONDS = 12e-6
"""Approximate time in seconds that Python takes for a row of a pipeline, or for an event that a rule examines."""
NUMBA = dict.fromkeys(("numba", "numpy", "pyarrow"), install_extra("fast"))
"""Packages that several backends need."""


@functools.cache
def backend_rows() -> Mapping[str, BackendRow]:
    """Return the backends by name, in display order."""
    return rows("workbench.executors.backends")


def backend_row(name: str) -> BackendRow:
    """Return the backend of that name; PipelineError with a suggestion if there is none."""
    try:
        return backend_rows()[ALIASES.get(name, name)]
    except KeyError:
        raise PipelineError(f"there is no backend '{name}'", hint=did_you_mean(name, backend_rows())) from None


def rule_engines() -> Mapping[str, MakesEngine]:
    """Return the backends that run rules event by event: name to the function that starts each."""
    return {name: row.engine for name, row in backend_rows().items() if row.engine is not None}


def engines_here() -> Mapping[str, MakesEngine]:
    """Return the rule engines that run on this machine."""
    return {name: make for name, make in rule_engines().items() if not backend_row(name).missing()}


def option_flags() -> Iterable[str]:
    """Return the flags of the options that only some backends have."""
    return dict.fromkeys(option.flag for row in backend_rows().values() for option in row.options)


def run_options(values: Mapping[str, Any], say: Callable[[str], object] = lambda _: None) -> RunOptions:
    """Return the options of a run with these values; None and an empty list mean "not given".

    Parameters
    ----------
    say: reports outdated names.

    Raises
    ------
    InputError: there is no such option.
    """
    values = _rename_options(values, say)
    internal_fields = "more", "outputs"
    known = dict.fromkeys(name for name in (*OPTIONS, *map(flag_name, option_flags())) if name not in internal_fields)
    for name in values:
        refuse_unknown("option", name, known)
    values = {**values, **output_files(values.get("output"))}
    empty = [name for name, value in values.items() if value is None or (isinstance(value, list) and not value)]
    options = {name: value for name, value in values.items() if name not in empty}
    more = {name: options.pop(name) for name in options.keys() - OPTIONS.keys()}
    for name, value in options.items():
        check_value(name, value)
    return RunOptions(**options, more=more)


def _rename_options(values: Mapping[str, Any], say: Callable[[str], object]) -> Mapping[str, Any]:
    """Replace outdated names of options and backends by the current ones."""
    options = dict(values)
    engine, backend = options.pop("engine", None), options.get("backend") or AUTO
    if engine is not None:
        if backend not in (AUTO, engine, "spark"):
            raise InputError(f"two backends: {backend} and {engine}", hint="leave out --engine")
        say("write --backend instead of --engine: engines of rules are backends")
        options["worker_backend" if backend == "spark" else "backend"] = engine
    elif new := ALIASES.get(backend):
        say(f"the {backend} backend is now called {new}")
        options["backend"] = new
        if backend == "parallel" and options.get("threads") is None:
            options["threads"] = os.cpu_count()
    return options


def refuse_kind(row: BackendRow, program: Program, *, graph: bool = True) -> None:
    """Refuse a program of a kind that the backend does not run, and name backends that do; see `BackendRow.takes`."""
    kind = program.kind
    if not row.takes(kind, graph=graph):
        others = ", ".join(each.name for each in backend_rows().values() if each.runs and each.takes(kind, graph=graph))
        only = row.programs.replace(", ", " and ")
        raise Refused(
            f"{kind} {program.name} is not supported by backend '{row.name}': it runs {only} only; available on:"
            f" {others}."
        )


def refuse_missing(row: BackendRow) -> None:
    """Refuse a backend for which a required Python package is not installed."""
    for name, install in row.needs.items():
        if "pip install" in install and find_spec(name) is None:
            raise Refused(f"backend '{row.name}' needs the package {name}", hint=install)


def refuse_options(rows: Sequence[BackendRow], program: Program, options: RunOptions, *, graph: bool = True) -> None:
    """Refuse options that are not for this program, or for no backend of `rows`; the InputError names their programs.

    Parameters
    ----------
    rows: backends that may run it; the message names the first one.
    graph: whether its graph is run, as that of a pipeline.
    """
    kind = PIPELINE if graph else RULE_SET
    for only in (PIPELINES, RULES, TIMES, CLOCKS, FACTS):
        flags = [FLAGS[each.name] for each in OPTIONS.values() if each.metadata.get("only") == only]
        if options.time_format is not None:  # dates in inputs of numbers may lack a year
            flags = [flag for flag in flags if flag != "--year"]
        applies = _applies(only, program, kind) or (only == TIMES and options.time is not None)
        if not applies and (foreign := options.list_present(*flags)):
            more = {PIPELINES: "", TIMES: ", or add --time COLUMN"}.get(only, ", or name a .tesla file")
            hint = f"leave it out{more}"
            raise InputError(f"for {only} only: {foreign}", hint=hint)
    row, own = rows[0], {flag for row in rows for flag in row.flags(kind)}
    lacks = row.lacks.get(kind, ())
    if foreign := options.list_present(*(flag for flag in option_flags() if flag not in own), *lacks):
        first = foreign.partition(",")[0]
        users = [f"--backend {each.name}" for each in backend_rows().values() if each.has_option(first, kind)]
        if not users:
            raise InputError(f"for {PIPELINES if kind == RULE_SET else RULES} only: {foreign}", hint="leave it out")
        users = users[:1] if first in lacks else users  # nearly all backends have an option that one lacks
        hint = row.instead.get(first) or f"leave it out, or add {' or '.join(users)}"
        raise InputError(f"not for the {row.name} backend: {foreign}", hint=hint)


def _applies(only: str, program: Program, kind: str) -> bool:
    """Whether a program is one of those that an option is for."""
    if kind == RULE_SET or only == PIPELINES:
        return (kind == PIPELINE) == (only == PIPELINES)
    clock = only in (TIMES, CLOCKS) and any(port.clock for port in program.ports.inputs)
    return clock or (only == FACTS and any(fact_types(program)))


def fact_types(program: Program) -> Iterator[str]:
    """Yield the types of facts that rules in a pipeline query."""
    for node in program.pipeline.nodes if program.kind == PIPELINE else ():
        yield from node.processor.fact_types
