"""Columns of events: conversion of Python values or arrays to the input of compiled loops, and back.

The rule of this module: a column has an array per scalar field (bool, int64 or float64; enumerations as positions of
their labels, texts as their codes), and values outside the input's domain never get into one.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from workbench.core.domain import BOOL, INT, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.core.fields import FrozenMap, Map, Tuple, scalars, split, within
from workbench.errors import DomainError, InputError
from workbench.events.columns import arrays_of, values_of
from workbench.events.text_column import TextColumn
from workbench.executors.compiled.execute.input_maps import too_long
from workbench.executors.compiled.execute.observe import dtype as dtype

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from workbench.executors.compiled.execute.text_codes import TextCodes


class Column(NamedTuple):
    """The events of one input in successive steps.

    Attributes
    ----------
    fields: one array per scalar field, with an entry per step.
    present: whether there is an event in each step; None where there always is.
    wrong: the first step whose event is outside the domain, and the error; None if there is none.
    """

    fields: tuple[Any, ...]
    present: Any
    wrong: tuple[int, DomainError] | None

    def part(self, indices: Any) -> Column:
        """Return the entries of these steps, none of which is wrong."""
        present = None if self.present is None else self.present[indices]
        return Column(tuple(field[indices] for field in self.fields), present, None)


def empty(size: int, domain: Domain = INT) -> Any:
    """Allocate an uninitialized array for a scalar domain."""
    return np.empty(size, dtype(domain))


def zeros(size: int, domain: Domain = INT) -> Any:
    """Allocate a zeroed array for a scalar domain."""
    return np.zeros(size, dtype(domain))


def longer(array: Any, used: int, size: int) -> Any:
    """Return a new array of this size with the first `used` entries of another."""
    copy = np.empty(size, array.dtype)
    copy[:used] = array[:used]
    return copy


def find_free_rows(keys: Sequence[Any], usage: Any) -> Any:
    """Find free rows as `lower.tables.find_free_rows`, by machine code."""
    from workbench.executors.compiled.code.hashing import find_free_rows

    return find_free_rows(keys, usage)


def readable(domains: Sequence[Domain], arrays: Sequence[Any], texts: Callable[[Any], TextColumn]) -> tuple[Any, ...]:
    """Decode the arrays of compiled code for scalar domains: text codes become texts."""
    pairs = zip(domains, arrays, strict=True)
    return tuple(texts(array) if isinstance(domain, Texts) else array for domain, array in pairs)


def join_arrays(arrays: Sequence[Any]) -> Any:
    """Concatenate arrays."""
    if not isinstance(arrays[0], TextColumn):
        return np.concatenate(arrays)
    indices: dict[str, int] = {}
    numbers = [
        np.array([*(indices.setdefault(text, len(indices)) for text in each.texts), 0], np.int64)[each.numbers]
        for each in arrays
    ]
    return TextColumn(np.concatenate(numbers), list(indices))


def silent(domain: Domain, count: int) -> Column:
    """Return the column of an input without events."""
    fields = tuple(np.zeros(count, dtype(part)) for _, part in scalars(domain))
    return Column(fields, np.zeros(count, np.bool_), None)


def column(
    name: str, domain: Domain, events: Any, present: Any = None, texts: TextCodes | None = None
) -> Column:  # fmt: skip
    """Build the column of an input.

    Parameters
    ----------
    events: an array; a tuple of arrays for a tuple or record; or a sequence of Python values.
    present: an array of bools, an entry per event; None where there is an event in every step.
    texts: records all texts of the column; None where they need no codes.

    Raises
    ------
    InputError: the array type does not fit the domain, or its length `present`; or `events` is not a stream.
    """
    if texts is None:
        from workbench.executors.compiled.execute.text_codes import TextCodes

        texts = TextCodes(())
    present = None if present is None else np.ascontiguousarray(present, np.bool_)
    parts = [part for _, part in scalars(domain)]
    arrays = [events] if isinstance(events, (np.ndarray, TextColumn)) else _flat(events)
    whole = isinstance(arrays, list | tuple) and len(arrays) == len(parts)
    if whole and all(isinstance(array, (np.ndarray, TextColumn)) for array in arrays) and arrays:
        return _of_arrays(name, domain, parts, list(arrays), present, texts)
    if not isinstance(events, Iterable):
        raise InputError(f"input '{name}' needs a stream, not {events!r}", hint="pass an array, or a list of events")
    values = list(events)
    _check_present(name, len(values), present)
    return _of_values(name, domain, parts, values, present, texts)


def _flat(events: Any) -> Any:
    """Flatten nested tuples of arrays."""
    if isinstance(events, tuple) and any(isinstance(each, tuple) for each in events):
        return [array for each in events for array in (_flat(each) if isinstance(each, tuple) else [each])]
    return events


def _codes(array: Any, present: Any, texts: TextCodes) -> Any:
    """Return the codes of the texts in an array; None where it has other values, too."""
    if not isinstance(array, TextColumn):
        if array.dtype.kind not in "UOT":
            return None
        values = array.tolist() if present is None else np.where(present, array, "").tolist()
        if not all(isinstance(value, str) for value in values):
            return None
        array = TextColumn.of(values)
    return texts.codes(array)


def _check_present(name: str, count: int, present: Any) -> None:
    if present is not None and present.shape != (count,):
        entries = " x ".join(map(str, present.shape))
        raise InputError(
            f"input '{name}' has {count} events, and 'present' {entries} entries", hint="pass one entry per event"
        )


def _of_arrays(
    name: str, domain: Domain, parts: list[Domain], arrays: list[Any], present: Any, texts: TextCodes
) -> Column:
    fields: list[Any] = []
    wrong: list[tuple[int, DomainError]] = []
    if any(array.ndim != 1 or array.shape != arrays[0].shape for array in arrays):
        raise InputError(
            f"input '{name}' has arrays of shapes {', '.join(str(a.shape) for a in arrays)}",
            hint="pass arrays of one dimension and of equal lengths",
        )
    _check_present(name, len(arrays[0]), present)
    for part, array in zip(parts, arrays, strict=True):
        if isinstance(part, Map):
            raise InputError(f"input '{name}' carries {part}, not an array", hint="pass a list of maps")
        codes = _codes(array, present, texts) if isinstance(part, Texts) else array
        if codes is None or not _fits(codes.dtype, part):
            raise InputError(
                f"input '{name}' carries {part}, not an array of {array.dtype}",
                hint="positions of labels, as integers, stand for an enumeration"
                if isinstance(part, Enum)
                else "pass texts: an array of str, or a list"
                if isinstance(part, Texts)
                else f"convert it: array.astype({np.dtype(dtype(part)).name!r})",
            )
        fields.append(np.require(codes, dtype(part), ("C", "A")))
        if part.finite and part != BOOL and len(array):
            lo, hi = (part.lo, part.hi) if isinstance(part, Integer | Range) else (0, (part.size or 0) - 1)
            wrong += _outside(name, domain, fields[-1], lo, hi, present)
    return Column(tuple(fields), present, min(wrong, key=lambda each: each[0], default=None))


def _fits(kind: Any, domain: Domain) -> bool:
    if domain == BOOL:
        return bool(kind == np.bool_)
    if isinstance(domain, Reals):
        return str(kind.kind) in "iuf"
    return bool(kind.kind == "i" or (kind.kind == "u" and kind.itemsize < 8))


def _outside(name: str, domain: Domain, array: Any, lo: int, hi: int, present: Any) -> list[tuple[int, DomainError]]:
    """Return the first entry outside lo..hi, with its error, as a list of at most one."""
    if array.min() >= lo and array.max() <= hi:
        return []
    bad = (array < lo) | (array > hi)
    if present is not None:
        bad &= present
    first = int(bad.argmax())
    return [(first, _not_a_value(name, domain, int(array[first])))] if bad[first] else []


def _not_a_value(name: str, domain: Domain, value: Value) -> DomainError:
    hint = "declare the input with a domain that has it"
    if isinstance(value, bool):
        hint = "True and False are not numbers: use 1 and 0"
    return DomainError(f"{value!r} on input '{name}' is not a value of {domain}", hint=hint)


def _of_values(
    name: str, domain: Domain, parts: list[Domain], events: list[Value], present: Any, texts: TextCodes
) -> Column:
    there = events if present is None else [v if p else domain.default for v, p in zip(events, present, strict=True)]
    arrays = _arrays(domain, there, texts)
    if arrays is not None:
        return Column(tuple(texts.codes(a) if isinstance(a, TextColumn) else a for a in arrays), present, None)
    rows, wrong = [], None
    nothing = tuple(texts.number(part, part.default) for part in parts)
    for position, value in enumerate(events):
        if present is not None and not present[position]:
            rows.append(nothing)
            continue
        problem = _problem(name, domain, value)
        if problem is not None:
            wrong = (position, problem)
            break
        leaves = list(zip(parts, split(domain, value), strict=True))
        texts.put(leaf for part, leaf in leaves if isinstance(part, Texts))
        rows.append(tuple(texts.number(part, leaf) for part, leaf in leaves))
    rows += [nothing] * (len(events) - len(rows))
    columns = zip(*rows, strict=True) if rows else [()] * len(parts)
    fields = tuple(np.array(each, dtype(part)) for part, each in zip(parts, columns, strict=True))
    return Column(fields, present, wrong)


def _arrays(domain: Domain, events: Sequence[Value], texts: TextCodes) -> list[Any] | None:
    """Return the arrays of events as `arrays_of` does, with numbers for maps."""
    if isinstance(domain, Map):
        numbers = texts.maps.numbers(domain, events)
        return None if numbers is None else [numbers]
    if not isinstance(domain, Tuple) or not any(isinstance(part, Map) for part in within(domain)):
        return arrays_of(domain, events)
    if not set(map(type, events)) <= {tuple} or not set(map(len, events)) <= {len(domain.fields)}:
        return None
    columns: Sequence[Sequence[Value]] = list(zip(*events, strict=True)) or [()] * len(domain.fields)
    arrays = [_arrays(field, column, texts) for field, column in zip(domain.fields, columns, strict=True)]
    return None if None in arrays else list(itertools.chain.from_iterable(filter(None, arrays)))


def _problem(name: str, domain: Domain, value: Value) -> DomainError | None:
    if value not in domain:
        return _not_a_value(name, domain, value)
    for (_, part), leaf in zip(scalars(domain), split(domain, value), strict=True):
        long = leaf if isinstance(part, Integers) and not -(2**63) <= leaf < 2**63 else None
        long = too_long(part, leaf) if isinstance(part, Map) else long
        if long is not None:
            what = f"{long!r} on input '{name}' is not an integer of 64 bits, which compiled code has for int"
            error = DomainError(what, hint="use the reference executor")
            error.exceeds_64_bits = True
            return error
    return None


@dataclass(frozen=True)
class OutputColumn:
    """The events of one output.

    Attributes
    ----------
    fields: an array per scalar field, an entry per event.
    steps: the step of each event, if requested.
    before: for maps that are not finite: returns the map before the first event. The fields are then changes:
        whether an entry is written or removed, its key, and its value; and, where an event can be several changes,
        whether a change continues the event before it.
    """

    domain: Domain
    fields: tuple[NDArray[Any], ...]
    steps: NDArray[np.int64] | None = None
    before: Callable[[], FrozenMap[Value, Value]] | None = None

    @property
    def array(self) -> NDArray[Any]:
        """The only field."""
        (array,) = self.fields
        return array

    @classmethod
    def of(cls, domain: Domain, fields: tuple[Any, ...], steps: Any, before: Callable[[], Any] | None) -> OutputColumn:
        """Build a column from the output of a loop, with the step of each row of the fields."""
        own = _own_changes(domain, fields)
        return cls(domain, fields, steps if steps is None or own is None else steps[own], before)

    def move_to_step(self, step: int) -> OutputColumn:
        """Return the column with all events moved to this step."""
        return replace(self, steps=np.full(len(self), step))

    def earlier(self, steps: int) -> OutputColumn:
        """Return the column with each event moved to an earlier step."""
        assert self.steps is not None
        return replace(self, steps=self.steps - steps)

    def __repr__(self) -> str:
        return f"<{len(self)} events of {self.domain}>"

    def __len__(self) -> int:
        own = _own_changes(self.domain, self.fields)
        return len(self.fields[0]) if own is None else int(own.sum())

    def events(self) -> list[Value]:
        """Return the events as Python values of the domain."""
        if isinstance(self.domain, Map) and not self.domain.finite:
            return self._maps(self.domain)
        return values_of(self.domain, self.fields)

    def _maps(self, domain: Map) -> list[Value]:
        """Return the map after each change."""
        present = FrozenMap[Value, Value]() if self.before is None else self.before()
        maps: list[Value] = []
        own = _own_changes(domain, self.fields)
        first = itertools.repeat(True) if own is None else own.tolist()
        changes = OutputColumn(domain.change, self.fields[: len(scalars(domain.change))]).events()
        for begins, (there, key, value) in zip(first, changes, strict=False):
            present = present.set(key, value) if there else present.delete(key) if key in present else present
            if begins:
                maps.append(present)
            else:
                maps[-1] = present
        return maps


def _own_changes(domain: Domain, fields: tuple[Any, ...]) -> Any:
    """Return which changes begin an event, where an event may consist of several changes."""
    if not isinstance(domain, Map) or domain.finite or len(fields) == len(scalars(domain.change)):
        return None
    return ~fields[-1]
