"""The kernel's entries, as plain Python or compiled by numba.

The rule of this module: the kernel is compiled as it stands. Its functions call each other by global names, so each is
copied with globals in which these names are compiled functions. An entry's name has a checksum of the kernel's source,
since numba's cache sees changes of an entry's own file only.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

from workbench.executors.compiled.rule_tables import kernel, records
from workbench.executors.compiled.rule_tables.kernel import collected, exact_sums, nodes, reals, silence, texts, waiting
from workbench.executors.compiled.rule_tables.kernel.ahead import fetch
from workbench.executors.compiled.rule_tables.kernel.consumption import add_words
from workbench.executors.compiled.rule_tables.kernel.index import rebuild_chains
from workbench.executors.compiled.rule_tables.kernel.process import run
from workbench.executors.compiled.rule_tables.kernel.profile import ticks
from workbench.executors.compiled.rule_tables.kernel.silence import add_silences
from workbench.stored import checksum

OPTIONS = {"_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}
"""The kernel allocates nothing, so nothing counts references; and division does not raise."""
INLINED = {"forceinline": True, "no_cpython_wrapper": True}
"""How entries take what they call: inlined by LLVM, for numba passes tuples of arrays by value, some 190 words a call;
and without what Python would call it by, which would take as long to compile again."""

APART = tuple(each.__name__ for each in (collected, exact_sums, nodes, reals, silence, texts, waiting))
"""Modules whose functions take few words, or serve few plans, and so are called: inlined they would be compiled again
wherever they are."""
NOTICE = "compiling the kernel of rules, once for this machine and version: up to a minute"


class KernelFunctions(NamedTuple):
    """The entries of the kernel."""

    run: Any
    rebuild_chains: Any
    add_words: Any
    add_silences: Any


PLAIN = KernelFunctions(run, rebuild_chains, add_words, add_silences)
"""The kernel in plain Python: some 200 us for an event."""


@cache
def compiled_functions() -> KernelFunctions:
    """The kernel as machine code.

    It is compiled once for a machine and version, which a line on stderr says; then numba's cache has it.
    """
    from workbench.executors.compiled.code.numba_cache import cache_folder, drop_unreadable

    folder = cache_folder(PLAIN.run)
    if folder is not None:
        drop_unreadable(folder, tuple(Path(each.__code__.co_filename).stem for each in PLAIN))
        _drop_outdated(folder)
    if folder is None or not any(folder.glob(f"*.{PLAIN.run.__name__}_{_source_mark()}*")):
        print(NOTICE, file=sys.stderr, flush=True)
    return KernelFunctions(*(_compile_entry(each, folder is not None) for each in PLAIN))


def _compile_entry(entry: FunctionType, cached: bool) -> FunctionType:
    import numba

    from workbench.executors.compiled.code.kernels import cycles

    intrinsics: dict[Any, Any] = {ticks: cycles}
    linked = _link(entry, intrinsics)
    linked.__qualname__ = f"{entry.__name__}_{_source_mark()}"
    compiled: FunctionType = numba.njit(linked, cache=cached, nogil=True, **OPTIONS)
    return compiled


def _link(function: FunctionType, known: dict[FunctionType, Any]) -> FunctionType:
    """A copy of a function that calls compiled functions of the kernel."""
    import numba

    from workbench.executors.compiled.code.kernels import soon

    names = dict(function.__globals__)
    for name in function.__code__.co_names:
        called = names.get(name)
        if isinstance(called, FunctionType) and called.__module__.startswith(kernel.__name__):
            if called is fetch:
                known[called] = soon
            if called not in known:
                options = {} if called.__module__ in APART else INLINED
                known[called] = numba.njit(_link(called, known), **OPTIONS, **options)
            names[name] = known[called]
    copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
    copied.__module__ = function.__module__
    return copied


def _drop_outdated(folder: Path) -> None:
    """Remove machine code of earlier sources of the kernel."""
    for entry in PLAIN:
        for path in folder.glob(f"*.{entry.__name__}_*.nb?"):
            if _source_mark() not in path.name:
                path.unlink(missing_ok=True)


@cache
def _source_mark() -> str:
    """A checksum of all source that becomes part of the kernel."""
    files = [Path(str(records.__file__)), *sorted(Path(str(kernel.__file__)).parent.glob("*.py"))]
    return checksum(b"".join(each.read_bytes() for each in files)).hex()[:16]
