"""The script of a certificate: a transition system as functions, and the conditions that make an invariant a proof.

For a condition `good` that has to hold at every step, an `invariant` of states and a number k:

1. initial states satisfy the invariant;
2. a good step from a state that satisfies it leads to one that does;
3. the first k steps of every run are good;
4. after k good steps through states that satisfy it, the next step is good.

By induction over the steps of a run every step is good. `legal` are the assumptions, and that inputs are in their
domains; only legal steps count. States are in the domains of their variables: initial states are, and a good
step leads to one that is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from workbench.core.domain import BOOL, Domain, Integer, Range
from workbench.core.ops import as_term, conjunction
from workbench.core.term import Term
from workbench.ir.system import StateVariable
from workbench.verify.decide.part import Part
from workbench.verify.proof.smt_text import SExpression, SmtText, constant, in_domain, show, sort_of, symbol


@dataclass(frozen=True)
class Proof:
    """The proof that is added to a question.

    Attributes
    ----------
    depth: the number k of the rule.
    conditions: the invariant, as conditions over the state variables, in SMT-LIB.
    """

    depth: int
    conditions: Sequence[str]


@dataclass(frozen=True)
class Obligation:
    """A condition that has to hold at every step of every run.

    Attributes
    ----------
    part: the transition system.
    good: the condition.
    number: distinguishes the obligations of a certificate.
    """

    part: Part
    good: Term
    number: int

    @cached_property
    def state(self) -> dict[str, Domain]:
        """The state variables."""
        return {v.name: v.domain for v in self.part.model.system.variables}

    @property
    def ranged(self) -> list[StateVariable]:
        """The variables whose types alone do not show that the next value is in the domain."""
        return [v for v in self.part.model.system.variables if not _fits(v)]

    @property
    def inputs(self) -> Mapping[str, Domain]:
        """The inputs."""
        return self.part.model.system.free

    def name(self, function: str) -> str:
        """Return the name of one of the functions."""
        return f"{function}-{self.number}"

    # --- functions

    def functions(self, proof: Proof) -> Iterator[str]:
        """Yield the definitions of the functions."""
        system = self.part.model.system
        state, inputs = list(_declare(self.state)), list(_declare(self.inputs))
        after = [f"({symbol(_after(name))} {sort_of(domain)})" for name, domain in self.state.items()]
        starts = (f"(= {symbol(v.name)} {constant(v.domain, v.initial)})" for v in system.variables)
        yield self._define("initial", state, _all(starts))
        ranges = _all(filter(None, (in_domain(symbol(name), domain) for name, domain in self.state.items())))
        yield self._define("in-range", state, ranges)
        yield self._define("found", state, _all(proof.conditions))
        legal = as_term(conjunction(self.part.assume), BOOL)
        domains = filter(None, (in_domain(symbol(name), domain) for name, domain in self.inputs.items()))
        bindings, (allowed,) = self._write([legal])
        yield self._define("legal", [*state, *inputs], _within(bindings, _all([*domains, allowed])))
        bindings, (good, *following) = self._write([self.good, *(as_term(v.next, v.next.domain) for v in self.ranged)])
        next_ranges = (in_domain(text, v.domain) for v, text in zip(self.ranged, following, strict=True))
        yield self._define("good", [*state, *inputs], _within(bindings, _all([good, *next_ranges])))
        bindings, following = self._write([as_term(v.next, v.next.domain) for v in system.variables], everything=True)
        moves = (f"(= {symbol(_after(v.name))} {text})" for v, text in zip(system.variables, following, strict=True))
        yield self._define("step", [*state, *inputs, *after], _within(bindings, _all(moves)))

    def _define(self, function: str, parameters: Sequence[str], body: str) -> str:
        return f"(define-fun {self.name(function)} ({' '.join(parameters)}) Bool\n{body})"

    def _write(self, roots: Sequence[Term], *, everything: bool = False) -> tuple[list[tuple[str, str]], list[str]]:
        """Return terms as text, and the names that they use; `everything`: with all definitions of the system."""
        system = self.part.model.system
        used = system.cone(tuple(roots), through_state=False)
        writer = SmtText("$")
        for name, term in system.definitions:
            if everything or name in used:
                writer.define(name, term)
        texts = [writer(root) for root in roots]
        return writer.bindings, texts

    # --- conditions

    def queries(self, proof: Proof) -> Iterator[tuple[str, list[str]]]:
        """Yield the conditions: in words, and as declarations and assertions that nothing may satisfy."""
        yield "initial states satisfy the invariant", [
            *self._declare_moments(0), self._at(0, "initial"),
            f"(assert (not (and {self._call('in-range', 0)} {self._call('found', 0)})))",
        ]  # fmt: skip
        yield "good steps preserve the invariant", [
            *self._declare_moments(1), *self._hold(0), self._at(0, "legal"), self._at(0, "good"), self._step(0),
            f"(assert (not (and {self._call('in-range', 1)} {self._call('found', 1)})))",
        ]  # fmt: skip
        for depth in range(proof.depth):
            yield f"step {depth + 1} of every run is good", [
                *self._declare_moments(depth), self._at(0, "initial"), *self._run(depth)
            ]  # fmt: skip
        known = [line for moment in range(proof.depth + 1) for line in self._hold(moment)]
        good = [self._at(moment, "good") for moment in range(proof.depth)]
        after = f"{proof.depth} good steps" if proof.depth else "the invariant"
        yield f"a step after {after} is good", [
            *self._declare_moments(proof.depth), *known, *good, *self._run(proof.depth)
        ]  # fmt: skip

    def _run(self, last: int) -> list[str]:
        """Return the assertions of a run whose last step is not good."""
        legal = [self._at(moment, "legal") for moment in range(last + 1)]
        return [*legal, *map(self._step, range(last)), f"(assert (not {self._call('good', last)}))"]

    def _hold(self, moment: int) -> list[str]:
        return [self._at(moment, "in-range"), self._at(moment, "found")]

    def _declare_moments(self, last: int) -> Iterator[str]:
        for moment in range(last + 1):
            for name, domain in (*self.state.items(), *self.inputs.items()):
                yield f"(declare-const {symbol(f'{name}@{moment}')} {sort_of(domain)})"

    def _at(self, moment: int, function: str) -> str:
        return f"(assert {self._call(function, moment)})"

    def _call(self, function: str, moment: int) -> str:
        names = [*self.state, *(self.inputs if function in ("legal", "good") else ())]
        return _apply(self.name(function), (f"{name}@{moment}" for name in names))

    def _step(self, moment: int) -> str:
        current = (f"{name}@{moment}" for name in (*self.state, *self.inputs))
        after = (f"{name}@{moment + 1}" for name in self.state)
        return f"(assert {_apply(self.name('step'), (*current, *after))})"


def _fits(variable: StateVariable) -> bool:
    """Whether the domain of the next value shows that it is in the domain of the variable."""
    known, following = variable.domain, variable.next.domain
    if isinstance(known, Integer | Range) and isinstance(following, Integer | Range):
        return known.lo <= following.lo and following.hi <= known.hi
    return known == following


def _after(name: str) -> str:
    """Return the name of a variable after a step."""
    return f"{name}'"


def _declare(domains: Mapping[str, Domain]) -> Iterator[str]:
    return (f"({symbol(name)} {sort_of(domain)})" for name, domain in domains.items())


def _apply(function: str, names: Iterable[str]) -> str:
    arguments = " ".join(map(symbol, names))
    return f"({function} {arguments})" if arguments else function


def _all(conditions: Iterable[str]) -> str:
    """Return a conjunction, with a line for each condition."""
    lines = list(conditions)
    return "  " + ("\n    ".join(["(and", *lines]) + ")" if len(lines) > 1 else lines[0] if lines else "true")


def _within(bindings: Sequence[tuple[str, str]], body: str) -> str:
    """Return an expression in which names are bound."""
    lines = [f"  (let (({name} {text}))" for name, text in bindings]
    return "\n".join([*lines, f"  {body.strip()}{')' * len(bindings)}"])


def list_conditions(expression: SExpression) -> list[str]:
    """Return the conditions of a conjunction, as text."""
    if isinstance(expression, list) and expression and expression[0] == "and":
        return [text for each in expression[1:] for text in list_conditions(each)]
    return [] if expression == "true" else [show(expression)]


def write_script(source: str, obligations: Sequence[tuple[Obligation, Proof]]) -> str:
    """Return the script of a certificate.

    Parameters
    ----------
    source: the question, as JSON.
    """
    quoted = source.replace('"', '""')
    lines = [
        "; A certificate of workbench: a verdict 'holds', as conditions that no values satisfy. A solver has to answer",
        "; `unsat` to each. `workbench certify` also confirms that the system is that of the question.",
        f'(set-info :question "{quoted}")',
        "(set-logic ALL)",
    ]
    for obligation, proof in obligations:
        lines += ["", f"; obligation {obligation.number}", *obligation.functions(proof)]
        for words, query in obligation.queries(proof):
            lines += ["", f"; {obligation.number}: {words}", "(push 1)", *query, "(check-sat)", "(pop 1)"]
    return "\n".join([*lines, ""])
