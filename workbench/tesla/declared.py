"""What a rule file declares: types of events and facts with their attributes, and aggregates.

The rule of this module: it is part of the tree (`tree`), which has it under the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.core.domain import FLOAT, Domain
from workbench.core.types import TYPES
from workbench.language.syntax import Expression, Literal, Operation, Placed

NAMED = {name: row.domain for row in TYPES for name in row.names}
"""The types of attributes by their names."""
SPELLED = {row.domain: row.names[0] for row in TYPES}
"""How the type of an attribute is written."""


@dataclass(frozen=True)
class Attribute(Placed):
    """A typed attribute; the type is None where the older grammar does not say it.

    Attributes
    ----------
    inferred: whether a log's rows gave the type; then a text may be a number or a truth value in other rows.
    """

    name: str
    domain: Domain | None
    inferred: bool = field(default=False, compare=False, kw_only=True)

    def __str__(self) -> str:
        return f"{self.name}: {SPELLED[self.domain]}" if self.domain is not None else self.name


@dataclass(frozen=True)
class Declaration(Placed):
    """`declare Temp(area: int) with id 1`: a type of events, or of facts.

    Attributes
    ----------
    number: its id, None where it has none.
    comment: what stands in the lines above.
    inferred: whether a log's rows gave it.
    """

    name: str
    attributes: tuple[Attribute, ...]
    fact: bool = False
    number: int | None = None
    comment: str = ""
    inferred: bool = field(default=False, compare=False, kw_only=True)

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """The attributes whose types are known, and these."""
        return {each.name: each.domain for each in self.attributes if each.domain is not None}

    @cached_property
    def positions(self) -> dict[str, int]:
        """Where each attribute lies in an event's values."""
        return {each.name: i for i, each in enumerate(self.attributes)}

    def __str__(self) -> str:
        number = "" if self.number is None else f" with id {self.number}"
        return f"declare {'fact ' if self.fact else ''}{self.name}({listed(self.attributes)}){number}"


Combines = Callable[[Any, Any], Any]
"""Two values to one of the same type; null is None, and of null comes null."""


@dataclass(frozen=True)
class DeclaredAggregate(Placed):
    """`declare aggregate PRODUCT(a: float, b: float) = a * b from 1.0`: values, combined in their order.

    Attributes
    ----------
    operands: what is combined so far, and the next value; of one type.
    combined: what comes of the two; None where a function of Python tells it.
    start: a literal, perhaps negated: where it begins, and what it is over nothing.
    function: of Python.
    """

    name: str
    operands: tuple[Attribute, ...]
    combined: Expression | None
    start: Expression
    function: Combines | None = None
    comment: str = ""

    @property
    def domain(self) -> Domain:
        """The type of the values, and of the aggregate."""
        (found,) = set(self.scope.domains.values())
        return found

    @property
    def scope(self) -> Declaration:
        """The operands, as if a row had them."""
        return Declaration(self.name, self.operands, fact=True)

    @property
    def first(self) -> Any:
        """The value from which on values are combined."""
        negated = isinstance(self.start, Operation)
        literal = self.start.operands[0] if isinstance(self.start, Operation) else self.start
        assert isinstance(literal, Literal)
        value = -literal.value if negated else literal.value
        return float(value) if self.domain == FLOAT else value

    def __str__(self) -> str:
        text = f"declare aggregate {self.name}({listed(self.operands)})"
        if self.combined is None:
            return f"# {text} from {self.start} is a function of Python"
        return f"{text} = {self.combined} from {self.start}"


def listed(items: tuple[object, ...]) -> str:
    """Side by side."""
    return ", ".join(map(str, items))
