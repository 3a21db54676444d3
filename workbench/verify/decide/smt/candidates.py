"""Candidates for invariants, from samples of reachable states: properties that all of them have in common.

The rule of this module: a candidate is a guess. It is a condition over the symbols of a state, in groups that depend on
each other little; `invariants` keeps those that z3 proves.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from workbench.core.domain import Bool
from workbench.core.encoding import encode_ends
from workbench.verify.decide.columns import RunColumns, constants_of
from workbench.verify.decide.part import Part
from workbench.verify.decide.smt.session import Z3Session
from workbench.verify.decide.smt.transition import Z3Transition

ROWS, LENGTH = 128, 256
"""The number of sampled runs, and their least length."""
MAX_SAMPLES = 4000
"""Maximum number of states."""
MAX_SAMPLED_VALUES = 5
"""Maximum number of sampled values of a variable whose values are cases."""
MAX_PAIRS = 400
"""Maximum number of candidates about pairs."""
MAX_COLUMNS = 48
"""Maximum number of variables in affine relations."""
MAX_EQUATIONS = 400
"""Number of samples of which affine relations are computed, up to twice as many."""
PRIME = 2**31 - 1
"""Affine relations are computed modulo this prime, and kept if they hold exactly."""
MAX_FACTOR = 1000
"""Maximum factor in affine relations."""


class SampledCondition(NamedTuple):
    """A condition on one variable: its expression, and its truth in each sample."""

    variable: int
    condition: Any
    truth: Any


class Candidates:
    """The candidates for a transition system.

    Raises
    ------
    Refused: the system has values that are not numbers of 64 bits.
    """

    def __init__(self, transition: Z3Transition, part: Part) -> None:
        self.transition, self.z3 = transition, transition.z3
        self.constants = constants_of(part)
        self.domains = [v.domain for v in transition.variables]
        self.samples = _sample(part, transition.session)
        self.ints = [i for i, domain in enumerate(self.domains) if not isinstance(domain, Bool)]
        self.spread = [len(np.unique(column)) for column in self.samples.T]
        self.literals = list(self._list_literals())

    def groups(self) -> Iterator[list[Any]]:
        """Yield groups of candidates, the most useful first."""
        yield [*self._list_bounds(None), *self._list_affine(None)]
        yield list(self._list_clauses())
        yield list(self._list_by_cases(self._list_affine))
        yield list(self._list_octagons())
        yield list(self._list_by_cases(self._list_bounds))

    def _list_by_cases(self, kind: Callable[[SampledCondition], Iterator[Any]]) -> Iterator[Any]:
        """Yield candidates of a kind under each condition that controls others."""
        for literal in self._list_cases():
            self.transition.session.check_limits()
            yield from (self.z3.Implies(literal.condition, each) for each in kind(literal))

    def _list_literals(self) -> Iterator[SampledCondition]:
        """Yield conditions that are true in some samples and false in others."""
        for i, (domain, symbol) in enumerate(zip(self.domains, self.transition.state, strict=True)):
            column = self.samples[:, i]
            if isinstance(domain, Bool):
                if self.spread[i] == 2:
                    yield SampledCondition(i, symbol, column == 1)
                    yield SampledCondition(i, self.z3.Not(symbol), column == 0)
                continue
            values = np.unique(column)
            if len(values) > MAX_SAMPLED_VALUES:
                values = values[[0, -1]]
            for value in values if self.spread[i] > 1 else ():
                yield SampledCondition(i, symbol == int(value), column == value)

    def _list_cases(self) -> Iterator[SampledCondition]:
        """Yield the literals of variables that control others: truth values, and small numbers."""
        ranked = sorted(self.literals, key=lambda each: self.spread[each.variable])
        for literal in ranked[:MAX_COLUMNS]:
            if literal.truth.sum() >= MAX_SAMPLED_VALUES:
                yield literal

    # --- kinds of candidates

    def _list_bounds(self, case: SampledCondition | None) -> Iterator[Any]:
        """Yield bounds: those of the samples, and the next ones among the constants of the system."""
        rows = self.samples if case is None else self.samples[case.truth]
        for i in self.ints:
            symbol, (lo, hi) = self.transition.state[i], encode_ends(self.domains[i])
            least, greatest = int(rows[:, i].min()), int(rows[:, i].max())
            known = self.samples[:, i]
            if case is not None:
                lo, hi = int(known.min()), int(known.max())
            above = [greatest, *(c + by for c in self.constants for by in (-1, 0, 1) if greatest < c + by)]
            below = [least, *(c + by for c in reversed(self.constants) for by in (1, 0, -1) if c + by < least)]
            yield from (symbol <= bound for bound in above[: 4 if case is None else 1] if bound < hi)
            yield from (symbol >= bound for bound in below[: 4 if case is None else 1] if bound > lo)

    def _list_affine(self, case: SampledCondition | None) -> Iterator[Any]:
        """Yield the equations of the affine hull of the samples; truth values are 0 and 1."""
        columns = sorted(range(len(self.domains)), key=lambda i: (self.spread[i], i))[:MAX_COLUMNS]
        if case is not None:
            columns = [i for i in columns if i != case.variable]
        rows = self.samples if case is None else self.samples[case.truth]
        for constant, factors in _find_relations(rows[:, columns]):
            if case is not None and (self.samples[:, columns] @ factors == constant).all():
                continue
            terms = [(int(f), self.transition.state[i], i) for f, i in zip(factors, columns, strict=True) if f]
            yield self._equation(terms, constant)

    def _equation(self, terms: Sequence[tuple[int, Any, int]], constant: int) -> Any:
        truths = [(f, symbol) for f, symbol, i in terms if isinstance(self.domains[i], Bool)]
        if len(terms) == len(truths) == 1:
            return truths[0][1] if constant else self.z3.Not(truths[0][1])
        if len(terms) == len(truths) == 2 and abs(truths[0][0]) == abs(truths[1][0]):
            (f, a), (g, b) = truths
            if f * g < 0 and constant == 0:
                return a == b
            if f * g > 0 and constant == f:
                return a != b
        one, zero = self.transition.translate.number(1), self.transition.translate.number(0)
        numbers = (
            f * (self.z3.If(symbol, one, zero) if isinstance(self.domains[i], Bool) else symbol)
            for f, symbol, i in terms
        )
        return sum(numbers, zero) == constant

    def _list_clauses(self) -> Iterator[Any]:
        """Yield clauses of two literals that are true in all samples."""
        clauses = (
            self.z3.Or(a.condition, b.condition)
            for a, b in itertools.combinations(self.literals, 2)
            if a.variable != b.variable and (a.truth | b.truth).all()
        )
        yield from itertools.islice(clauses, MAX_PAIRS)

    def _list_octagons(self) -> Iterator[Any]:
        """Yield bounds of sums and differences of two numbers that are tighter than those of the numbers."""
        ints = sorted((i for i in self.ints if self.spread[i] > 1), key=lambda i: self.spread[i])
        yield from itertools.islice(self._compare(ints), MAX_PAIRS)

    def _compare(self, ints: Sequence[int]) -> Iterator[Any]:
        for i, j in itertools.combinations(ints[:MAX_COLUMNS], 2):
            a, b = self.samples[:, i], self.samples[:, j]
            x, y = self.transition.state[i], self.transition.state[j]
            for column, value, least, greatest in (
                (a - b, x - y, a.min() - b.max(), a.max() - b.min()),
                (a + b, x + y, a.min() + b.min(), a.max() + b.max()),
            ):
                if column.min() > least:
                    yield value >= int(column.min())
                if column.max() < greatest:
                    yield value <= int(column.max())


def _sample(part: Part, session: Z3Session) -> Any:
    """Return reachable states, a row each."""
    columns = RunColumns(part, (), ROWS)
    columns.begin(seed=0)
    counters = [v.domain.size or 0 for v in part.model.system.variables]
    length = LENGTH + 2 * max((size for size in counters if size <= LENGTH), default=0)
    rows = max(4, MAX_SAMPLES // length)
    samples = [_stack(columns, slice(1))]
    for step in range(length):
        session.check_limits()
        columns.step()
        legal = np.flatnonzero(columns.legal)
        samples.append(_stack(columns, np.roll(legal, step * rows)[:rows]))
    return np.unique(np.concatenate(samples), axis=0)


def _stack(columns: RunColumns, rows: Any) -> Any:
    return np.stack([column[rows].astype(np.int64) for column in columns.state], axis=1)


def _find_relations(rows: Any) -> Iterator[tuple[int, Any]]:
    """Yield the affine relations of points: a constant, and factors whose products with each point add up to it."""
    count = rows.shape[1]
    some = rows[:: max(1, len(rows) // MAX_EQUATIONS)]  # relations among these are tried on all
    matrix = np.concatenate([np.ones((len(some), 1), np.int64), some], axis=1) % PRIME
    pivots: list[int] = []
    rank = 0
    for column in range(count + 1):
        hits = np.flatnonzero(matrix[rank:, column])
        if not len(hits):
            continue
        matrix[[rank, rank + hits[0]]] = matrix[[rank + hits[0], rank]]
        matrix[rank] = matrix[rank] * pow(int(matrix[rank, column]), -1, PRIME) % PRIME
        others = np.flatnonzero(matrix[:, column])
        others = others[others != rank]
        matrix[others] = (matrix[others] - matrix[others, column][:, None] * matrix[rank]) % PRIME
        pivots.append(column)
        rank += 1
        if rank == len(matrix):
            break
    for free in (column for column in range(count + 1) if column not in pivots):
        for scale in (1, 2, 3, 4, 5, 6):
            vector = np.zeros(count + 1, np.int64)
            vector[free] = scale
            vector[pivots] = -matrix[: len(pivots), free] * scale % PRIME
            vector = np.where(vector > PRIME // 2, vector - PRIME, vector)
            if np.abs(vector[1:]).max() <= MAX_FACTOR:
                if (rows @ vector[1:] == -vector[0]).all():
                    yield int(-vector[0]), vector[1:]
                break
