"""The table of backends: everything that speaks of several of them reads it.

The rule of this module: a backend is one file in `executors/backends`, or in the folder `backends` of an extension,
with a `ROW`. Rows are read to show help, so a row imports what it runs when it runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError, PipelineError, Refused, did_you_mean
from workbench.events.reading import Tally
from workbench.executors.run_options import OPTIONS, RunOptions, flag_name
from workbench.extensions import rows

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend, Oracle
    from workbench.executors.keyed import KeyedColumns, KeyedSteps


@dataclass(frozen=True)
class BackendOption:
    """An option of `workbench run` that is for some backends only.

    Parameters
    ----------
    help: what it means to this backend; empty where the command declares it itself.
    how: what argparse is told of it; the type `positive` is a number from 1 on.
    """

    flag: str
    help: str = ""
    how: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Start:
    """What a backend is started with.

    Parameters
    ----------
    options: of the run; what is not given has a backend's own default.
    oracle: what makes faults strike.
    closing: what has to be closed when the run is over.
    say: tells the user something, beside the output.
    progress: a context that shows a text, or what a function returns, while something takes long.
    tally: is told what becomes of the rows of the log.
    """

    options: RunOptions = field(default_factory=RunOptions)
    oracle: Oracle | None = None
    closing: ExitStack = field(default_factory=ExitStack)
    say: Callable[[str], object] = lambda _: None
    progress: Callable[..., Any] = nullcontext
    tally: Tally = field(default_factory=Tally)

    def option(self, name: str, default: Any = None) -> Any:
        """The value of an option of a backend, the default where it is not given."""
        value = self.options.value(name)
        return default if value is None else value

    @property
    def live(self) -> bool:
        """Whether the log comes as somebody writes it."""
        from workbench.events.files import is_stream
        from workbench.events.inputs import named_files

        names = map(str, named_files(self.options.input) or ())
        return any(is_stream(each) or is_stream(each.rpartition("=")[2]) for each in names)


@dataclass(frozen=True)
class BackendRow:
    """One backend.

    Parameters
    ----------
    name, what: what it is called, and what it does, in a line.
    make: makes it run a program, whose graph has what was chosen for it: a domain for `int`, capacities, faults; None
        where it runs none step by step.
    keyed: makes what runs a program for each key of a log (`executors/keyed.py`), for `--key`.
    whole: runs a program on a whole log, and reads and writes it, all that `workbench run` would do.
    kinds: the kinds of programs that it runs, as `Program.kind` names them; none: all, by their graphs.
    like: the form in which it runs processors (`core.processor.Form`); what they refuse to it, they refuse to this one.
    options: those of `workbench run` that are for this backend and not for all.
    needs: Python packages and programs that it cannot do without, and how each is installed.
    uses: those that it can do without.
    compared: how `conform` compares it; without a contender of its own, what it runs is compared step by step.
    rank: its place among the others.
    """

    name: str
    what: str
    make: Callable[[Program, Start], Backend] | None = None
    keyed: Callable[[Program, Start], KeyedColumns | KeyedSteps] | None = None
    whole: Callable[[Program, Start], None] | None = None
    kinds: tuple[str, ...] = ()
    like: str = "reference"
    options: tuple[BackendOption, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    uses: Mapping[str, str] = field(default_factory=dict)
    compared: str = "step by step"
    rank: int = 100

    @property
    def runs(self) -> bool:
        """Whether `workbench run` has it."""
        return self.make is not None or self.whole is not None

    @property
    def said(self) -> str:
        """What it does, and for which programs, where it is not for all."""
        return f"{self.what} ({self.only})" if self.kinds else self.what

    @property
    def only(self) -> str:
        """The kinds of programs that it runs: `rule sets only`."""
        return f"{' and '.join(f'{kind}s' for kind in self.kinds)} only"

    def takes(self, kind: str) -> bool:
        """Whether it is for programs of this kind."""
        return not self.kinds or kind in self.kinds


_FAULTS = "let the faults of the file and of --fault strike at random, the same ones for the same N (default: 0)"
FAULTS = (
    BackendOption("--fault"),
    BackendOption("--seed", _FAULTS, {"type": int, "metavar": "N"}),
    BackendOption("--rate", "the probability that a fault strikes (default: 0.1)", {"type": float, "metavar": "P"}),
)
THREADS = {"type": "positive", "metavar": "N"}
PROCESSES = BackendOption(
    "--processes", "the copies of quantifiers, windows and slices in so many worker processes", THREADS
)
REASSOCIATE = BackendOption(
    "--reassociate",
    "in several threads floats may be added and multiplied in another order; results differ by rounding",
    {"action": "store_true"},
)
KEY = BackendOption("--key", "a run for each value of this column", {"metavar": "COLUMN"})
WITH_ROW = BackendOption("--with-row", "with --key, also the number of the row in the log", {"action": "store_true"})
KEYED = (KEY, WITH_ROW)
NUMBA = dict.fromkeys(("numba", "numpy", "pyarrow"), "pip install 'workbench[fast]'")
"""What several backends have; `--fault` is an option of many commands."""


@functools.cache
def backend_rows() -> Mapping[str, BackendRow]:
    """The backends by name, in the order in which they are shown."""
    return rows("workbench.executors.backends")


def backend_row(name: str) -> BackendRow:
    """The backend of that name; PipelineError with a suggestion if there is none."""
    try:
        return backend_rows()[name]
    except KeyError:
        raise PipelineError(f"there is no backend '{name}'", hint=did_you_mean(name, backend_rows())) from None


def option_flags() -> Iterable[str]:
    """The flags of the options that are for some backends only."""
    return dict.fromkeys(option.flag for row in backend_rows().values() for option in row.options)


def run_options(values: Mapping[str, Any]) -> RunOptions:
    """The options of a run that have these values; None and an empty list stand for what is not given.

    Raises
    ------
    InputError: there is no such option.
    """
    known = dict.fromkeys(name for name in (*OPTIONS, *map(flag_name, option_flags())) if name != "more")
    if unknown := next((name for name in values if name not in known), None):
        raise InputError(f"there is no option '{unknown}'", hint=did_you_mean(unknown, known))
    empty = [name for name, value in values.items() if value is None or (isinstance(value, list) and not value)]
    given = {name: value for name, value in values.items() if name not in empty}
    more = {name: given.pop(name) for name in given.keys() - OPTIONS.keys()}
    return RunOptions(**given, more=more)


def refuse_kind(row: BackendRow, program: Program) -> None:
    """Refused, with the backends that it is for, where a program is none for this one."""
    if not row.takes(program.kind):
        others = ", ".join(other.name for other in backend_rows().values() if other.runs and other.takes(program.kind))
        raise Refused(
            f"{program.ports.of} is not supported by backend '{row.name}': it runs {row.only}; available on: {others}."
        )


def refuse_missing(row: BackendRow) -> None:
    """Refused where a Python package is not installed that a backend cannot do without."""
    for name, install in row.needs.items():
        if install.startswith("pip") and find_spec(name) is None:
            raise Refused(f"backend '{row.name}' needs the package {name}", hint=install)


def refuse_foreign(row: BackendRow, options: RunOptions) -> None:
    """InputError where an option of another backend is given."""
    own = {option.flag for option in row.options}
    if foreign := options.given(*(flag for flag in option_flags() if flag not in own)):
        first, rows = foreign.partition(",")[0], backend_rows().values()
        users = (f"--backend {other.name}" for other in rows if any(option.flag == first for option in other.options))
        hint = f"leave it out, or add {' or '.join(users)}"
        raise InputError(f"not for the {row.name} backend: {foreign}", hint=hint)
