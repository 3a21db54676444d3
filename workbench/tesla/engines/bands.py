"""Inequalities between an attribute of a candidate and what is bound before: by them a sorted column finds candidates.

The rule of this module: a band is an attribute with all bounds that constraints set to it; what the bounds leave is
still asked all constraints.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from workbench.core.domain import FLOAT, INT
from workbench.tesla import tree as t
from workbench.tesla.operators import readings


class Band(NamedTuple):
    """The bounds of an attribute.

    Attributes
    ----------
    bounds: `>`, `>=`, `<` or `<=`, the attribute on its left, and what is on its right.
    """

    attribute: str
    bounds: tuple[tuple[str, t.Expression], ...]

    @property
    def closed(self) -> bool:
        """Whether it has an upper and a lower bound."""
        return len({operator[0] for operator, _ in self.bounds}) == 2

    def __str__(self) -> str:
        return " and ".join(f"{self.attribute} {operator} {bound}" for operator, bound in self.bounds)


def band_of(
    declared: t.Declaration, constraints: Sequence[t.Expression], own: Mapping[str, t.Expression]
) -> Band | None:
    """The band of a predicate's constraints, with an upper and a lower bound if there is one; None: there is none.

    Parameters
    ----------
    own: what the predicate's own parameters are.
    """
    found: dict[str, list[tuple[str, t.Expression]]] = {}
    for constraint in constraints:
        for attribute, operator, bound in _bounds(constraint, own):
            if declared.domains[attribute] in (INT, FLOAT):
                found.setdefault(attribute, []).append((operator, bound))
    bands = [Band(attribute, tuple(bounds)) for attribute, bounds in found.items()]
    return max(bands, key=lambda each: each.closed, default=None)


def _bounds(constraint: t.Expression, own: Mapping[str, t.Expression]) -> list[tuple[str, str, t.Expression]]:
    """Attributes of a candidate with an operator and a bound that has nothing to do with the candidate."""
    found = []
    for operator, mine, bound in readings(constraint):
        if operator in ("==", "!="):
            break
        if isinstance(mine, t.BoundParameter):
            mine = own.get(mine.name, mine)
        if isinstance(mine, t.OwnAttribute) and not any(_own(leaf, own) for leaf in t.within(bound)):
            found.append((mine.name, operator, bound))
    return found


def _own(leaf: t.Expression, own: Mapping[str, t.Expression]) -> bool:
    return isinstance(leaf, t.OwnAttribute) or (isinstance(leaf, t.BoundParameter) and leaf.name in own)
