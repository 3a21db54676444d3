"""From relations to rules: each relation replaces one of its monomials by the others.

A rule must make monomials smaller in an order that products preserve, or rewriting might not end: lexicographic by
the numbers in them, then by their bits. The relations choose the order of the numbers, as long as they agree. And
the monomial that is replaced, of one number at most, must have the coefficient 1 or -1, since nothing can be divided
by 2 modulo an even N.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from workbench.verify.decide.algebra.polynomial import Generators, Monomial, Polynomial, Rules, without


def as_rules(
    relations: Iterable[Polynomial], known: Mapping[Monomial, Polynomial], generators: Generators, order: Ranking
) -> dict[Monomial, Polynomial]:
    """Return the known rules, and rules that follow from the relations, as monomials with their replacements.

    A relation without a replaceable monomial is left out; that is sound, and only proves less. The choices for the
    order are added to it.
    """
    rules = Rules(generators, known)
    waiting = list(relations)
    stuck: list[Polynomial] = []
    while waiting:
        row = rules.reduce(waiting.pop())
        rule = _replaceable(row, order, generators)
        if rule:
            waiting += rules.add(*rule)
            waiting += stuck
            stuck.clear()
        elif row:
            stuck.append(row)
    return rules.rules


def _replaceable(row: Polynomial, order: Ranking, generators: Generators) -> tuple[Monomial, Polynomial] | None:
    """Return a monomial of the row that may be replaced, with few generators, and its replacement; None if none may."""
    greatest: dict[Monomial, Monomial] = {}
    for monomial in row:
        numbers, bits = generators.split(monomial)
        if numbers not in greatest or _rank(bits) > _rank(generators.split(greatest[numbers])[1]):
            greatest[numbers] = monomial
    for numbers, monomial in sorted(greatest.items(), key=lambda item: len(item[1])):
        if abs(row[monomial]) != 1 or len(monomial) > Rules.LONGEST:
            continue
        if order.lift(numbers, [other for other in greatest if other != numbers]):
            return monomial, {m: -factor * row[monomial] for m, factor in row.items() if m != monomial}
    return None


def _rank(bits: Monomial) -> tuple[int, Monomial]:
    return len(bits), bits


class Ranking:
    """A partial order of numbers, which may start as a copy of another order."""

    def __init__(self, like: Ranking | None = None) -> None:
        self._below: dict[int, set[int]] = (
            {number: set(others) for number, others in like._below.items()} if like else {}
        )

    def lift(self, numbers: Monomial, others: Sequence[Monomial]) -> bool:
        """Put a product of numbers above other products, if that is possible; return whether it was.

        The first number is put above all others; if some products have it too, the rest of them decides.
        """
        if not numbers:
            return not others
        for first in dict.fromkeys(numbers):
            rest = without(numbers, (first,))
            alike = [without(other, (first,)) for other in others if first in other]
            tried = Ranking(self)
            below = {number for other in (numbers, *others) for number in other} - {first}
            if tried._put(first, below) and (not alike or tried.lift(rest, alike)):
                self._below = tried._below
                return True
        return False

    def _put(self, number: int, below: set[int]) -> bool:
        if any(number in self._find_reachable(other) for other in below):
            return False
        self._below.setdefault(number, set()).update(below)
        return True

    def _find_reachable(self, number: int) -> set[int]:
        reachable: set[int] = set()
        todo = [number]
        while todo:
            fresh = self._below.get(todo.pop(), set()) - reachable
            reachable |= fresh
            todo += fresh
        return reachable
