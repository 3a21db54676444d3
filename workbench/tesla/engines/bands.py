"""Inequalities between an attribute of a candidate and what is bound before: by them a sorted column finds candidates.

The rule of this module: a band is an attribute with all bounds that constraints set to it; what the bounds leave is
still asked all constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from workbench.core.domain import FLOAT, INT
from workbench.tesla import tree as t
from workbench.tesla.resolved import own_comparisons


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


def band_of(constraints: Sequence[t.Expression]) -> Band | None:
    """The band of a predicate's constraints, with an upper and a lower bound if there is one; None: there is none."""
    found: dict[str, list[tuple[str, t.Expression]]] = {}
    for each in (each for constraint in constraints for each in own_comparisons(constraint)):
        if each.sign not in ("==", "!=") and each.attribute.domain in (INT, FLOAT):
            found.setdefault(each.attribute.name, []).append((each.sign, each.bound))
    bands = [Band(attribute, tuple(bounds)) for attribute, bounds in found.items()]
    return max(bands, key=lambda each: each.closed, default=None)
