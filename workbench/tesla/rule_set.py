"""Rule sets: declarations and rules that have been checked, as a program with ports.

The rule of this module: it holds what `check` has found to be right, and decides nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from workbench.errors import WorkbenchError
from workbench.tesla import tree as t


@dataclass(frozen=True)
class RuleSet:
    """Rules and the types that they are about.

    Attributes
    ----------
    name: what the user calls it.
    declarations: all types of events and facts by name, in the order of the text.
    rules: in the order of the text.
    warnings: what is allowed and seldom meant.
    """

    name: str
    declarations: Mapping[str, t.Declaration]
    rules: tuple[t.Rule, ...]
    warnings: tuple[WorkbenchError, ...] = field(default=(), compare=False)

    kind = "rule set"

    @cached_property
    def composites(self) -> tuple[str, ...]:
        """The types of what is emitted, in the order of their declarations."""
        emitted = {rule.emits for rule in self.rules}
        return tuple(name for name in self.declarations if name in emitted)

    @cached_property
    def events(self) -> tuple[str, ...]:
        """The types of events, composites among them."""
        return tuple(name for name, declared in self.declarations.items() if not declared.fact)

    def __str__(self) -> str:
        return str(t.RuleFile(tuple(self.declarations.values()), self.rules))
