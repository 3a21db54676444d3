"""Python values as columns, a scalar field at a time.

The rule of this module: what is not plainly right is left to whoever looks at events one by one, and knows what to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.core.domain import BOOL, Domain, Enum, Integer, Integers, Range, Reals, Tuple, Value


def arrays_of(domain: Domain, events: Sequence[Value]) -> list[Any] | None:
    """An array per scalar field; None where some event may be no value of the domain, or has no place in one."""
    if not isinstance(domain, Tuple):
        found = _array(domain, events)
        return None if found is None else [found]
    if not (set(map(type, events)) <= {tuple} and set(map(len, events)) <= {len(domain.fields)}):
        return None
    columns: Sequence[Sequence[Value]] = list(zip(*events, strict=True)) if events else [()] * len(domain.fields)
    arrays: list[Any] = []
    for field, column in zip(domain.fields, columns, strict=True):
        inside = arrays_of(field, column)
        if inside is None:
            return None
        arrays += inside
    return arrays


def _array(domain: Domain, column: Sequence[Value]) -> Any:
    kinds = set(map(type, column))
    if isinstance(domain, Enum):
        positions = {label: i for i, label in enumerate(domain.labels)}
        if not kinds <= {str} or not positions.keys() >= set(column):
            return None
        return np.array([positions[label] for label in column], np.int64)
    if domain == BOOL:
        return np.array(column, np.bool_) if kinds <= {bool} else None
    if isinstance(domain, Reals):
        return np.array(column, np.float64) if kinds <= {float} else None
    if not isinstance(domain, Integers | Integer | Range) or not kinds <= {int}:
        return None
    try:
        array = np.array(column, np.int64)
    except OverflowError:
        return None
    if isinstance(domain, Integers) or not len(array):
        return array
    return array if domain.lo <= array.min() and array.max() <= domain.hi else None
