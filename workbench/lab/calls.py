"""Call functions with those named values that are among their parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any


@cache
def names_of(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the parameters of a function, without `**rest`."""
    return frozenset(
        name
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
    )


@cache
def list_required(function: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the parameters that have no default."""
    parameters = inspect.signature(function).parameters
    return frozenset(name for name in names_of(function) if parameters[name].default is inspect.Parameter.empty)


def list_keywords(function: Callable[..., Any]) -> list[str]:
    """Return the names of the parameters that are passed by name only."""
    return [name for name, each in inspect.signature(function).parameters.items() if each.kind is each.KEYWORD_ONLY]


@cache
def takes_all(function: Callable[..., Any]) -> bool:
    """Whether the function has a `**rest`."""
    return any(p.kind is p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def call(function: Callable[..., Any], available: Mapping[str, Any]) -> Any:
    """Call a function with those of the values that it has parameters for."""
    if takes_all(function):
        return function(**available)
    names = names_of(function)
    return function(**{name: value for name, value in available.items() if name in names})
