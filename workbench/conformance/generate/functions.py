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
from workbench.core.function import LIBRARY, Function, user_function
from workbench.core.lookup import read_item, write_item
from workbench.errors import PipelineError

_sources: WeakKeyDictionary[Function, str] = WeakKeyDictionary()


def _parse_function(source: str, function: Function) -> Function:
    _sources[function] = source
    return function


def fix_right(name: str, constant: Any) -> Function:
    """Return `x <name> constant`, a function of x."""
    base = LIBRARY[name]
    return _parse_function(
        f"fix_right({name!r}, {constant!r})",
        Function(f"{name} {constant}", 1, lambda a: base.build(a, constant)),
    )


def fix_left(name: str, constant: Any) -> Function:
    """Return `constant <name> x`, a function of x."""
    base = LIBRARY[name]
    return _parse_function(
        f"fix_left({name!r}, {constant!r})",
        Function(f"{constant} {name} _", 1, lambda a: base.build(constant, a)),
    )


def field(position: int) -> Function:
    """Return the function that takes a field of a tuple."""
    return _parse_function(f"field({position})", Function(f"field {position}", 1, lambda a: a[position]))


def of_event(function: Function, variables: int = 1) -> Function:
    """Return a function of an event and ignored variables from a function of an event."""
    return _parse_function(
        f"of_event({source_of(function)}, {variables})",
        Function(function.name, 1 + variables, lambda a, *_: function.build(a)),
    )


def entry(key: Any, default: Any) -> Function:
    """Return the function that looks up a key in a map."""
    return _parse_function(
        f"entry({key!r}, {default!r})", Function(f"entry {key}", 1, lambda m: maps.get(m, key, default))
    )


PAIR = _parse_function("PAIR", Function("pair", 2, lambda a, b: (a, b)))
ITSELF = _parse_function("ITSELF", Function("itself", 1, lambda a: a))
NEIGHBOURS = _parse_function("NEIGHBOURS", Function("neighbours", 1, lambda a: (a, ops.ADD(a, 1))))
SWAP = _parse_function("SWAP", Function("swap", 1, lambda a: (a[1], a[0])))
NEVER = _parse_function("NEVER", Function("never", 1, lambda _: False))
VARIABLE = _parse_function("VARIABLE", Function("n", 2, lambda _, n: n))
UP = _parse_function("UP", Function("up", 2, lambda _, n: ops.MIN(ops.ADD(n, 1), 2)))
NEXT = _parse_function("NEXT", Function("n + 1", 2, lambda _, n: ops.ADD(n, 1)))
LOW = _parse_function("LOW", Function("n != 2", 2, lambda _, n: ops.NE(n, 2)))
TAKE = _parse_function("TAKE", Function("n - x", 2, lambda x, n: ops.SUB(n, x)))
ENOUGH = _parse_function("ENOUGH", Function("n >= x", 2, lambda x, n: ops.GE(n, x)))
COUNT = _parse_function("COUNT", Function("count", 2, lambda total, _event: total + 1, start=0))


TURN = _parse_function("TURN", Function("(n + 1) mod 3", 3, lambda _, _ring, n: ops.MOD(ops.ADD(n, 1), 3)))
ITEM = _parse_function("ITEM", Function("ring[ring[n]]", 3, lambda _, ring, n: read_item(ring, read_item(ring, n))))
BESIDE = _parse_function("BESIDE", Function("ring[n + 1]", 3, lambda _, ring, n: read_item(ring, ops.ADD(n, 1))))
WRITE = _parse_function("WRITE", Function("ring[n] := n", 3, lambda _, ring, n: write_item(ring, n, n)))
COPY = _parse_function(
    "COPY",
    Function("ring[n + 1] := ring[n]", 3, lambda _, ring, n: write_item(ring, ops.ADD(n, 1), read_item(ring, n))),
)
STEP = _parse_function(
    "STEP",
    Function("ring[n] := ring[n] + 1", 3, lambda _, ring, n: write_item(ring, n, ops.ADD(read_item(ring, n), 1))),
)

HALF = _parse_function("HALF", Function("half", 1, lambda a: ops.LE(LIBRARY["/"](a, 2), 0.5)))
"""A condition with a fraction inside: a table in models."""

FIRST = _parse_function("FIRST", Function("first", 2, lambda a, _: a))
SECOND = _parse_function("SECOND", Function("second", 2, lambda _, b: b))
REVERSED = _parse_function("REVERSED", Function("reversed difference", 2, lambda a, b: ops.SUB(b, a)))


def _opaque(name: str, call: Callable[..., Any], **options: Any) -> Function:
    return _parse_function(name, user_function(call, name=name.lower(), **options))


WIGGLE = _opaque("WIGGLE", lambda a: (3 * int(a) + 1) % 4, result=Range(0, 3), arity=1)
"""An opaque function of a number or bool: the model tabulates it."""

CLASH = _opaque("CLASH", lambda a, b: (2 * int(a) + int(b)) % 3 == 0, result=BOOL, arity=2)
"""An opaque condition on two numbers or bools."""


MIX = _opaque("MIX", lambda a, b: (2 * int(a) + int(b)) % 4, result=Range(0, 3), arity=2)
"""An opaque function to accumulate with, which is neither associative nor commutative."""


def unknown(name: str) -> Function:
    """Raise PipelineError; in a printed program it stands for a function whose source is unknown."""
    raise PipelineError(f"the source of the function '{name}' is not known", hint="write the function there")


def source_of(function: Function) -> str:
    """Return the Python source that makes the function again."""
    if function in _sources:
        return _sources[function]
    if LIBRARY.get(function.name) is function:
        return f"LIBRARY[{function.name!r}]"
    return f"unknown({function.name!r})"
