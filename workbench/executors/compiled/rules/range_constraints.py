"""Constraints that compare an integer attribute of a candidate with an earlier value.

The rule of this module: integers of rules are exact, so a term without attributes of the candidate may be moved to the
other side of a comparison: `x - $v > 3` is `x > 3 + $v`. The result is evaluated once per scan.
"""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from workbench.core.domain import BOOL, INT, STR
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.expressions import OPCODES
from workbench.tesla import tree as t
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, RuleSlot, domain_of, expand_parameters, slots

MIRRORS = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "=="}
"""The comparison after both sides are negated."""


class AttributeBound(NamedTuple):
    """A comparison of an attribute of the candidate, on its left, with a value that is independent of the candidate."""

    cell: int
    sign: str
    value: t.Expression

    @property
    def relation(self) -> int:
        """The instruction of the comparison."""
        return int(OPCODES[self.sign, 2])


def attribute_bound(constraint: t.Expression) -> AttributeBound | None:
    """Return a constraint as such a comparison, or None."""
    for sign, one, other in readings(expand_parameters(constraint, own=True)):
        if sign == "!=" or _is_own(other):
            continue
        own_term, sign, bound = _isolate(one, sign, other)
        if not isinstance(own_term, RuleSlot) or own_term.part != OWN or not own_term.is_attribute:
            continue
        domains = {domain_of(own_term), domain_of(bound)}
        if domains == {INT} or (sign == "==" and domains in ({BOOL}, {STR})):
            return AttributeBound(own_term.index, sign, bound)
    return None


def _isolate(own_term: t.Expression, sign: str, bound: t.Expression) -> tuple[t.Expression, str, t.Expression]:
    """Move terms that are independent of the candidate to the right side of a comparison of integers."""
    if not (isinstance(own_term, t.Operation) and own_term.operator in ("+", "-") and domain_of(own_term) == INT):
        return own_term, sign, bound
    one, other = own_term.operands
    if domain_of(bound) != INT or (_is_own(one) and _is_own(other)):
        return own_term, sign, bound
    if _is_own(one):
        return _isolate(one, sign, t.Operation("-" if own_term.operator == "+" else "+", (bound, other)))
    if own_term.operator == "+":
        return _isolate(other, sign, t.Operation("-", (bound, one)))
    return _isolate(other, MIRRORS[sign], t.Operation("-", (one, bound)))


def _is_own(expression: t.Expression) -> bool:
    return any(leaf.part == OWN for leaf in slots(expression))


def find_banded_cell(plan: SetPlan, column: PlannedColumn) -> int:
    """Return the attribute that all steps that search a column bound on both sides, or `NONE`."""
    common: list[int] | None = None
    steps = filter(None, (*chain.from_iterable(plan.steps), *plan.absent))
    for planned in (each for each in steps if each.column == column.number):
        signs: dict[int, set[str]] = {}
        for each in filter(None, map(attribute_bound, planned.constraints)):
            signs.setdefault(each.cell, set()).add(each.sign[0])
        closed = [cell for cell, directions in signs.items() if directions >= {"<", ">"}]
        common = closed if common is None else [cell for cell in common if cell in closed]
    return common[0] if common else records.NONE


def find_banded_attribute(plan: SetPlan, column: PlannedColumn) -> str | None:
    """Return the name of the attribute by which a column is banded, or None."""
    cell = find_banded_cell(plan, column)
    return None if cell == records.NONE else plan.rules.declarations[column.type].attributes[cell].name
