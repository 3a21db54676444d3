"""Lists that entries of tables name parts of: code, keys, bounds, actions, registers.

The rule of this module: who adds to a list gets where that begins and ends, which is what an entry of a table has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.expressions import PostfixCode
from workbench.executors.compiled.rules.shared_parts import ListPart, SharedParts
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import MatchLayout
from workbench.tesla.resolved import domain_of

TableEntry = tuple[int, ...]
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
        self.bounds, self.actions, self.keys = (SharedParts[TableEntry]() for _ in range(3))
        self.registers = SharedParts[int]()

    def add_registers(self, registers: Iterable[int]) -> ListPart:
        """Add registers."""
        return self.registers.add(registers)

    def add_keys(self, codes: Iterable[ListPart]) -> ListPart:
        """Add the values of a key, each by its code."""
        return self.keys.add((0, *code) for code in codes)

    def add_key(self, equations: Equations, layout: MatchLayout) -> ListPart:
        """Add what the keys of a column have to be equal to."""
        return self.add_keys(self.code.key(value, layout, domain_of(own)) for own, value in equations)

    def add_bounds(self, bounds: Iterable[TableEntry]) -> ListPart:
        """Add bounds of a step."""
        return self.bounds.add(bounds)

    def add_actions(self, actions: Iterable[TableEntry]) -> ListPart:
        """Add actions, without conditions that say nothing."""
        return self.actions.add(each for each in actions if each[0] != records.NONE or each[1] < each[2])
