"""The kernel's entries, as plain Python or as machine code.

The rule of this module: an entry takes tables (named tuples of arrays), arrays and whole numbers. Machine code is given
the address of the descriptors of tables; these are written anew only where the tables are others than at the last call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cache
from operator import is_not
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.rule_tables import kernel, records
from workbench.executors.compiled.rule_tables.kernel.consumption import add_words
from workbench.executors.compiled.rule_tables.kernel.index import rebuild_chains
from workbench.executors.compiled.rule_tables.kernel.process import run
from workbench.executors.compiled.rule_tables.kernel.silence import add_silences
from workbench.executors.compiled.rule_tables.kernel.stretch import join_events
from workbench.executors.compiled.rule_tables.records import array_kinds

NOTICE = "compiling the kernel of rules, once for this machine and version: up to twenty seconds"


class KernelFunctions(NamedTuple):
    """The entries of the kernel."""

    run: Callable[..., Any]
    rebuild_chains: Callable[..., Any]
    add_words: Callable[..., Any]
    add_silences: Callable[..., Any]
    join_events: Callable[..., Any]


COMPILERS = (
    f"{__package__}.machine_code", __name__,
    *(f"{MachineLoop.__module__.rpartition('.')[0]}.{each}" for each in ("link_time", "table_references")),
)  # fmt: skip
"""The module that compiles the kernel, and those that decide with it what becomes of it."""

PLAIN = KernelFunctions(run, rebuild_chains, add_words, add_silences, join_events)
"""The kernel in plain Python: some 200 us for an event."""

Silences, SilenceWords = Annotated[Any, records.SILENCE], Annotated[Any, records.WORD, 2]
ENTRIES: Mapping[Callable[..., Any], tuple[Any, ...]] = {
    run: (
        records.PlanTables, records.EventHistory, records.Scratch, Annotated[Any, records.STATE], records.EventWords,
        records.CompositeWords, records.CompositeWords,
    ),
    rebuild_chains: (records.EventHistory, int),
    add_words: (records.Words, records.Words),
    add_silences: (Silences, SilenceWords, Silences, SilenceWords),
    join_events: (
        records.PlanTables, records.EventHistory, records.Scratch, Annotated[Any, records.STATE], records.EventWords,
        Annotated[Any, records.TRIGGER], int,
    ),
}  # fmt: skip
"""The parameters of each entry: classes of tables, annotations of arrays, or whole numbers."""


def compiled_functions() -> KernelFunctions:
    """The kernel as machine code, for the arrays of one running rule set.

    It is compiled once for a machine and version, which a line on stderr says.
    """
    return KernelFunctions(*map(EntryCall, PLAIN))


class EntryCall:
    """Calls an entry as machine code.

    Parameters
    ----------
    entry: the same in plain Python.
    """

    def __init__(self, entry: Callable[..., Any]) -> None:
        self._entry, parameters = entry, ENTRIES[entry]
        self._arguments: tuple[Any, ...] = (None,) * len(parameters)
        self._passed: list[Any] = [None] * len(parameters)
        self._call: Callable[[], object] = int

    def __call__(self, *arguments: Any) -> None:
        if any(map(is_not, arguments, self._arguments)):
            self._bind(arguments)
        self._call()

    def _bind(self, arguments: tuple[Any, ...]) -> None:
        """Let the next call have other arguments."""
        for k, (argument, last) in enumerate(zip(arguments, self._arguments, strict=True)):
            if argument is not last:
                self._passed[k] = _describe_arrays(argument) if isinstance(argument, tuple) else argument
        loop = _machine_loop(self._entry)
        passed = [
            each.ctypes.data if isinstance(argument, tuple) else each
            for each, argument in zip(self._passed, arguments, strict=True)
        ]
        if self._entry is run and not loop.ready(passed):
            print(NOTICE, file=sys.stderr, flush=True)
        self._call, self._arguments = loop.bound(*passed), arguments


def _describe_arrays(tables: Any) -> Any:
    """The descriptors of arrays as numba has them: two words that only counting references needs, then where it is."""
    words, named_tuple = list[int](), cast(Any, type(tables))
    for (name, kind), array in zip(array_kinds(named_tuple).items(), tables, strict=True):
        if not kind.describes(array):
            raise TypeError(f"{named_tuple.__name__}.{name} is no array of {kind}")
        words += [0, 0, array.size, array.itemsize, array.ctypes.data, *array.shape, *array.strides]
    return np.array(words)


@cache
def _machine_loop(entry: Callable[..., Any]) -> MachineLoop:
    """An entry as machine code."""
    names = [f"{kernel.__name__}.{path.stem}" for path in sorted(Path(str(kernel.__file__)).parent.glob("*.py"))]
    return MachineLoop(code_of(entry.__module__, entry.__name__, records.__name__, *COMPILERS, *names), COMPILERS[0])
