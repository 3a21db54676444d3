"""When a number leaves its domain, as a term.

The rule of this module: what an operation does counts only where its result is used. What is computed whether or not
anything depends on it is added by `core.strict`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workbench.core.domain import Domain, Integer, Integers, Overflowing
from workbench.core.fold import Substitute, list_eager_arguments, postorder
from workbench.core.ops import AND, CAST, IMPLIES, ITE, OR, escapes, negate
from workbench.core.term import FALSE, TRUE, Term, leaves

Bounded = Overflowing | type[Integers]
"""Integer domains that can be left: finite ones of a kind, or those without bounds (for words of 64 bits)."""


def escape_condition(roots: Sequence[Any], kind: Bounded, given: Term = TRUE) -> Term:
    """When evaluating the roots, where `given` holds, leaves a domain of this kind: a condition over their variables.

    An operation counts only where its result is used, i.e. under the conditions of the conditionals above it. What
    an operator with a variable of its own does is left out: a condition on that variable has no meaning outside.
    """
    return escapes_of([(root, given) for root in roots], kind)


def escapes_of(roots: Sequence[tuple[Any, Term]], kind: Bounded) -> Term:
    """`escape_condition` of roots each of which is evaluated under a condition of its own."""
    terms = [(leaf, given) for root, given in roots for leaf in leaves(root) if isinstance(leaf, Term)]
    order = list(postorder([leaf for leaf, _ in terms]))
    culprits = dict(_culprits(order, kind))
    if not culprits:
        return FALSE
    above: set[Term] = set()  # the culprits and every node whose value depends on one
    for node in order:
        if node in culprits or not above.isdisjoint(list_eager_arguments(node)):
            above.add(node)
    reached = dict.fromkeys(above, FALSE)
    for root, given in terms:
        if root in above:
            reached[root] = OR(reached[root], given)
    found = FALSE
    for node in reversed(order):
        if node not in above:
            continue
        here = reached[node]
        if node in culprits:
            found = OR(found, AND(here, culprits[node]))
        for position, arg in enumerate(list_eager_arguments(node)):
            if arg in above:
                reached[arg] = OR(reached[arg], AND(here, _branch(node, position)))
    return found


class Unchecked(Substitute):
    """Terms without the checks of conversions to ranges: what a result is that leaves its range."""

    def on_cast(self, term: Term, arg: Term) -> Term:
        (inner,) = term.args
        if inner.op is CAST and _is_of(inner.domain, Overflowing.CHECKED):
            return self(inner.args[0])
        return self.default(term, arg)


def can_escape(roots: Sequence[Any], kind: Bounded) -> bool:
    """Whether there is anything in the roots of which `escape_condition` could be a condition."""
    nodes = postorder([leaf for root in roots for leaf in leaves(root) if isinstance(leaf, Term)])
    return any(True for _ in _culprits(nodes, kind))


def _culprits(nodes: Iterable[Term], kind: Bounded) -> Iterator[tuple[Term, Term]]:
    """The nodes that may leave their domain, and when."""
    for node in nodes:
        if _is_of(node.domain, kind) and (leaves_domain := escapes(node)) is not FALSE:
            yield node, leaves_domain


def _is_of(domain: Domain, kind: Bounded) -> bool:
    if kind is Integers:
        return isinstance(domain, Integers)
    return isinstance(domain, Integer) and domain.overflow is kind


def _branch(node: Term, position: int) -> Term:
    """When this argument's value matters. `and`, `or`, `->` are short conditionals (`ite` simplifies to them)."""
    if position == 0 or node.op not in (ITE, AND, OR, IMPLIES):
        return TRUE
    condition = node.args[0]
    positive = node.op is not OR and position == 1
    return condition if positive else negate(condition)
