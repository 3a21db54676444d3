"""Maps on the inputs of a compiled run: their numbers, and the arrays that store their entries.

The rule of this module: a map has a number from before the steps in which it comes until no state refers to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.domain import Domain, Enum, Integers, Texts, Value
from workbench.core.fields import FrozenMap, Map, Tuple, scalars, split
from workbench.executors.compiled.execute.observe import dtype

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes

Arrays = Sequence[Any]
"""The arrays of a `MapHeap`."""


class NewMaps(NamedTuple):
    """New maps: the number of entries of each, and all keys and parts of values, by map and key."""

    lengths: Any
    columns: tuple[Any, ...]


class InputMaps:
    """The maps that have come since maps were last moved into the arrays of a state.

    Attributes
    ----------
    laid: returns the number of maps of a type in the arrays.
    """

    def __init__(self, texts: TextCodes) -> None:
        self.laid: Callable[[Map], int] = lambda _: 0
        self._texts = texts
        self._new: dict[Map, list[NewMaps]] = {}

    def numbers(self, of: Map, maps: Sequence[Value]) -> Any:
        """Number maps, and return an array; None where a map is outside the type, or has an integer beyond 64 bits."""
        if not set(map(type, maps)) <= {FrozenMap}:
            return None
        keys, values = list(chain.from_iterable(maps)), list(chain.from_iterable(each.values() for each in maps))
        if not (of.key.holds(keys) and of.value.holds(values)):
            return None
        parts: Sequence[Sequence[Value]] = [values]
        if isinstance(of.value, Tuple):
            parts = list(zip(*(split(of.value, value) for value in values), strict=True)) or [()] * of.value.scalars
        lengths = np.array([len(each) for each in maps], np.int64)
        try:
            first, *rest = map(self._array, [of.key, *(part for _, part in scalars(of.value))], [keys, *parts])
        except OverflowError:
            return None
        order = np.lexsort((first, np.repeat(np.arange(len(maps)), lengths)))
        new = self._new.setdefault(of, [])
        begin = self.laid(of) + sum(len(each.lengths) for each in new)
        new.append(NewMaps(lengths, tuple(column[order] for column in (first, *rest))))
        return np.arange(begin + 1, begin + 1 + len(maps))

    def take_arrays(self, of: Map, before: Arrays) -> list[Any] | None:
        """Return the arrays with the new maps appended to those in them; None where there are no new ones."""
        new = self._new.pop(of, [])
        if not new:
            return None
        begins, *rest = before
        ends = begins[-1] + np.cumsum(np.concatenate([each.lengths for each in new]))
        added = zip(*(each.columns for each in new), strict=True)
        return [np.concatenate((begins, ends)), *(np.concatenate((a, *b)) for a, b in zip(rest, added, strict=True))]

    def _array(self, domain: Domain, values: Sequence[Value]) -> Any:
        if isinstance(domain, Texts):
            return np.array(self._texts.put(values), np.int64)
        if isinstance(domain, Enum):
            positions = {label: i for i, label in enumerate(domain.labels)}
            return np.array([positions[value] for value in values], np.int64)
        return np.array(values, dtype(domain))


def empty(arrays: Arrays) -> list[Any]:
    """Return arrays of the same types with only the empty map: it has number 0, and entry 0 belongs to no map."""
    begins, *rest = arrays
    return [np.ones(2, begins.dtype), *(np.zeros(1, array.dtype) for array in rest)]


def only(arrays: Arrays, holders: Sequence[Any]) -> list[Any]:
    """Return the arrays with only the maps whose numbers are in `holders`, which get the new numbers."""
    begins, *rest = arrays
    held = np.unique(np.concatenate([np.zeros(1, np.int64), *holders]))
    for holder in holders:
        holder[:] = np.searchsorted(held, holder)
    lengths = begins[held + 1] - begins[held]
    ends = np.cumsum(lengths)
    indices = np.repeat(begins[held] - ends + lengths, lengths) + np.arange(ends[-1])
    return [
        np.concatenate((np.ones(1, begins.dtype), 1 + ends)),
        *(np.concatenate((np.zeros(1, array.dtype), array[indices])) for array in rest),
    ]


def too_long(of: Map, value: FrozenMap[Value, Value]) -> Value | None:
    """Return an integer of a map that exceeds 64 bits; None where there is none."""
    for domain, inside in ((of.key, value), (of.value, value.values())):
        for each in inside:
            for (_, part), leaf in zip(scalars(domain), split(domain, each), strict=True):
                if isinstance(part, Integers) and not -(2**63) <= leaf < 2**63:
                    return leaf
    return None
