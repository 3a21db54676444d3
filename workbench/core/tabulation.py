"""Functions as tables: which need one, and decision trees over the values of finite domains."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from workbench.core import ops
from workbench.core.domain import (
    Anything,
    Bool,
    Domain,
    Enum,
    Integer,
    Integers,
    Overflowing,
    Range,
    Reals,
    Texts,
    Value,
)
from workbench.core.fields import Map, Nullable, within, without_null
from workbench.core.fold import postorder
from workbench.core.range_escape import escape_condition
from workbench.core.term import FALSE, Term, leaves, remove_names


def takes(parameter: Domain, domain: Domain) -> bool:
    """Whether each value of a domain is of a type that a Python function takes."""
    if isinstance(parameter, Nullable):
        return takes(parameter.of, without_null(domain))
    if isinstance(parameter, Reals) and domain.numeric:
        return True
    if isinstance(parameter, Integers):
        return isinstance(domain, Integers | Integer | Range | Anything)
    if isinstance(parameter, Texts):
        return isinstance(domain, Texts | Enum | Anything)
    return isinstance(domain, Anything) or remove_names(parameter) == remove_names(domain)


def needs_table(body: Any, domains: Iterable[Domain] = ()) -> bool:
    """Whether a part of a function's body has no term in models, and a table represents the whole function."""
    nodes = list(postorder(leaf for leaf in leaves(body) if isinstance(leaf, Term)))
    named = any(term.op is not None and term.op.by_table for term in nodes)
    maps = any(isinstance(part, Map) for domain in domains for part in within(domain))
    return named and not maps and escape_condition([body], Overflowing.CHECKED) is FALSE


def decision_tree(symbols: list[Any], values: list[Any], constant: Callable[..., Any]) -> Any:
    """Build a decision tree over the arguments, one conditional per value but the last; `constant` makes a leaf."""
    if not symbols:
        return constant()
    *others, last = values[0]
    tree = decision_tree(symbols[1:], values[1:], partial(constant, last))
    for value in reversed(others):
        tree = ops.ite(
            _equals(symbols[0], value), decision_tree(symbols[1:], values[1:], partial(constant, value)), tree
        )
    return tree


def _equals(symbol: Any, value: Value) -> Any:
    if isinstance(symbol, tuple):
        return ops.conjunction(_equals(s, v) for s, v in zip(symbol, value, strict=True))
    if isinstance(symbol.domain, Bool):
        return symbol if value else ops.negate(symbol)
    return ops.EQ(symbol, value)
