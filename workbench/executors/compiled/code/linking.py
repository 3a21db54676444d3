"""Functions of a package that are compiled unchanged: each is copied with globals in which its callees are compiled."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any


def link_functions(function: Any, compiled: Callable[[Any, Any], Any], known: dict[Any, Any]) -> Any:
    """Compile a function and the functions of its package that it calls, which find each other by global names.

    Parameters
    ----------
    compiled: compiles a copy whose global names are replaced; also gets the original function.
    known: functions that are compiled already.
    """
    if function not in known:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            called = names.get(name)
            if isinstance(called, FunctionType) and _package(called) == _package(function):
                names[name] = link_functions(called, compiled, known)
        copied = FunctionType(function.__code__, names, function.__name__, function.__defaults__)
        copied.__module__ = function.__module__
        known[function] = compiled(copied, function)
    return known[function]


def _package(function: FunctionType) -> str:
    return function.__module__.rpartition(".")[0]
