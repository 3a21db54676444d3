"""Relations between the variables of a state that hold in every reachable state.

A relation is a sum of multiples of monomials that is 0: exactly, or modulo N if it is about integers modulo N. The
search starts with all relations that hold in the initial state. It repeatedly keeps those that hold after every step
from a state in which all of them hold, until none is lost: then they hold for ever. A round is linear algebra.

Linear relations: M. Karr, Affine relationships among variables of a program (Acta Informatica 6, 1976); polynomial ones
and arithmetic of words: M. Müller-Olm, H. Seidl, Analysis of modular arithmetic (TOPLAS 29, 2007). Here guards are
included: a bit for each value of a small variable, and products with such a bit.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Sequence
from enum import IntEnum
from fractions import Fraction
from typing import NamedTuple

from workbench.budget import report
from workbench.core.domain import Bool
from workbench.core.encoding import encode
from workbench.core.term import Term
from workbench.ir.system import StateVariable, System
from workbench.smv.engines.engine import Answer, EngineLimits
from workbench.verify.decide.algebra.orient import Ranking, as_rules
from workbench.verify.decide.algebra.polynomial import (
    UNIT,
    Generators,
    Monomial,
    Polynomial,
    Rules,
    constant,
    plus,
)
from workbench.verify.decide.algebra.space import Vector, integral, kernel
from workbench.verify.decide.algebra.translate import CoefficientRing, Translation, by_cases, codes_of, ring
from workbench.verify.decide.part import Decision, Part
from workbench.verify.decide.system_decider import OutOfLimits, SystemDecider

MAXIMUM = 1000
"""Maximum number of monomials in relations."""


class MonomialKind(IntEnum):
    """The kinds of monomials in relations; each kind includes the ones before."""

    LINEAR = 1
    """Variables, and the bits of small ones."""
    GUARDED = 2
    """Products of a bit with a bit or a variable."""
    QUADRATIC = 3
    """Products of two variables, and of a bit with them."""


class Aspect(NamedTuple):
    """The meaning of a generator: the number of a state variable, or whether it has one value (`code`)."""

    variable: StateVariable
    code: int | None
    initial: int


class Relations:
    """The relations that always hold between the variables of a system.

    Parameters
    ----------
    assume: conditions on the inputs that hold at every step.
    known: relations of the same system, made with the same generators, to be extended.

    Attributes
    ----------
    aspects: the meaning of the generators of the state.
    rules: the relations as rules, by ring: each monomial equals the polynomial that replaces it.

    Raises
    ------
    OutOfLimits: there are too many monomials, or the generators' work or time is used up.
    """

    def __init__(
        self,
        system: System,
        assume: Sequence[Term],
        generators: Generators,
        kind: MonomialKind,
        known: Relations | None = None,
    ) -> None:
        self._system, self._generators = system, generators
        self._assume = [system.inline(condition) for condition in assume]
        following = system.inline(tuple(variable.next for variable in system.variables))
        self._following = dict(zip(system.variables, following, strict=True))
        self.aspects = self._aspects_of_state()
        self._known = known.rules if known else {}
        self._known_order = known.order if known else None
        self._spaces = {over: self._at_first(over, kind) for over in self._rings()}
        self._orient()
        while self._refine():
            self._orient()

    def prove(self, term: Term) -> bool:
        """Whether these relations prove that a condition is true at every step."""
        wrong = plus(constant(1), self._translation.truth(self._system.inline(term)), -1)
        return not self._translation.under_guards(self._translation.times(self._input_polynomial(), wrong, None))

    # --- monomials

    def _aspects_of_state(self) -> dict[int, Aspect]:
        """Return the generators of the state, with their meaning."""
        aspects = {}
        for v in self._system.variables:
            initial = int(encode(v.domain, v.initial))
            if isinstance(v.domain, Bool):
                aspects[self._generators.bit(v.name)] = Aspect(v, 1, initial)
            elif by_cases(v.domain):
                for code in codes_of(v.domain)[1]:
                    aspects[self._generators.bit(code, v.name)] = Aspect(v, code, int(initial == code))
            else:
                aspects[self._generators.number(v.name)] = Aspect(v, None, initial)
        return aspects

    def _rings(self) -> list[CoefficientRing]:
        """Return the rings: exact (None) first, then modulo each N of the variables."""
        modular = (ring(v.domain) for v in self._system.variables)
        return [None, *dict.fromkeys(over for over in modular if over is not None)]

    def _at_first(self, over: CoefficientRing, kind: MonomialKind) -> list[Vector]:
        """Return the relations that hold in the initial state."""
        replaced = Rules(self._generators, self._known.get(over, {}))
        monomials = [monomial for monomial in self._monomials(over, kind) if replaced.divisor(monomial) is None]
        if len(monomials) > MAXIMUM:
            raise OutOfLimits(f"{len(monomials)} monomials are more than the limit of {MAXIMUM}")
        return [self._difference(monomial) for monomial in monomials]

    def _monomials(self, over: CoefficientRing, kind: MonomialKind) -> list[Monomial]:
        """Return the monomials of this kind, except 1."""
        bits = [(g,) for g, aspect in self.aspects.items() if aspect.code is not None]
        numbers: dict[CoefficientRing, list[Monomial]] = {}
        for generator, aspect in self.aspects.items():
            if aspect.code is None:
                numbers.setdefault(ring(aspect.variable.domain), []).append((generator,))
        own = numbers.get(over, [])
        monomials = [*bits, *numbers.get(None, []), *own]
        if kind >= MonomialKind.GUARDED:
            monomials += self._products(itertools.chain(itertools.combinations(bits, 2), itertools.product(own, bits)))
        if kind >= MonomialKind.QUADRATIC:
            squares = self._products(itertools.combinations_with_replacement(own, 2))
            monomials += [*squares, *self._products(itertools.product(squares, bits))]
        return list(dict.fromkeys(monomials))

    def _products(self, pairs: Iterable[tuple[Monomial, Monomial]]) -> list[Monomial]:
        products = (self._generators.product(a, b) for a, b in pairs)
        return [product for product in products if product is not None]

    def _difference(self, monomial: Monomial) -> Vector:
        """Return the relation that a monomial has its initial value."""
        initial = math.prod(self.aspects[generator].initial for generator in monomial)
        return {monomial: Fraction(1), UNIT: Fraction(-initial)} if initial else {monomial: Fraction(1)}

    # --- rounds

    def _orient(self) -> None:
        """Turn the current relations into rules of the translation."""
        self.order: Ranking = Ranking(self._known_order)
        self.rules: dict[CoefficientRing, dict[Monomial, Polynomial]] = {}
        for over, space in self._spaces.items():  # the exact ones come first, and hold in every ring
            known = {**self.rules.get(None, {}), **self._known.get(over, {})}
            self.rules[over] = as_rules(integral(space, self._generators), known, self._generators, self.order)
        rules = {over: Rules(self._generators, of) for over, of in self.rules.items()}
        self._translation = Translation(self._generators, rules)

    def _refine(self) -> bool:
        """Drop the relations that a step may break; return whether any was dropped."""
        allowed = self._input_polynomial()
        after = {generator: self._after(aspect) for generator, aspect in self.aspects.items()}
        lost = False
        for over, space in self._spaces.items():
            images: dict[Monomial, Polynomial] = {UNIT: allowed}
            for monomial in {m for row in space for m in row}:
                for start in range(len(monomial) - 1, -1, -1):
                    part, rest = monomial[start:], monomial[start + 1 :]
                    if part not in images:
                        images[part] = self._translation.times(images[rest], after[part[0]], over)
            self._spaces[over] = kernel(space, images, self._generators)
            lost |= len(self._spaces[over]) < len(space)
        return lost

    def _after(self, aspect: Aspect) -> Polynomial:
        """Return the value of a generator after a step."""
        value = self._translation(self._following[aspect.variable])
        if aspect.code is None or isinstance(aspect.variable.domain, Bool):
            return self._translation.number(value)
        return self._translation.is_equal(value, aspect.code)

    def _input_polynomial(self) -> Polynomial:
        """Return the polynomial that is 1 where the inputs satisfy the assumptions, else 0."""
        polynomial = constant(1)
        for condition in self._assume:
            polynomial = self._translation.times(polynomial, self._translation.truth(condition), None)
        return polynomial


# --- the decider ----------------------------------------------------------------------------------------------------


WORK = 1_000_000
"""Maximum number of products of monomials in a proof: a few seconds."""


class AlgebraDecider(SystemDecider):
    """A decider by polynomial relations between the variables of a state. It proves invariants, or does not decide."""

    name, subject = "algebra", "algebra knows"

    def answer(self, part: Part, limits: EngineLimits, *, count_states: bool) -> Decision:
        del count_states
        answers = {role: Answer(None, reason="it proves invariants only") for role in part.questions}
        invariants = [role for role, question in part.questions.items() if question.kind == "invar"]
        if invariants:
            answers |= _prove(part, invariants, limits)
        return Decision(answers, self.title)


def _prove(part: Part, roles: list[str], limits: EngineLimits) -> dict[str, Answer]:
    """Prove invariants by the simplest relations first, and by more if these are not enough."""
    deadline = math.inf if limits.seconds is None else time.monotonic() + limits.seconds
    answers: dict[str, Answer] = {}
    reason = "no relation that was found proves it"
    relations = None
    try:
        generators = Generators(WORK, deadline)
        for kind in MonomialKind:
            report(f"{kind.name.lower()} relations")
            relations = Relations(part.model.system, part.assume, generators, kind, relations)
            for role in roles:
                term = part.questions[role].formula.term
                if role not in answers and term is not None and relations.prove(term):
                    answers[role] = Answer(True)
            if len(answers) == len(roles):
                break
    except OutOfLimits as stop:
        reason = str(stop)
    return {role: answers.get(role, Answer(None, reason=reason)) for role in roles}
