"""Definitions and state variables under construction, in dependency order."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.fields import parts, scalars, split
from workbench.core.fold import postorder
from workbench.core.ops import as_term
from workbench.core.processor import Burst, Emission, Maybe, Slot, State, Stepped, slots_of
from workbench.core.strict_values import Computed
from workbench.core.term import Change, Term, intern, leaves, like, same, var
from workbench.ir.system import Definition, StateVariable


class Wires:
    """A collector of the definitions and variables of a system, or of a part of one."""

    def __init__(self) -> None:
        self.variables: list[StateVariable] = []
        self.definitions: list[Definition] = []
        self.uses: dict[str, Term] = {}
        """For definitions of values: the condition that the value is used."""

    def add(self, other: Wires) -> None:
        """Add the definitions and variables of a part."""
        self.variables += other.variables
        self.definitions += other.definitions
        self.uses.update(other.uses)

    def define(self, name: str, term: Term) -> Term:
        """Define a term; return the variable that stands for it."""
        self.definitions.append(Definition(name, term))
        symbol: Term = var(name, term.domain)
        return symbol

    def define_value(self, name: str, value: Any, domain: Domain, present: Term) -> Any:
        """Define each scalar part of a value, which is used where `present` is true."""
        if isinstance(value, tuple):
            fields = zip(value, parts(value.domain.change if isinstance(value, Change) else domain), strict=True)
            return like(value, [self.define_value(f"{name}.{n}", v, d, present) for v, (n, d) in fields])
        self.uses[name] = present
        return self.define(name, as_term(value, domain))

    def share(self, name: str, term: Term) -> Term:
        """Define a term that is used in several places, unless it is a constant or a name already."""
        return self.define(name, term) if term.args else term

    def share_value(self, name: str, value: Any) -> Any:
        """Apply `share` to each scalar part."""
        if isinstance(value, tuple):
            return tuple(self.share_value(f"{name}.{i}", part) for i, part in enumerate(value, 1))
        return self.share(name, value) if isinstance(value, Term) else value

    def store(self, slot: Slot, old: Any, new: Any) -> None:
        """Add a state variable for each scalar part of a slot."""
        initial: list[Value] = list(split(slot.domain, slot.initial))
        scalar_parts = zip(scalars(slot.domain), leaves(old), leaves(new), initial, strict=True)
        for (_, domain), symbol, following, value in scalar_parts:
            self.variables.append(StateVariable(symbol.name, domain, value, following))


# --- what terms have in common --------------------------------------------------------------------------------------


LEAST = 24
"""Minimum size of a term that gets a name if it is used in several places."""


def named(values: Sequence[Any], define: Callable[[Term], Term]) -> list[Any]:
    """Return the same values, with names for terms that are used in several places.

    Parameters
    ----------
    values: terms, plain values, and tuples of them.
    define: names a term, and returns the variable that stands for it.
    """
    roots = [leaf for value in values for leaf in leaves(value) if isinstance(leaf, Term)]
    order = list(postorder(roots))
    uses = Counter(arg for node in order for arg in node.args)
    uses.update(roots)
    substitution: dict[Term, Term] = {}
    sizes: dict[Term, int] = {}
    for node in order:
        args = tuple(substitution[arg] for arg in node.args)
        here = node if same(args, node.args) else intern(node.op, args, node.domain)
        sizes[node] = 1 + sum(sizes[arg] for arg in node.args)
        if uses[node] > 1 and sizes[node] >= LEAST:
            here, sizes[node] = define(here), 1
        substitution[node] = here
    return [_rename(value, substitution) for value in values]


def _rename(value: Any, substitution: dict[Term, Term]) -> Any:
    if isinstance(value, tuple):
        return like(value, [_rename(part, substitution) for part in value])
    return substitution[value] if isinstance(value, Term) else value


def name_shared(
    wires: Wires, prefix: str, following: State, results: Sequence[Emission], step_values: Computed
) -> Stepped:
    """Return the result of a step, with names for the terms that its parts share."""
    count = itertools.count(1)
    slots = [slots_of(out) for out in results]
    emitted = [part for each in slots for slot in each for part in slot]
    values = iter(
        named(
            [*following, *emitted, *step_values.known, *step_values.ends],
            lambda term: wires.define(f"{prefix}_{next(count)}", term),
        )
    )
    state = tuple(next(values) for _ in following)
    outs = tuple(Burst([Maybe(next(values), next(values)) for _ in each]) for each in slots)
    step_values.known = [next(values) for _ in step_values.known]
    step_values.ends = list(values)
    return state, outs
