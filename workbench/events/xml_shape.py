"""Find the cells of XML rows of the same shape by position.

The rule of this module: it is faster, and never different. Rows have one shape if their elements have the same names
and the same numbers of children, in the order of the document; then a path of names leads to the same positions.
Shapes and texts that are not plain are left to `XmlReader`, which reads each row singly.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element

from workbench.core.domain import Bool, Domain, Enum, Integers, Reals, Value
from workbench.core.fields import FrozenMap, Map

MAXIMUM, LARGE = 256, 1 << 13
"""Maximum number of shapes that are remembered, and of elements of a row with one."""
INTEGER, NUMBER = r"-?[0-9]{1,15}", r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?"
INTEGERS, NUMBERS = (re.compile(rf"{each}(?:,{each})*") for each in (INTEGER, NUMBER))
_tag, _text = attrgetter("tag"), attrgetter("text")

RowShape = tuple[tuple[str, ...], tuple[int, ...]]
CellTexts = tuple["str | None", ...]
TextsTaker = Callable[[Sequence["str | None"]], CellTexts]


class PathElements(NamedTuple):
    """The elements at a path in a row: those with the keys, if it has keys, and those with the values."""

    keys: Sequence[Element] | None
    values: Sequence[Element]


class PathTexts(NamedTuple):
    """Functions that select these texts among those of all elements of a row, in the order of the document."""

    keys: TextsTaker | None
    values: TextsTaker


class PlainCell(NamedTuple):
    """The texts at a path in a row; `contents` finds its content as the complete reader does."""

    keys: CellTexts | None
    values: CellTexts
    contents: Callable[[], Any]

    @property
    def pairs(self) -> list[tuple[str | None, str]]:
        """The texts with their keys, if there are some, in the form of that content."""
        keys = [None] * len(self.values) if self.keys is None else [key or "" for key in self.keys]
        return list(zip(keys, [value or "" for value in self.values], strict=True))


RowPlan = Sequence["PathTexts | None"]


class RowShapes:
    """The shapes of the rows so far.

    Parameters
    ----------
    elements: by path, a function that finds its elements in a row; None for an unused path.
    """

    def __init__(self, elements: Sequence[Callable[[Element], PathElements | None] | None]) -> None:
        self._elements = elements
        self._known: dict[RowShape, RowPlan] = {}
        self._new = self._seen = 0

    def cells(self, row: Element) -> Sequence[tuple[CellTexts | None, CellTexts] | None] | None:
        """Return the texts at each path of a row, where they are plain; None if the row or its shapes are too many."""
        if self._new > MAXIMUM and self._new * 2 > self._seen:
            return None
        inside = list(itertools.islice(row.iter(), LARGE + 1))
        if len(inside) > LARGE:
            return None
        shape = tuple(map(_tag, inside)), tuple(map(len, inside))
        plan = self._known.get(shape)
        self._seen += 1
        if plan is None:
            plan = self._learnt(shape, row, inside)
        texts = list(map(_text, inside))
        return [at and (at.keys and at.keys(texts), at.values(texts)) for at in plan]

    def _learnt(self, shape: RowShape, row: Element, inside: Sequence[Element]) -> RowPlan:
        self._new += 1
        if len(self._known) == MAXIMUM:
            self._known.clear()
        plan = self._known[shape] = self._plan(row, {id(element): i for i, element in enumerate(inside)})
        return plan

    def _plan(self, row: Element, position: Mapping[int, int]) -> RowPlan:
        plan: list[PathTexts | None] = []
        for find in self._elements:
            at = find and find(row)
            keys = None if at is None or at.keys is None else _taker(at.keys, position)
            plan.append(at and PathTexts(keys, _taker(at.values, position)))
        return plan


def _taker(elements: Sequence[Element], position: Mapping[int, int]) -> TextsTaker:
    indices = [position[id(element)] for element in elements]
    return itemgetter(*indices) if len(indices) > 1 else lambda texts: tuple([texts[i] for i in indices])


def plain_values(texts: CellTexts, domain: Domain) -> Sequence[Value] | None:
    """Parse plain texts; None if one of them must be read singly."""
    if None in texts:
        return None
    if isinstance(domain, Enum):
        return texts if set(domain.labels).issuperset(texts) else None
    integers = isinstance(domain, Integers)
    if not integers and type(domain) is not Reals:
        return None
    if not (INTEGERS if integers else NUMBERS).fullmatch(",".join(texts)):  # type: ignore[arg-type]
        return None
    return tuple(map(int if integers else float, texts))  # type: ignore[arg-type]


def plain_value(cell: PlainCell, domain: Domain) -> Value | None:
    """Parse the plain texts of a cell; None if they must be read one by one."""
    if not isinstance(domain, Map):
        only = plain_values(cell.values, domain) if len(cell.values) == 1 else None
        return only[0] if only else None
    keys = plain_values(cell.values if cell.keys is None else cell.keys, domain.key)
    if keys is None or (cell.keys is None and not isinstance(domain.value, Bool)):
        return None
    values = (True,) * len(keys) if cell.keys is None else plain_values(cell.values, domain.value)
    if values is None:
        return None
    pairs = dict(zip(keys, values, strict=True))
    return FrozenMap(pairs) if len(pairs) == len(keys) or cell.keys is None else None
