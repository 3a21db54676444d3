"""What generated code calls, compiled, and the way from its source to machine code: imports numba.

Rule: a test for overflow may be true too often, at most by a false alarm near the ends, never too seldom. Whoever
calls the loop looks again, in exact arithmetic, before it believes one.
"""

# mypy: allow-untyped-defs
# numba finds the types: integers are int64, floats float64.

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numba import types
from numba.extending import intrinsic

from workbench.errors import InputError
from workbench.events.files import replacing
from workbench.executors.compiled.code.loop import executable
from workbench.executors.compiled.lower.tables import DIRECT, SCATTER
from workbench.stored import FORM

NEARLY = 9.22337203685477e18
"""A little less than 2**63: the product of two floats is off by three parts in 2**53."""


FAR = 2.0**63
"""Where floats begin that no word holds."""


@numba.njit(nogil=True)
def at(position):
    """An index; numbers that are not signed need no test for indexing from the end."""
    return np.uintp(position)


@numba.njit(nogil=True)
def room(array):
    """How many entries an output can have: one place more is there to be written to."""
    return len(array) - 1


def _sum_overflows(a, b):
    """Whether a + b leaves 64 bits: both have another sign than it (Hacker's Delight, 2-13)."""
    total = a + b
    return ((a ^ total) & (b ^ total)) < 0


def _difference_overflows(a, b):
    """Whether a - b leaves 64 bits."""
    difference = a - b
    return ((a ^ b) & (a ^ difference)) < 0


def _product_overflows(a, b):
    """Whether a * b leaves 64 bits, or nearly does."""
    return abs(np.float64(a) * np.float64(b)) > NEARLY


def _flag(operation: str) -> Any:
    """Whether an operation on two words overflows, as the processor says itself: half the cost of a formula."""

    def overflows(context, a, b):
        del context, a, b

        def code(_, builder, __, args):
            return builder.extract_value(getattr(builder, operation)(*args), 1)

        return types.boolean(types.int64, types.int64), code

    return intrinsic(overflows)


sum_overflows, difference_overflows = _flag("sadd_with_overflow"), _flag("ssub_with_overflow")
product_overflows = _flag("smul_with_overflow")


@numba.njit(nogil=True)
def quotient_overflows(a, b):
    """Whether a div b leaves 64 bits."""
    return (b == -1) & (a == -(2**63))


@numba.njit(nogil=True)
def int_same(number, x):
    """Whether a whole number is a float, exactly; never a NaN."""
    if -FAR <= x < FAR:
        return (np.int64(x) == number) & (np.float64(np.int64(x)) == x)
    return False


@numba.njit(nogil=True)
def int_below(number, x):
    """Whether a whole number is less than a float, exactly."""
    if -FAR <= x < FAR:
        whole = np.int64(x)  # towards 0
        return (number < whole) | ((number == whole) & (np.float64(whole) < x))
    return x >= FAR


@numba.njit(nogil=True)
def int_above(number, x):
    """Whether a whole number is greater than a float, exactly."""
    if -FAR <= x < FAR:
        whole = np.int64(x)
        return (number > whole) | ((number == whole) & (np.float64(whole) > x))
    return x < -FAR


@intrinsic
def pick(context, condition, then, otherwise):
    """`then if condition else otherwise` without a jump: which way it goes depends on data, and cannot be predicted.

    Where the compiler is left the choice it makes jumps of chains of conditionals, at a third of the speed.
    """
    del condition
    kind = context.unify_types(types.unliteral(then), types.unliteral(otherwise))

    def select(_, builder, __, args):
        chosen = builder.select(*args)
        chosen.set_metadata("unpredictable", builder.module.add_metadata([]))
        return chosen

    return kind(types.boolean, kind, kind), select


@numba.njit(nogil=True)
def find(used, keys, key):
    """The row of a key in a table, or the free one where it belongs; 0 where none is free. See `lower.tables`."""
    if np.uint64(key) < np.uint64(DIRECT):
        return np.int64(key) + 1
    size = np.uint64(len(used) - 1 - DIRECT)
    place = (((np.uint64(np.int64(key)) * np.uint64(SCATTER)) >> np.uint64(32)) * size) >> np.uint64(32)
    for _ in range(len(used) - 1 - DIRECT):
        row = place + np.uint64(1 + DIRECT)
        if (not used[row]) or keys[row] == key:
            return np.int64(row)
        place = (place + np.uint64(1)) & (size - np.uint64(1))
    return 0


@numba.njit(nogil=True)
def ordered(used, keys):
    """The rows of a table that are used, in the order of their keys."""
    rows: Any = np.flatnonzero(used[1:]) + 1
    return rows[np.argsort(keys[rows])]


SCOPE = {f.__name__: f for f in (at, find, ordered, room, quotient_overflows, int_same, int_below, int_above, pick)} | {
    "sum_overflows": sum_overflows,
    "difference_overflows": difference_overflows,
    "product_overflows": product_overflows,
}
"""What generated code calls."""

DEVICE = {f.__name__: f.py_func for f in (at, quotient_overflows, int_same, int_below, int_above)} | {
    f.__name__[1:]: f for f in (_sum_overflows, _difference_overflows, _product_overflows)
}
"""The same in plain Python, for other machines."""

HEADER = f"from {__name__} import {', '.join(SCOPE)}\n\n\n"


def machine_code(source: str) -> Any:
    """The function of a generated source, compiled when it is first called, and kept on disk for the next time."""
    try:
        function = _from_file(source)
    except (OSError, InputError):  # nowhere to keep it
        return numba.njit(nogil=True, error_model="numpy")(executable(source, SCOPE))
    return numba.njit(nogil=True, error_model="numpy", cache=True)(function)


def _from_file(source: str) -> Callable[..., Any]:
    """The function, imported from a file: numba keeps its machine code beside the file."""
    own = Path(__file__).read_text(encoding="utf-8")
    told = (str(FORM), numba.__version__, own, HEADER, source)  # the header names a module, which may have moved
    digest = hashlib.sha256("\0".join(told).encode()).hexdigest()[:32]
    path = cache_folder() / f"loop_{digest}.py"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as aside:
            aside.write_text(HEADER + source, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(f"workbench_loop_{digest}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # numba asks for it by its name
    spec.loader.exec_module(module)
    found: Callable[..., Any] = module.run
    return found


def cache_folder() -> Path:
    """Where sources and machine code are kept: `workbench/loops` in the user's cache; may be removed at any time."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "workbench" / "loops"
