"""Ranges of whole numbers under conditions that are true: `n + 1` is at most 3 where `n < 3` is true.

A condition is split into cases, one of which is true (its disjunctive normal form), and a case into facts about
linear sums, as `0 <= n - cost`. The ranges are sound, and as narrow as combinations of few facts make them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Integer, Integers, Range, SomeFloats
from workbench.core.fold import Fold
from workbench.core.ops import DIV, ITE, MAX, MIN, MOD, MUL, Conversion, restrict_to_range
from workbench.core.term import FALSE, TRUE, Term, var

Sum = Mapping[Term | None, int]
"""The factors of the terms in a sum; None stands for 1."""

Interval = tuple[int | float, int | float]
"""The least and the greatest number, perhaps infinite; empty where the first is greater."""


class Fact(NamedTuple):
    """A sum without a constant, and its range; for a condition that compares no numbers, 1 or 0."""

    total: Sum
    within: Interval


Case = tuple[Fact, ...]
"""Facts that are true together."""

Disjunction = tuple[Case, ...]
"""Cases of which one is true."""

Sides = tuple[Disjunction, Disjunction]
"""The cases in which a condition is true, and those in which it is false."""

ALWAYS: Disjunction = ((),)
WHOLE: Interval = (-math.inf, math.inf)
EMPTY: Interval = (math.inf, -math.inf)
MAX_CASES = 16
"""Maximum number of cases of a condition."""
MAX_STEPS = 1_000
"""Maximum number of steps to find a range."""
MAX_LEVELS = 30
"""Maximum nesting of operators whose ranges are narrowed."""


def range_of(term: Term, conditions: Iterable[Term] = ()) -> Interval:
    """Return the range of a whole number where all the given conditions are true."""
    ranges = _Ranges()
    return ranges.bound(term, reduce(_both, [ranges.conditions(each)[0] for each in conditions], ALWAYS))


def narrow(value: Term, domain: Domain, conditions: Sequence[Term], *, checked: bool) -> Any:
    """Narrow the type of a number to a range; None where that is not possible.

    It is possible where the given conditions imply the range, or if it is `checked`: a number that leaves the range is
    then flagged as in a checked domain. It is not possible for a type without a number in the range.
    """
    if type(domain) is not Range or not is_whole(value.domain):
        return None
    lo, hi = range_of(value, conditions)
    if domain.lo <= lo and hi <= domain.hi and isinstance(value.domain, Range):
        return restrict_to_range(value, domain)
    lo, hi = range_of(value)
    return Conversion.check_range(value, domain) if checked and lo <= domain.hi and domain.lo <= hi else None


def is_whole(domain: Domain) -> bool:
    """Whether the values are whole numbers in runs and models alike."""
    return isinstance(domain, Range | Integer | Integers) and not isinstance(domain, SomeFloats)


class _Sums(Fold[Sum]):
    """Decomposes whole numbers into sums of terms that are not sums, as far as arithmetic is exact."""

    def default(self, term: Term, *args: Any) -> Sum:
        if term.is_const and is_whole(term.domain):
            return {None: term.payload}
        if term.op is None or isinstance(term.domain, Integer) or not is_whole(term.domain):
            return {term: 1}
        match term.op.name, args:
            case "add", (a, b):
                return _plus(a, b)
            case "sub", (a, b):
                return _plus(a, b, -1)
            case "mul", (a, b) if a.keys() <= {None} or b.keys() <= {None}:
                one, other = (a, b) if a.keys() <= {None} else (b, a)
                return _plus({}, other, one.get(None, 0))
            case "cast", (a,) if is_whole(term.args[0].domain):
                return a  # type: ignore[no-any-return]
        return {term: 1}


def _plus(a: Sum, b: Sum, times: int = 1) -> Sum:
    """Return the sum `a + times * b`."""
    factors = {**a, **{term: a.get(term, 0) + times * factor for term, factor in b.items()}}
    return {term: factor for term, factor in factors.items() if factor}


class _Conditions(Fold[Sides]):
    """Computes the cases in which a condition is true, and those in which it is false."""

    def __init__(self, sums: _Sums) -> None:
        super().__init__()
        self.sums = sums

    def default(self, term: Term, *args: Any) -> Sides:
        if term is TRUE or term is FALSE:
            return (ALWAYS, ()) if term is TRUE else ((), ALWAYS)
        if term.op is not None and term.op.holds and all(is_whole(arg.domain) for arg in term.args):
            difference = _plus(self.sums(term.args[0]), self.sums(term.args[1]), -1)
            signs = set(term.op.holds)
            return _split_cases(difference, signs), _split_cases(difference, set("<=>") - signs)
        return ((Fact({term: 1}, (1, 1)),),), ((Fact({term: 1}, (0, 0)),),)  # a truth value as a number

    def on_not(self, _: Term, a: Sides) -> Sides:
        return a[1], a[0]

    def on_and(self, _: Term, a: Sides, b: Sides) -> Sides:
        return _both(a[0], b[0]), _either(a[1], b[1])

    def on_or(self, _: Term, a: Sides, b: Sides) -> Sides:
        return _either(a[0], b[0]), _both(a[1], b[1])

    def on_implies(self, _: Term, a: Sides, b: Sides) -> Sides:
        return _either(a[1], b[0]), _both(a[0], b[1])


def _split_cases(difference: Sum, signs: set[str]) -> Disjunction:
    """Return the cases in which a difference is negative, zero or positive, for the signs given."""
    total: Sum = {term: factor for term, factor in difference.items() if term is not None}
    zero = -difference.get(None, 0)
    if signs == {"<", ">"}:
        return *_split_cases(difference, {"<"}), *_split_cases(difference, {">"})
    lo = -math.inf if "<" in signs else zero + ("=" not in signs)
    hi = math.inf if ">" in signs else zero - ("=" not in signs)
    return ((Fact(total, (lo, hi)),),)


def _both(a: Disjunction, b: Disjunction) -> Disjunction:
    """Return the cases in which both are true; if there are too many, those of one, which imply less."""
    if len(a) * len(b) > MAX_CASES:
        return min(a, b, key=len)
    return tuple((*one, *other) for one in a for other in b)


def _either(a: Disjunction, b: Disjunction) -> Disjunction:
    return (*a, *b) if len(a) + len(b) <= MAX_CASES else ALWAYS


def _meet(a: Interval, b: Interval) -> Interval:
    return max(a[0], b[0]), min(a[1], b[1])


def _hull(intervals: Iterable[Interval]) -> Interval:
    all_intervals = [*intervals, EMPTY]
    return min(lo for lo, _ in all_intervals), max(hi for _, hi in all_intervals)


def _shift(a: Interval, b: Interval) -> Interval:
    """Return the range of the sum of two numbers."""
    return _add(a[0], b[0]), _add(a[1], b[1])


def _add(x: int | float, y: int | float) -> int | float:
    """Return the sum of two bounds, floats where they are infinite: whole numbers may be too large for a float."""
    return x if isinstance(x, float) else y if isinstance(y, float) else x + y


def _scale(a: Interval, factor: int) -> Interval:
    sign = 1 if factor > 0 else -1
    lo, hi = (end * (sign if isinstance(end, float) else factor) for end in a[::sign])
    return lo, hi


class _Ranges:
    """Computes ranges of terms, and of sums, in cases."""

    def __init__(self) -> None:
        self.sums = _Sums()
        self.conditions = _Conditions(self.sums)
        self.steps, self.levels = MAX_STEPS, 0

    def bound(self, term: Term, cases: Disjunction) -> Interval:
        """Return the range of a term where one of these cases is true."""
        return _hull(self._find_sum_bounds(self.sums(term), case) for case in cases if not self._contradicts(case))

    def _contradicts(self, case: Case) -> bool:
        """Whether its facts cannot all be true."""
        for i, (total, within) in enumerate(case):
            lo, hi = _meet(within, self._find_sum_bounds(total, case[:i] + case[i + 1 :]))
            if lo > hi:
                return True
        return False

    def _find_sum_bounds(self, total: Sum, case: Case) -> Interval:
        """Return the range of a sum: from its terms, or from a fact about a part of it and the rest."""
        bounds = self._find_terms_bounds(total, case)
        for i, fact in enumerate(case):
            for times in {total.get(term, 0) // k for term, k in fact.total.items() if total.get(term, 0) % k == 0} - {
                0
            }:
                if self.steps > 0:
                    self.steps -= 1
                    rest = self._find_sum_bounds(_plus(total, fact.total, -times), case[:i] + case[i + 1 :])
                    bounds = _meet(bounds, _shift(rest, _scale(fact.within, times)))
        return bounds

    def _find_terms_bounds(self, total: Sum, case: Case) -> Interval:
        ranges = (
            (factor, (1, 1) if term is None else self._find_term_bounds(term, case)) for term, factor in total.items()
        )
        nothing: Interval = (0, 0)
        return reduce(_shift, (_scale(within, factor) for factor, within in ranges), nothing)

    def _find_term_bounds(self, term: Term, case: Case) -> Interval:
        """Return the range of a term that is not a sum: from its type, and the narrowed ranges of its arguments."""
        own = (term.domain.lo, term.domain.hi) if isinstance(term.domain, Range | Integer) else WHOLE
        if self.levels >= MAX_LEVELS or self.steps <= 0:
            return own
        self.steps, self.levels = self.steps - 1, self.levels + 1
        bounds = self._operate(term, case)
        self.levels -= 1
        return _meet(own, bounds)

    def _operate(self, term: Term, case: Case) -> Interval:
        if term.op is ITE:
            sides = zip(term.args[1:], self.conditions(term.args[0]), strict=True)
            return _hull(self.bound(side, _both((case,), cases)) for side, cases in sides)
        if term.op in (MIN, MAX, DIV, MOD, MUL) and isinstance(term.domain, Range):
            ranges = [self.bound(arg, (case,)) for arg in term.args]
            if all(lo <= hi for lo, hi in ranges):
                assert term.op is not None
                domain = term.op.result(term.op, tuple(var("", Range(int(lo), int(hi))) for lo, hi in ranges))
                return (domain.lo, domain.hi) if isinstance(domain, Range) else WHOLE
        return WHOLE
