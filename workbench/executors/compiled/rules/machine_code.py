"""The kernel of rules as object files. Imports numba.

The rule of this module: the kernel is compiled unchanged. Its functions call each other by global names, so each is
copied with globals in which these names are compiled functions. Tables are passed by reference.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# numba has no types.

from __future__ import annotations

from typing import Any

import numba

from workbench.executors.compiled.code.kernels import compile_entry, cycles, soon
from workbench.executors.compiled.code.link_time import Linked, compile_once, keep_apart
from workbench.executors.compiled.code.linking import link_functions
from workbench.executors.compiled.code.objects import Kinds, ObjectFile
from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.code.table_references import TableArray, TablesType
from workbench.executors.compiled.rules.compiling import ENTRIES
from workbench.executors.compiled.rules.kernel import (
    candidates,
    consumption,
    hash_tables,
    index,
    match,
    memory_prefetch,
    process,
    search,
    triggers,
    undo,
    values,
)
from workbench.executors.compiled.rules.kernel.profile import ticks
from workbench.executors.compiled.rules.records import ArrayKind, array_kind, array_kinds

OPTIONS = {
    "_nrt": False, "error_model": "numpy", "pipeline_class": Linked,
    "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
}  # fmt: skip
"""Compiler options: the kernel allocates nothing, so nothing counts references; and division does not raise."""

_HOT = (candidates, consumption, hash_tables, index, match, memory_prefetch, process, search, triggers, undo, values)
INLINED = tuple(each.__name__ for each in _HOT)
"""Modules whose functions every event needs: they are inlined, except long functions with many callers."""
APART = (values.operate, values.product_fits)
"""Functions that few rules need: compiled so that they use no registers of the code around their calls."""
CALLED = (candidates.sort_words, candidates.sift_down, values.evaluate_code, undo.roll_back, *APART)


def object_file(source: str, kinds: Kinds) -> ObjectFile:
    """Compile an entry of the kernel."""
    del kinds  # they are those of the entry
    function = executable(source, {})
    linked = link_functions(function, _compile, {ticks: cycles, memory_prefetch.fetch: soon})

    def entry(*arguments):
        linked(*arguments)
        return 0

    return compile_entry(
        numba.njit(entry, **OPTIONS), map(_parameter_type, ENTRIES[function]), long_loops=False, **OPTIONS
    )


def _parameter_type(parameter: Any) -> Any:
    """Return the type of a parameter: a number, tables by reference, or an array."""
    if parameter is int:
        return numba.int64
    if isinstance(parameter, type):
        arrays = array_kinds(parameter).items()
        return TablesType(parameter.__name__, {name: _array_type(kind) for name, kind in arrays})
    return _array_type(array_kind(parameter))


def _array_type(kind: ArrayKind) -> Any:
    return TableArray(numba.from_dtype(kind.dtype), kind.axes, "C" if kind.contiguous else "A")


def _compile(copied: Any, function: Any) -> Any:
    """Compile a function of the kernel with numba."""
    if function in APART:
        keep_apart(copied)
    inlined = function.__module__ in INLINED and function not in CALLED
    return compile_once(numba.njit(copied, **OPTIONS, forceinline=inlined))
