"""The table of backends: everything that speaks of several of them reads it.

The rule of this module: a backend is one file in `executors/backends`, or in the folder `backends` of an extension,
with a `ROW`. Rows are read to show help, so a row imports what it runs when it runs.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
    flag_name,
    output_files,
)
from workbench.extensions import later, rows

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend, Oracle
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session
    from workbench.tesla.engines.engine import MakesEngine
    from workbench.tesla.engines.rule_split import RuleSplit


PIPELINE, RULE_SET = "pipeline", "rule set"
"""The kinds of programs that backends run."""
ALIASES = {"numba": "compiled", "parallel": "compiled"}
"""What backends were called, and are called now."""


@dataclass(frozen=True)
class BackendOption:
    """An option of `workbench run` that is for some backends only.

    Parameters
    ----------
    help: what it means to this backend; empty where the command declares it itself.
    how: what argparse is told of it; the type `positive` is a number from 1 on.
    kinds: the kinds of programs that it is for; none: all that its backend runs.
    """

    flag: str
    help: str = ""
    how: Mapping[str, Any] = field(default_factory=dict, compare=False)
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """What a backend is started with.

    Parameters
    ----------
    options: of the run; what is not given has a backend's own default.
    oracle: what makes faults strike.
    closing: what has to be closed when the run is over.
    stays: gives how many bytes stay of a file that is written: those of earlier runs, where this one goes on from them.
    say: tells the user something, beside the output.
    strike: tells of a fault that has struck.
    progress: a context that shows a text, or what a function returns, while something takes long.
    reporter: has the account of the rows of the log.
    """

    options: RunOptions = field(default_factory=RunOptions)
    oracle: Oracle | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    stays: Callable[[str | Path], int] | None = None
    say: Callable[[str], object] = lambda _: None
    strike: Callable[[str], object] = lambda _: None
    progress: Callable[..., Any] = nullcontext
    reporter: Reporter = field(default_factory=Reporter)

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option of a backend, the default where it is not given."""
        value = self.options.value(name)
        return default if value is None else value

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While a run is opened: what has been opened is closed where that fails."""
        with ExitStack() as unless:
            unless.push(self.closing)
            yield
            unless.pop_all()

    def progress_context(self) -> Any:
        """A context that shows how far the log is, unless the output is a terminal and nobody asks for that."""
        from workbench.events.files import is_terminal

        written = dict(self.options.outputs).values() or [self.options.output]
        quiet = any(map(is_terminal, written)) and not self.options.progress
        return nullcontext() if quiet else self.progress(self.reporter.account.progress)

    @property
    def live(self) -> bool:
        """Whether the log comes as somebody writes it."""
        from workbench.events.files import is_stream
        from workbench.events.inputs import list_named_files

        names = map(str, list_named_files(self.options.input) or ())
        return bool(self.options.follow) or any(is_stream(each) or is_stream(each.rpartition("=")[2]) for each in names)


@dataclass(frozen=True)
class RunSize:
    """What is known of a run before it begins.

    Attributes
    ----------
    rows: about how many rows its log has; 0 where nobody knows.
    rules: how many rules there are; 0 for a pipeline.
    threads: how many may work at a time.
    keyed: whether each key of the log has a run of its own.
    """

    rows: int = 0
    rules: int = 0
    threads: int = 1
    keyed: bool = False


@dataclass(frozen=True)
class BackendRow:
    """One backend.

    Parameters
    ----------
    name, what: what it is called, and what it does, in a line.
    make: makes it run a program, whose graph has what was chosen for it: a domain for `int`, capacities, faults; None
        where it runs none step by step.
    session: steps what has been made through a log.
    keyed: makes it run a program for each key of a log (`executors/keyed.py`), for `--key`.
    whole: runs a program on a whole log, and reads and writes it, all that `workbench run` would do.
    engine: starts it on rules, for the events of a log.
    undivided: why an engine runs rules in one thread where several are wanted; empty where it divides them.
    kinds: the kinds of programs that it runs, as `Program.kind` names them; who runs pipelines runs any graph.
    like: the form in which it runs processors (`core.processor.Form`); what they refuse to it, they refuse to this one.
    options: those of `workbench run` that are for this backend and not for all.
    lacks: by the kind of program, those that are for such programs, and not for it.
    instead: what to do where an option is not for it, beside leaving it out or taking another backend.
    needs: Python packages and programs that it cannot do without, and how each is installed.
    uses: those that it can do without.
    missing: what rules need that is not on this machine; nothing where they run.
    estimate: about how many seconds a run takes, for `auto`, which chooses the fastest; None: never this one.
    compared: how `conform` compares it; without a contender of its own, what it runs is compared step by step.
    rank: its place among the others.
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
    like: str = "reference"
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
        """Whether `workbench run` has it."""
        return any(each is not None for each in (self.make, self.whole, self.engine))

    @property
    def said(self) -> str:
        """What it does, and for which programs."""
        return f"{self.what} ({self.programs})"

    @property
    def programs(self) -> str:
        """The kinds of programs that it runs: `pipelines, rule sets`."""
        return ", ".join(f"{kind}s" for kind in self.kinds)

    def takes(self, kind: str, *, graph: bool = True) -> bool:
        """Whether it is for programs of this kind; `graph`: of which the graph is run, as that of a pipeline."""
        return kind in self.kinds or (graph and PIPELINE in self.kinds)

    def flags(self, kind: str) -> Iterator[str]:
        """Those of its options that are for programs of this kind."""
        return (option.flag for option in self.options if kind in (option.kinds or self.kinds))

    def has_option(self, flag: str, kind: str) -> bool:
        """Whether an option, of its own or of all backends, is for it where it runs programs of this kind."""
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
KEY = BackendOption("--key", "a run of its own for each value of this column", {"metavar": "COLUMN"})
STATE = BackendOption("--state", "resume from the state in FILE; save it at the end", {"metavar": "FILE"})
PYTHON_SECONDS = 12e-6
"""About how long Python takes for a row of a pipeline, or for an event that a rule looks at."""
NUMBA = dict.fromkeys(("numba", "numpy", "pyarrow"), "pip install 'streamproof[fast]'")
"""What several backends have; `--fault` is an option of many commands."""


@functools.cache
def backend_rows() -> Mapping[str, BackendRow]:
    """The backends by name, in the order in which they are shown."""
    return rows("workbench.executors.backends")


def backend_row(name: str) -> BackendRow:
    """The backend of that name; PipelineError with a suggestion if there is none."""
    try:
        return backend_rows()[ALIASES.get(name, name)]
    except KeyError:
        raise PipelineError(f"there is no backend '{name}'", hint=did_you_mean(name, backend_rows())) from None


def rule_engines() -> Mapping[str, MakesEngine]:
    """The backends that run rules event by event, by name: what starts each."""
    return {name: row.engine for name, row in backend_rows().items() if row.engine is not None}


def engines_here() -> Mapping[str, MakesEngine]:
    """Those that run on this machine."""
    return {name: make for name, make in rule_engines().items() if not backend_row(name).missing()}


def option_flags() -> Iterable[str]:
    """The flags of the options that are for some backends only."""
    return dict.fromkeys(option.flag for row in backend_rows().values() for option in row.options)


def run_options(values: Mapping[str, Any], say: Callable[[str], object] = lambda _: None) -> RunOptions:
    """The options of a run that have these values; None and an empty list stand for what is not given.

    Parameters
    ----------
    say: reports names that are old.

    Raises
    ------
    InputError: there is no such option.
    """
    values = _rename_options(values, say)
    made = "more", "outputs"
    known = dict.fromkeys(name for name in (*OPTIONS, *map(flag_name, option_flags())) if name not in made)
    for name in values:
        refuse_unknown("option", name, known)
    values = {**values, **output_files(values.get("output"))}
    empty = [name for name, value in values.items() if value is None or (isinstance(value, list) and not value)]
    given = {name: value for name, value in values.items() if name not in empty}
    more = {name: given.pop(name) for name in given.keys() - OPTIONS.keys()}
    return RunOptions(**given, more=more)


def _rename_options(values: Mapping[str, Any], say: Callable[[str], object]) -> Mapping[str, Any]:
    """The same with the names of today."""
    found = dict(values)
    engine, backend = found.pop("engine", None), found.get("backend") or AUTO
    if engine is not None:
        if backend not in (AUTO, engine, "spark"):
            raise InputError(f"two backends: {backend} and {engine}", hint="leave --engine out")
        say("what runs rules is a backend, too: --backend instead of --engine")
        found["worker_backend" if backend == "spark" else "backend"] = engine
    elif new := ALIASES.get(backend):
        say(f"the {backend} backend is called {new} now")
        found["backend"] = new
        if backend == "parallel" and found.get("threads") is None:
            found["threads"] = os.cpu_count()
    return found


def refuse_kind(row: BackendRow, program: Program, *, graph: bool = True) -> None:
    """Refused, with the backends that it is for, where a program is none for this one; see `BackendRow.takes`."""
    kind = program.kind
    if not row.takes(kind, graph=graph):
        others = ", ".join(each.name for each in backend_rows().values() if each.runs and each.takes(kind, graph=graph))
        only = row.programs.replace(", ", " and ")
        raise Refused(
            f"{kind} {program.name} is not supported by backend '{row.name}': it runs {only} only; available on:"
            f" {others}."
        )


def refuse_missing(row: BackendRow) -> None:
    """Refused where a Python package is not installed that a backend cannot do without."""
    for name, install in row.needs.items():
        if install.startswith("pip") and find_spec(name) is None:
            raise Refused(f"backend '{row.name}' needs the package {name}", hint=install)


def refuse_options(rows: Sequence[BackendRow], program: Program, options: RunOptions, *, graph: bool = True) -> None:
    """InputError, which says what they are for, where options are not for a program, or for none of some backends.

    Parameters
    ----------
    rows: what may run it; the message names the first one.
    graph: whether its graph is run, as that of a pipeline.
    """
    kind = PIPELINE if graph else RULE_SET
    for only in (PIPELINES, RULES, TIMES, CLOCKS, FACTS):
        flags = (FLAGS[each.name] for each in OPTIONS.values() if each.metadata.get("only") == only)
        applies = _applies(only, program, kind) or (only == TIMES and options.time is not None)
        if not applies and (foreign := options.given(*flags)):
            more = {PIPELINES: "", TIMES: ", or add --time COLUMN"}.get(only, ", or name a .tesla file")
            hint = f"leave it out{more}"
            raise InputError(f"for {only} only: {foreign}", hint=hint)
    row, own = rows[0], {flag for row in rows for flag in row.flags(kind)}
    lacks = row.lacks.get(kind, ())
    if foreign := options.given(*(flag for flag in option_flags() if flag not in own), *lacks):
        first = foreign.partition(",")[0]
        users = [f"--backend {each.name}" for each in backend_rows().values() if each.has_option(first, kind)]
        if not users:
            raise InputError(f"for {PIPELINES if kind == RULE_SET else RULES} only: {foreign}", hint="leave it out")
        users = users[:1] if first in lacks else users  # nearly all have what one lacks
        hint = row.instead.get(first) or f"leave it out, or add {' or '.join(users)}"
        raise InputError(f"not for the {row.name} backend: {foreign}", hint=hint)


def _applies(only: str, program: Program, kind: str) -> bool:
    """Whether a program is one of those that an option is for."""
    if kind == RULE_SET or only == PIPELINES:
        return (kind == PIPELINE) == (only == PIPELINES)
    clock = only in (TIMES, CLOCKS) and any(port.clock for port in program.ports.inputs)
    return clock or (only == FACTS and any(fact_types(program)))


def fact_types(program: Program) -> Iterator[str]:
    """The types of facts that rules in a pipeline look at."""
    from workbench.processors.held.group import Group

    for node in program.pipeline.nodes if program.kind == PIPELINE else ():
        if isinstance(node.processor, Group):
            yield from fact_types(node.processor.body)
        else:
            yield from getattr(node.processor, "looks_up", ())  # to ask for its class would import rules
