"""Declarations of a rule file: types of events and facts with their attributes, and aggregates.

The rule of this module: it is part of the tree (`tree`), which exports the same names.
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
"""The types of attributes, by name."""
SPELLED = {row.domain: row.names[0] for row in TYPES}
"""The spelling of each type of attributes."""


@dataclass(frozen=True)
class Attribute(Placed):
    """A typed attribute; the type is None if the older grammar does not state it.

    Attributes
    ----------
    inferred: whether the type was inferred from a log's rows; a text may then be a number or a truth value elsewhere.
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
    number: its id, or None.
    comment: the comment in the lines above.
    inferred: whether it was inferred from a log's rows.
    """

    name: str
    attributes: tuple[Attribute, ...]
    fact: bool = False
    number: int | None = None
    comment: str = ""
    inferred: bool = field(default=False, compare=False, kw_only=True)

    @cached_property
    def domains(self) -> dict[str, Domain]:
        """The types of the attributes whose types are known, by name."""
        return {each.name: each.domain for each in self.attributes if each.domain is not None}

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each attribute in an event's values."""
        return {each.name: i for i, each in enumerate(self.attributes)}

    def __str__(self) -> str:
        number = "" if self.number is None else f" with id {self.number}"
        return f"declare {'fact ' if self.fact else ''}{self.name}({listed(self.attributes)}){number}"


Combines = Callable[[Any, Any], Any]
"""A function that combines two values of a type; null is None, and combines to null."""


@dataclass(frozen=True)
class DeclaredAggregate(Placed):
    """`declare aggregate PRODUCT(a: float, b: float) = a * b from 1.0`: an aggregate that combines values in order.

    Attributes
    ----------
    operands: the result so far and the next value, both of one type.
    combined: the expression that combines them; None if a Python function does.
    start: a literal, perhaps negated: the initial value, and the result over nothing.
    function: the Python function.
    """

    name: str
    operands: tuple[Attribute, ...]
    combined: Expression | None
    start: Expression
    function: Combines | None = None
    comment: str = ""

    @property
    def domain(self) -> Domain:
        """The type of the values and of the aggregate."""
        (domain,) = set(self.scope.domains.values())
        return domain

    @property
    def scope(self) -> Declaration:
        """The operands, declared as attributes of a row."""
        return Declaration(self.name, self.operands, fact=True)

    @property
    def first(self) -> Any:
        """The value from which combining starts."""
        negated = isinstance(self.start, Operation)
        literal = self.start.operands[0] if isinstance(self.start, Operation) else self.start
        assert isinstance(literal, Literal)
        value = -literal.value if negated else literal.value
        return float(value) if self.domain == FLOAT else value

    def __str__(self) -> str:
        text = f"declare aggregate {self.name}({listed(self.operands)})"
        if self.combined is None:
            return f"# {text} from {self.start} is a Python function"
        return f"{text} = {self.combined} from {self.start}"


def listed(items: tuple[object, ...]) -> str:
    """Join items with commas."""
    return ", ".join(map(str, items))
