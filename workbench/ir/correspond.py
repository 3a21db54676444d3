"""Registers that are always equal, found by structure: two copies of a pipeline become one, for any N and Q.

State variables with equal initial values are assumed to be equal. If their next-state terms, with equal variables
identified, are different terms, they are separated, until nothing changes. Then all are equal in the first state, and
if they are equal in one state they are in the next: they are equal for ever. A variable may also be equal to the
constant it starts with. Terms with the same content are one object, so comparing them costs nothing, whatever the size
of the domains. This is the structural case of signal correspondence (C.A.J. van Eijk, Sequential equivalence checking
based on structural similarities, IEEE Transactions on CAD 19, 2000); variables equal for other reasons are not found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from workbench.budget import phase
from workbench.core.domain import Domain, Value
from workbench.core.fold import Substitute, map_leaves
from workbench.core.ops import as_term
from workbench.core.term import Term, const, var
from workbench.ir.system import System

COMMUTATIVE = frozenset(("and", "or", "add", "mul", "eq", "ne", "min", "max", "xor", "bit_and", "bit_or"))


@dataclass(frozen=True)
class Correspondence:
    """The variables of a system that are always equal.

    Attributes
    ----------
    equal: variable to the variable or constant that represents it; representatives are not in it.
    """

    system: System
    equal: Mapping[Term, Term]

    def reduce_system(self) -> System:
        """Return the system without the variables that others represent."""
        if not self.equal:
            return self.system
        fold = Substitute(dict(self.equal))
        variables = (v for v in self.system.variables if var(v.name, v.domain) not in self.equal)
        return replace(
            self.system,
            variables=tuple(v._replace(next=as_term(fold(v.next), v.next.domain)) for v in variables),
            definitions=tuple(d._replace(term=as_term(fold(d.term), d.term.domain)) for d in self.system.definitions),
        )

    def simplify(self, value: Any) -> Any:
        """Return terms with all definitions expanded, and equal variables replaced by their representative."""
        return map_leaves(_Canonical(dict(self.equal)), self.system.inline(value))


@phase("comparing registers")
def correspond(system: System, exempt_names: Iterable[str] = ()) -> Correspondence:
    """Find the variables of a system that are always equal, as far as structure shows it.

    Parameters
    ----------
    exempt_names: names of variables to leave alone.
    """
    left_alone = set(exempt_names)
    symbols = {var(v.name, v.domain): v for v in system.variables if v.name not in left_alone}
    following = dict(zip(symbols, system.inline(tuple(v.next for v in symbols.values())), strict=True))
    starts = {symbol: _constant(v.initial, v.domain) for symbol, v in symbols.items()}
    classes: dict[Any, list[Term]] = {}
    for symbol, start in starts.items():
        classes.setdefault(start, [start]).append(symbol)
    groups = list(classes.values())
    while True:
        equal = {member: group[0] for group in groups for member in group[1:]}
        fold = _Canonical(dict(equal))
        split: list[list[Term]] = []
        for group in groups:
            apart: dict[Term, list[Term]] = {}
            for member in group:
                after = member if member.is_const else fold(following[member])
                if after.is_const and after.payload in member.domain:
                    after = _constant(after.payload, member.domain)
                apart.setdefault(after, []).append(member)
            split += apart.values()
        if len(split) == len(groups):
            return Correspondence(system, equal)
        groups = split


def _constant(value: Value, domain: Domain) -> Term:
    term: Term = const(value, domain)
    return term


class _Canonical(Substitute):
    """A substitution that also brings the arguments of commutative operators into one order."""

    def default(self, term: Term, *args: Any) -> Term:
        if term.op is not None and term.op.name in COMMUTATIVE and args[0].domain == args[1].domain:
            args = tuple(sorted(args, key=lambda arg: self._ranks.setdefault(arg, len(self._ranks))))
        return super().default(term, *args)

    def __init__(self, bindings: dict[Term, Term]) -> None:
        super().__init__(bindings)
        self._ranks: dict[Term, int] = {}
