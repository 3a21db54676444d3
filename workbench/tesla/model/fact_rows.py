"""Arbitrary rows of facts in a model: chosen at the start of a run, and constant from then on unless they may change.

The rule of this module: a row consists of indices in the tables of its attributes; absent rows are zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Range
from workbench.core.ops import ADD, EQ, GT, both, ite, restrict_to_range
from workbench.core.term import FALSE, Term, const
from workbench.tesla import tree as t
from workbench.tesla.model.guarded_values import GuardedValue, ValueTable, apply, choose_value
from workbench.tesla.model.state import VariablePart

ModelRow = tuple[Term, Mapping[str, GuardedValue]]
"""The condition under which a row exists, and its attributes."""


class FixedFacts(NamedTuple):
    """The rows of a type of facts.

    Attributes
    ----------
    tables: the value tables of its attributes, in their order.
    count: the number of rows.
    rows: for each row the indices of its values.
    """

    tables: Mapping[str, ValueTable]
    count: Any
    rows: tuple[tuple[Any, ...], ...]

    @staticmethod
    def template(type: str, tables: Mapping[str, ValueTable], max_rows: int) -> FixedFacts:
        """Make state variables for at most this number of rows."""
        rows = (
            tuple(VariablePart(f"{type}{row}_{name}", table.domain, 0) for name, table in tables.items())
            for row in range(1, max_rows + 1)
        )
        return FixedFacts(tables, VariablePart(f"{type}_rows", Range(0, max_rows), 0), tuple(rows))

    def with_row(self, when: Term, values: Mapping[str, GuardedValue]) -> FixedFacts:
        """Append a row, if `when` holds and there is capacity."""
        indices = [values[name].place_in(table)[0] for name, table in self.tables.items()]
        rows = tuple(
            tuple(ite(both(when, EQ(self.count, number)), new, old) for new, old in zip(indices, row, strict=True))
            for number, row in enumerate(self.rows)
        )
        count = restrict_to_range(ADD(self.count, ite(when, 1, 0)), Range(0, len(self.rows)))
        return FixedFacts(self.tables, count, rows)

    def without_rows(self) -> FixedFacts:
        """Remove all rows."""
        none = tuple(tuple(const(0, table.domain) for table in self.tables.values()) for _ in self.rows)
        return FixedFacts(self.tables, const(0, Range(0, len(self.rows))), none)

    def order_rows(self, ordering: Sequence[t.OrderedBy]) -> list[ModelRow]:
        """Return the rows in the stated order, ties in their own order."""
        rows: list[ModelRow] = []
        for number, row in enumerate(self.rows):
            own = {name: GuardedValue.at(p, table) for p, (name, table) in zip(row, self.tables.items(), strict=True)}
            rows.append((GT(self.count, number), own))
        for by in reversed(ordering):  # the first one has the highest priority
            for end in range(len(rows) - 1, 0, -1):
                for i in range(end):
                    rows[i : i + 2] = _sort_pair(rows[i], rows[i + 1], by)
        return rows


def _sort_pair(one: ModelRow, other: ModelRow, by: t.OrderedBy) -> list[ModelRow]:
    """Sort two rows, of which the second exists only if the first does."""

    def before(a: Any, b: Any) -> bool:
        return bool(a > b if by.descending else a < b)

    swap = both(other[0], apply(before, (other[1][by.name], one[1][by.name]), f"the order by {by.name}").is_true)
    if swap is FALSE:
        return [one, other]
    first = {name: choose_value(swap, other[1][name], value) for name, value in one[1].items()}
    return [(one[0], first), (other[0], {name: choose_value(swap, one[1][name], v) for name, v in other[1].items()})]
