"""Functions that generated pipelines use, each with the Python source that makes it again.

The rule of this module: every function here has its Python source, so that a failing pipeline can be printed as
a program that builds it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

from workbench.core import maps, ops
from workbench.core.domain import BOOL, Range
from workbench.core.function import LIBRARY, Function
from workbench.core.lookup import read_item, write_item
from workbench.errors import PipelineError

_sources: WeakKeyDictionary[Function, str] = WeakKeyDictionary()


def _define(source: str, name: str, arity: int, build: Callable[..., Any], **options: Any) -> Function:
    """Return a function with the source that makes it again."""
    function = Function(name, arity, build, **options)
    _sources[function] = source
    return function


def fix_right(name: str, constant: Any) -> Function:
    """Return `x <name> constant`, a function of x."""
    base = LIBRARY[name]
    return _define(f"fix_right({name!r}, {constant!r})", f"{name} {constant}", 1, lambda a: base.build(a, constant))


def fix_left(name: str, constant: Any) -> Function:
    """Return `constant <name> x`, a function of x."""
    base = LIBRARY[name]
    return _define(f"fix_left({name!r}, {constant!r})", f"{constant} {name} _", 1, lambda a: base.build(constant, a))


def field(position: int) -> Function:
    """Return the function that takes a field of a tuple."""
    return _define(f"field({position})", f"field {position}", 1, lambda a: a[position])


def of_event(function: Function, variables: int = 1) -> Function:
    """Return a function of an event and ignored variables from a function of an event."""
    source = f"of_event({source_of(function)}, {variables})"
    return _define(source, function.name, 1 + variables, lambda a, *_: function.build(a))


def entry(key: Any, default: Any) -> Function:
    """Return the function that looks up a key in a map."""
    return _define(f"entry({key!r}, {default!r})", f"entry {key}", 1, lambda m: maps.get(m, key, default))


PAIR = _define("PAIR", "pair", 2, lambda a, b: (a, b))
ITSELF = _define("ITSELF", "itself", 1, lambda a: a)
NEIGHBOURS = _define("NEIGHBOURS", "neighbours", 1, lambda a: (a, ops.ADD(a, 1)))
SWAP = _define("SWAP", "swap", 1, lambda a: (a[1], a[0]))
NEVER = _define("NEVER", "never", 1, lambda _: False)
VARIABLE = _define("VARIABLE", "n", 2, lambda _, n: n)
UP = _define("UP", "up", 2, lambda _, n: ops.MIN(ops.ADD(n, 1), 2))
NEXT = _define("NEXT", "n + 1", 2, lambda _, n: ops.ADD(n, 1))
LOW = _define("LOW", "n != 2", 2, lambda _, n: ops.NE(n, 2))
TAKE = _define("TAKE", "n - x", 2, lambda x, n: ops.SUB(n, x))
ENOUGH = _define("ENOUGH", "n >= x", 2, lambda x, n: ops.GE(n, x))
COUNT = _define("COUNT", "count", 2, lambda total, _event: total + 1, start=0)
TURN = _define("TURN", "(n + 1) mod 3", 3, lambda _, _ring, n: ops.MOD(ops.ADD(n, 1), 3))
ITEM = _define("ITEM", "ring[ring[n]]", 3, lambda _, ring, n: read_item(ring, read_item(ring, n)))
BESIDE = _define("BESIDE", "ring[n + 1]", 3, lambda _, ring, n: read_item(ring, ops.ADD(n, 1)))
WRITE = _define("WRITE", "ring[n] := n", 3, lambda _, ring, n: write_item(ring, n, n))
COPY = _define(
    "COPY", "ring[n + 1] := ring[n]", 3, lambda _, ring, n: write_item(ring, ops.ADD(n, 1), read_item(ring, n))
)
STEP = _define(
    "STEP", "ring[n] := ring[n] + 1", 3, lambda _, ring, n: write_item(ring, n, ops.ADD(read_item(ring, n), 1))
)
HALF = _define("HALF", "half", 1, lambda a: ops.LE(LIBRARY["/"](a, 2), 0.5))
"""A condition with a fraction inside: a table in models."""
FIRST = _define("FIRST", "first", 2, lambda a, _: a)
SECOND = _define("SECOND", "second", 2, lambda _, b: b)
REVERSED = _define("REVERSED", "reversed difference", 2, lambda a, b: ops.SUB(b, a))
WIGGLE = _define("WIGGLE", "wiggle", 1, lambda a: (3 * int(a) + 1) % 4, opaque=True, result=Range(0, 3))
"""An opaque function of a number or bool: the model tabulates it."""
CLASH = _define("CLASH", "clash", 2, lambda a, b: (2 * int(a) + int(b)) % 3 == 0, opaque=True, result=BOOL)
"""An opaque condition on two numbers or bools."""
MIX = _define("MIX", "mix", 2, lambda a, b: (2 * int(a) + int(b)) % 4, opaque=True, result=Range(0, 3))
"""An opaque function to accumulate with, which is neither associative nor commutative."""


def unknown(name: str) -> Function:
    """Raise PipelineError; in a printed program it stands for a function whose source is unknown."""
    raise PipelineError(f"the source of the function '{name}' is not known", hint=f"replace unknown({name!r}) by it")


def source_of(function: Function) -> str:
    """Return the Python source that makes the function again."""
    if function in _sources:
        return _sources[function]
    if LIBRARY.get(function.name) is function:
        return f"LIBRARY[{function.name!r}]"
    return f"unknown({function.name!r})"
