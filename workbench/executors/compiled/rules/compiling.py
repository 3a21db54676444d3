"""The kernel's entry functions, as plain Python or as machine code.

The rule of this module: an entry takes tables (named tuples of arrays), arrays and integers. Machine code gets the
addresses of table descriptors, which are rewritten only where a call has different tables from the last one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from operator import is_not
from pathlib import Path
from threading import Thread
from typing import Annotated, Any, NamedTuple

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop, compile_alone, run_aside
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.rules import kernel, records
from workbench.executors.compiled.rules.kernel.hash_tables import add_rows
from workbench.executors.compiled.rules.kernel.index import rebuild_chains
from workbench.executors.compiled.rules.kernel.process import run
from workbench.executors.compiled.rules.kernel.trigger_batch import join_events
from workbench.executors.compiled.rules.records import ArrayKind, array_kind, array_kinds

NOTICE = "compiling the kernel of rules, once for this machine and version: up to twenty seconds"
SHORT_RUN, LONG_RUN = 1024, 4096
"""Numbers of events above which loading machine code pays off, and compiling it."""


class KernelFunctions(NamedTuple):
    """The entry functions of the kernel."""

    run: Callable[..., Any]
    rebuild_chains: Callable[..., Any]
    add_rows: Callable[..., Any]
    join_events: Callable[..., Any]


COMPILERS = (
    f"{__package__}.machine_code", __name__,
    *(f"{MachineLoop.__module__.rpartition('.')[0]}.{each}" for each in ("link_time", "linking", "table_references")),
)  # fmt: skip
"""The module that compiles the kernel, and those on which the machine code depends."""

PLAIN = KernelFunctions(run, rebuild_chains, add_rows, join_events)
"""The kernel in plain Python: some 100 us per event."""

ENTRIES: Mapping[Callable[..., Any], tuple[Any, ...]] = {
    run: (
        records.PlanTables, records.EventHistory, records.Scratch, Annotated[Any, records.STATE], records.EventWords,
        records.CompositeWords, records.CompositeWords,
    ),
    rebuild_chains: (records.EventHistory, int),
    add_rows: (records.WordMatrix, records.WordMatrix, int),
    join_events: (
        records.PlanTables, records.EventHistory, records.Scratch, Annotated[Any, records.STATE], records.EventWords,
        Annotated[Any, records.TRIGGER], int,
    ),
}  # fmt: skip
"""The parameters of each entry: classes of tables, annotations of arrays, or `int`."""


def compile_functions() -> KernelFunctions:
    """Return the kernel as machine code, for the arrays of one running rule set.

    It is compiled once per machine and version; a line on stderr reports that.
    """
    return KernelFunctions(*map(EntryCall, PLAIN))


class PassedArgument(NamedTuple):
    """An argument as machine code gets it: itself, or the address of array descriptors, which are kept alive here."""

    value: Any
    descriptors: Any = None


class EntryCall:
    """A callable that runs an entry as machine code.

    Parameters
    ----------
    entry: the entry in plain Python.
    """

    def __init__(self, entry: Callable[..., Any]) -> None:
        self._entry, self._parameters = entry, ENTRIES[entry]
        self._arguments: tuple[Any, ...] = (None,) * len(self._parameters)
        self._passed = [PassedArgument(None)] * len(self._parameters)
        self._call: Callable[[], object] = int

    def __call__(self, *arguments: Any) -> None:
        if any(map(is_not, arguments, self._arguments)):
            self._bind(arguments)
        self._call()

    def _bind(self, arguments: tuple[Any, ...]) -> None:
        """Bind the arguments of the next calls; arguments of the previous call keep their descriptors."""
        known = {id(each): passed for each, passed in zip(self._arguments, self._passed, strict=True)}
        for argument, parameter in zip(arguments, self._parameters, strict=True):
            if id(argument) not in known:
                known[id(argument)] = _pass_argument(argument, parameter)
        self._passed = [known[id(each)] for each in arguments]
        words = [each.value for each in self._passed]
        loop = _machine_loop(self._entry)
        if self._call is int and self._entry is run and not loop.ready(words):
            print(NOTICE, file=sys.stderr, flush=True)
        self._call, self._arguments = loop.bound(*words), arguments


def _pass_argument(argument: Any, parameter: Any) -> PassedArgument:
    """Convert an argument for machine code; descriptors have numba's layout."""
    if parameter is int:
        return PassedArgument(argument)
    if not isinstance(argument, tuple):
        _check_kind(argument, array_kind(parameter), "an argument")
        # Without the view, numpy would describe each field of a record whenever it is asked for the address.
        named = argument.dtype.names is not None
        return PassedArgument(argument.view(np.ndarray).view(f"V{argument.itemsize}") if named else argument)
    words = list[int]()
    for (name, kind), array in zip(array_kinds(parameter).items(), argument, strict=True):
        _check_kind(array, kind, name)
        counted = (0, 0)  # meminfo and parent, which count references
        words += (*counted, array.size, array.itemsize, _address(array), *array.shape, *array.strides)
    descriptors = np.array(words)
    return PassedArgument(_address(descriptors), descriptors)


def _check_kind(array: Any, kind: ArrayKind, name: str) -> None:
    if not kind.describes(array):
        raise TypeError(f"{name} is not an array of {kind}")


def _address(array: Any) -> int:
    address: int = array.__array_interface__["data"][0]
    return address


def is_cached() -> bool:
    """Whether the kernel has been compiled; loads it if so."""
    return _machine_loop(run).ready(_examples(run))


def is_startable(events: int) -> bool:
    """Whether machine code of the kernel is available, and pays off for this number of events.

    No run waits for a compiler: where compiling pays off, another process compiles the kernel and stores it.
    """
    if events <= SHORT_RUN:
        return False
    if is_cached():
        return True
    return events > LONG_RUN and not _compilation().is_alive()  # where nothing can be stored, this process compiles it


@cache
def _compilation() -> Thread:
    """Start the thread that waits for the compiler, once per process."""
    print(f"{NOTICE}; cdp computes meanwhile", file=sys.stderr, flush=True)
    thread = Thread(target=compile_aside, daemon=True)
    thread.start()
    return thread


def compile_aside() -> None:
    """Let another process compile and cache the kernel."""
    run_aside(f"from {__name__} import compile_entries; compile_entries()")


def compile_entries() -> None:
    """Compile the kernel and the functions that rebuild its tables; the kernel comes last."""
    compile_alone([(_machine_loop(entry), _examples(entry)) for entry in (rebuild_chains, add_rows, run)])


def _examples(entry: Callable[..., Any]) -> list[Any]:
    """Return example arguments of an entry, in the form that machine code gets."""
    kinds = (None if isinstance(each, type) else array_kind(each) for each in ENTRIES[entry])
    return [0 if kind is None else np.zeros((1,) * kind.axes, kind.dtype) for kind in kinds]


@cache
def _machine_loop(entry: Callable[..., Any]) -> MachineLoop:
    """Return an entry as machine code."""
    names = [f"{kernel.__name__}.{path.stem}" for path in sorted(Path(str(kernel.__file__)).parent.glob("*.py"))]
    return MachineLoop(code_of(entry.__module__, entry.__name__, records.__name__, *COMPILERS, *names), COMPILERS[0])
