"""Lists that entries of tables name parts of: code, keys, bounds, actions, registers.

The rule of this module: who adds to a list gets where that begins and ends, which is what an entry of a table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.expressions import PostfixCode
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import MatchLayout
from workbench.tesla.resolved import domain_of

TableEntry = tuple[int, ...]
ListPart = tuple[int, int]
"""Where a part of a list begins and ends."""
Equations = Iterable[tuple[t.Expression, t.Expression]]
"""What a candidate has, and what that has to be equal to."""


class EntryLists:
    """Lists under construction.

    Parameters
    ----------
    code_of: the number of a text.
    """

    def __init__(self, code_of: Callable[[str], int]) -> None:
        self.code = PostfixCode(code_of)
        self.bounds, self.actions, self.keys = list[TableEntry](), list[TableEntry](), list[TableEntry]()
        self.registers: list[int] = []

    def add_registers(self, registers: Iterable[int]) -> ListPart:
        """Add registers."""
        return _extend(self.registers, registers)

    def add_keys(self, codes: Iterable[ListPart]) -> ListPart:
        """Add the values of a key, each by its code."""
        return _extend(self.keys, ((0, *code) for code in codes))

    def add_key(self, equations: Equations, layout: MatchLayout) -> ListPart:
        """Add what the keys of a column have to be equal to."""
        return self.add_keys(self.code.key(value, layout, domain_of(own)) for own, value in equations)

    def add_bounds(self, bounds: Iterable[TableEntry]) -> ListPart:
        """Add bounds of a step."""
        return _extend(self.bounds, bounds)

    def add_actions(self, actions: Iterable[TableEntry]) -> ListPart:
        """Add actions, without conditions that say nothing."""
        return _extend(self.actions, (each for each in actions if each[0] != records.NONE or each[1] < each[2]))


def _extend(entries: list[Any], more: Iterable[Any]) -> ListPart:
    begin = len(entries)
    entries += more
    return begin, len(entries)
