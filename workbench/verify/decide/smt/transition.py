"""The transition system of a part in z3: one step, which engines rename as often as they need it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from workbench.core.domain import Bool, Domain, Value
from workbench.core.encoding import decode, encode_ends
from workbench.core.term import Term, const, var
from workbench.verify.decide.part import Part
from workbench.verify.decide.smt.session import Z3Session
from workbench.verify.decide.smt.translate import Z3Translation


class Renaming:
    """The replacement of symbols in conditions; z3's own function checks each pair of sorts in each call."""

    def __init__(self, z3: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
        self.z3, self.pairs = z3, list(pairs)
        array = z3.Ast * len(self.pairs)
        self._old = array(*(old.as_ast() for old, _ in self.pairs))
        self._new = array(*(new.as_ast() for _, new in self.pairs))

    def __call__(self, expression: Any) -> Any:
        z3, context = self.z3, expression.ctx
        ast = z3.Z3_substitute(context.ref(), expression.as_ast(), len(self.pairs), self._old, self._new)
        return z3.BoolRef(ast, context)


class Instant(NamedTuple):
    """The symbols of one moment of a run.

    Attributes
    ----------
    state: the state, by the number of its variable; constants at the beginning of a run.
    inputs: the inputs, by name.
    at: replaces the symbols of `Z3Transition` in an expression by those of this moment.
    """

    state: tuple[Any, ...]
    inputs: Mapping[str, Any]
    at: Renaming


class Z3Transition:
    """The transition system of a part.

    Parameters
    ----------
    translation: the translation of terms to z3.

    Attributes
    ----------
    state, inputs: the symbols of a state and of the inputs.
    following: the next value of each variable of the state.
    legal: the assumptions, and that inputs are in their domains.
    ranges: the variables of the state are in their domains.
    initial: the initial value of each variable.

    Raises
    ------
    Refused, UnsupportedNode: the system cannot be translated.
    """

    def __init__(self, session: Z3Session, part: Part, translation: type[Z3Translation] = Z3Translation) -> None:
        self.session, self.part, system = session, part, part.model.system
        self.z3 = session.z3
        self.variables = system.variables
        self.translate = translation(self.z3, session.context)
        self.symbol = self.translate.symbol
        self.state = tuple(self.symbol(v.name, v.domain) for v in system.variables)
        self.inputs = {name: self.symbol(f"{name}?", domain) for name, domain in system.free.items()}
        names = {var(v.name, v.domain): symbol for v, symbol in zip(system.variables, self.state, strict=True)}
        names |= {var(name, domain): self.inputs[name] for name, domain in system.free.items()}
        self.translate.memo.update(names)
        for name, term in system.definitions:
            self.translate.memo[var(name, term.domain)] = self.translate(term)
        self.following = tuple(self.translate.of_domain(v.next, v.domain) for v in system.variables)
        self.legal = self.all_of(
            (
                *(self.translate(condition) for condition in part.assume),
                *self.in_domains((symbol, system.free[name]) for name, symbol in self.inputs.items()),
            )
        )
        self._after = tuple(self.symbol(f"{v.name}!", v.domain) for v in system.variables)
        pairs = zip(self._after, self.following, strict=True)
        self._step = self.all_of(after == following for after, following in pairs)
        domains = (v.domain for v in system.variables)
        self.ranges = self.all_of(self.in_domains(zip(self.state, domains, strict=True)))
        self.initial = tuple(self.constant(v.domain, v.initial) for v in system.variables)

    def constant(self, domain: Domain, value: Value) -> Any:
        """Return the expression of a value."""
        term: Term = const(value, domain)
        return self.translate(term)

    def all_of(self, conditions: Iterable[Any]) -> Any:
        """Return a conjunction."""
        return self.z3.And(self.z3.BoolVal(True, self.session.context), *conditions)

    def in_domains(self, pairs: Iterable[tuple[Any, Domain]]) -> list[Any]:
        """Return the conditions that symbols are in their domains."""
        conditions = []
        for symbol, domain in pairs:
            if not isinstance(domain, Bool):
                lo, hi = encode_ends(domain)
                conditions += [symbol >= lo, symbol <= hi]
        return conditions

    # --- moments of a run

    def instant(self, moment: int, state: tuple[Any, ...] | None = None) -> Instant:
        """Return the symbols of a moment; with this state, or with one of fresh symbols."""
        if state is None:
            state = tuple(self.symbol(f"{v.name}@{moment}", v.domain) for v in self.variables)
        free = self.part.model.system.free
        inputs = {name: self.symbol(f"{name}?@{moment}", free[name]) for name in self.inputs}
        pairs = [*zip(self.state, state, strict=True), *zip(self.inputs.values(), inputs.values(), strict=True)]
        return Instant(state, inputs, Renaming(self.z3, pairs))

    def advance(self, solver: Any, instant: Instant, moment: int) -> Instant:
        """Return the moment after a step, whose state is asserted to be the next one."""
        after = self.instant(moment)
        pairs = [*instant.at.pairs, *zip(self._after, after.state, strict=True)]
        solver.add(Renaming(self.z3, pairs)(self._step))
        return after

    def read(self, model: Any, instant: Instant) -> dict[str, Value]:
        """Return the values of the inputs at a moment."""
        free = self.part.model.system.free
        return {name: self.value(free[name], model, symbol) for name, symbol in instant.inputs.items()}

    def value(self, domain: Domain, model: Any, expression: Any) -> Value:
        """Return the value of an expression in a model of z3."""
        constant = model.eval(expression, model_completion=True)
        return (
            self.z3.is_true(constant)
            if isinstance(domain, Bool)
            else decode(domain, self.translate.read_number(constant))
        )
