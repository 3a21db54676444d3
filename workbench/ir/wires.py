"""Definitions and state variables as they are made, in dependency order."""

from __future__ import annotations

from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import parts, scalars, split
from workbench.core.ops import as_term
from workbench.core.processor import Slot
from workbench.core.term import Change, Term, leaves, like, var
from workbench.ir.system import Definition, StateVariable


class Wires:
    """Collects the definitions and the variables of a system, or of a part of one."""

    def __init__(self) -> None:
        self.variables: list[StateVariable] = []
        self.definitions: list[Definition] = []
        self.uses: dict[str, Term] = {}
        """For definitions of values: when the value is used."""

    def add(self, other: Wires) -> None:
        """Those of a part."""
        self.variables += other.variables
        self.definitions += other.definitions
        self.uses.update(other.uses)

    def define(self, name: str, term: Term) -> Term:
        """A definition; the variable that stands for it."""
        self.definitions.append(Definition(name, term))
        symbol: Term = var(name, term.domain)
        return symbol

    def define_value(self, name: str, value: Any, domain: Domain, present: Term) -> Any:
        """A definition for each scalar part of a value, which is used where `present`."""
        if isinstance(value, tuple):
            fields = zip(value, parts(value.domain.change if isinstance(value, Change) else domain), strict=True)
            return like(value, [self.define_value(f"{name}.{n}", v, d, present) for v, (n, d) in fields])
        self.uses[name] = present
        return self.define(name, as_term(value, domain))

    def shared(self, name: str, term: Term) -> Term:
        """A definition for a term that is used in several places, unless it is a constant or a name already."""
        return self.define(name, term) if term.args else term

    def shared_value(self, name: str, value: Any) -> Any:
        """`shared`, for each scalar part."""
        if isinstance(value, tuple):
            return tuple(self.shared_value(f"{name}.{i}", part) for i, part in enumerate(value, 1))
        return self.shared(name, value) if isinstance(value, Term) else value

    def store(self, slot: Slot, old: Any, new: Any) -> None:
        """A state variable for each scalar part of a slot."""
        initial: list[Value] = list(split(slot.domain, slot.initial))
        scalar_parts = zip(scalars(slot.domain), leaves(old), leaves(new), initial, strict=True)
        for (_, domain), symbol, following, value in scalar_parts:
            self.variables.append(StateVariable(symbol.name, domain, value, following))
