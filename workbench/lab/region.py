"""Regions: the sets of points at which experiments are measured.

A region is a product of named ranges without the excluded points. It is a value: restricting it or excluding
points returns a new one. A point is a mapping from name to a number, a text or a truth value.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.errors import SuiteError
from workbench.lab.calls import call, names_of

Scalar = bool | int | float | str
Point = Mapping[str, Scalar]


def fits(value: int) -> bool:
    """Whether a whole number fits into a column of results."""
    return -(2**63) <= value < 2**63


@dataclass(frozen=True)
class Product:
    """A product of named ranges, with the conditions that exclude points."""

    axes: Mapping[str, tuple[Scalar, ...]]
    excluded: tuple[Callable[..., bool], ...] = ()

    def __iter__(self) -> Iterator[dict[str, Scalar]]:
        for values in itertools.product(*self.axes.values()):
            point = dict(zip(self.axes, values, strict=True))
            if not any(_holds(condition, point) for condition in self.excluded):
                yield point


class Region:
    """A set of points, in order: `Region(q=[1, 2, 3], n=range(2, 6))` has twelve.

    Raises
    ------
    SuiteError: a range is empty or has a value of another type; or an operation names an axis that is not there.
    """

    def __init__(self, **ranges: Scalar | Iterable[Scalar]) -> None:
        self._parts: tuple[Product, ...] = (
            Product({name: _values(name, axis_range) for name, axis_range in ranges.items()}),
        )

    @classmethod
    def _of(cls, parts: Iterable[Product]) -> Region:
        region = cls()
        region._parts = tuple(parts)
        return region

    @property
    def axes(self) -> dict[str, tuple[Scalar, ...]]:
        """The values of each axis in all parts, in order of appearance."""
        by_axis: dict[str, dict[tuple[type, Scalar], Scalar]] = {}
        for part in self._parts:
            for name, values in part.axes.items():
                by_axis.setdefault(name, {}).update({(type(v), v): v for v in values})
        return {name: tuple(values.values()) for name, values in by_axis.items()}

    def excluding(self, condition: Callable[..., bool]) -> Region:
        """Return the region without points at which the condition holds: `region.excluding(lambda q, n: q > n)`."""
        unknown = names_of(condition) - set(self.axes)
        if unknown:
            raise SuiteError(f"the condition reads '{sorted(unknown)[0]}', which is not an axis of the region")
        return Region._of(Product(part.axes, (*part.excluded, condition)) for part in self._parts)

    def where(self, **choices: Scalar | Iterable[Scalar]) -> Region:
        """Return the region restricted to these values: `region.where(q=2, n=[2, 3])`."""
        axes = self.axes
        for name in choices:
            if name not in axes:
                raise SuiteError(f"the region has no axis '{name}'", hint=f"it has {', '.join(axes)}")
        subset = {name: _values(name, choice) for name, choice in choices.items()}
        return Region._of(
            Product(
                {name: tuple(v for v in values if v in subset.get(name, values)) for name, values in part.axes.items()},
                part.excluded,
            )
            for part in self._parts
        )

    def __add__(self, other: Region) -> Region:
        """Return the union of two regions with the same axes; each point occurs once."""
        if set(self.axes) != set(other.axes):
            raise SuiteError(f"regions with axes {sorted(self.axes)} and {sorted(other.axes)} cannot be combined")
        return Region._of((*self._parts, *other._parts))

    def __iter__(self) -> Iterator[dict[str, Scalar]]:
        if len(self._parts) == 1:
            yield from self._parts[0]
            return
        order, identities = list(self.axes), set()
        for point in itertools.chain.from_iterable(self._parts):
            # True == 1, so the type is a part of the identity
            identity = tuple((type(point[name]), point[name]) for name in order)
            if identity not in identities:
                identities.add(identity)
                yield {name: point[name] for name in order}

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, point: object) -> bool:
        return any(point == own for own in self)

    def __repr__(self) -> str:
        return f"Region of {len(self)} points over {', '.join(self.axes)}"


def _holds(condition: Callable[..., bool], point: Point) -> bool:
    """Whether a condition is true at a point.

    Raises
    ------
    SuiteError: the condition raises an error.
    """
    try:
        return bool(call(condition, point))
    except Exception as error:
        code = condition.__code__ if hasattr(condition, "__code__") else None
        raise SuiteError(
            f"the condition of `excluding` raises an error at {dict(point)}: {type(error).__name__}: {error}",
            where=f"{code.co_filename}:{code.co_firstlineno}" if code else "",
        ) from error


def _values(name: str, axis_range: Any) -> tuple[Scalar, ...]:
    if isinstance(axis_range, Scalar):
        return (axis_range,)
    try:
        values = tuple(dict.fromkeys((type(v), v) for v in axis_range))
    except TypeError:
        raise SuiteError(f"the range of '{name}' is not a list of values: {axis_range!r}") from None
    if not values:
        raise SuiteError(f"the range of '{name}' is empty")
    for _, value in values:
        if not isinstance(value, Scalar) or value != value:
            raise SuiteError(f"'{name}' cannot be {value!r}", hint="a point has numbers, texts and truth values")
        if isinstance(value, int) and not fits(value):
            raise SuiteError(f"'{name}' cannot be {value}: it has more than 64 bits", hint="use its text, or a float")
    return tuple(value for _, value in values)
