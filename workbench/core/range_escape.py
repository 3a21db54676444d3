"""Terms for the condition that a number leaves its domain.

The rule of this module: an operation counts only where its result is used. Values that are computed whether or not
anything depends on them are added by `core.strict_values`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from workbench.core.domain import Domain, Integer, Integers, Overflowing
from workbench.core.fold import Substitute, list_eager_arguments, postorder
from workbench.core.ops import AND, CAST, IMPLIES, ITE, OR, escapes, negate
from workbench.core.term import FALSE, TRUE, Term, leaves

Bounded = Overflowing | type[Integers]
"""Integer domains that can be left: finite ones of a kind, or unbounded ones (for words of 64 bits)."""


def escape_condition(roots: Sequence[Any], kind: Bounded, guard: Term = TRUE) -> Term:
    """Return the condition, over their variables, that evaluating the roots where `guard` holds leaves a domain.

    An operation counts only where its result is used, i.e. under the conditions of the conditionals above it. Operators
    with a variable of their own are left out: a condition on that variable has no meaning outside.
    """
    return escapes_of([(root, guard) for root in roots], kind)


def escapes_of(roots: Sequence[tuple[Any, Term]], kind: Bounded) -> Term:
    """Return `escape_condition` for roots that are each evaluated under their own condition."""
    terms = [(leaf, guard) for root, guard in roots for leaf in leaves(root) if isinstance(leaf, Term)]
    order = list(postorder([leaf for leaf, _ in terms]))
    culprits = dict(_culprits(order, kind))
    if not culprits:
        return FALSE
    above: set[Term] = set()  # the culprits and every node whose value depends on one
    for node in order:
        if node in culprits or not above.isdisjoint(list_eager_arguments(node)):
            above.add(node)
    reached = dict.fromkeys(above, FALSE)
    for root, guard in terms:
        if root in above:
            reached[root] = OR(reached[root], guard)
    escape = FALSE
    for node in reversed(order):
        if node not in above:
            continue
        here = reached[node]
        if node in culprits:
            escape = OR(escape, AND(here, culprits[node]))
        for position, arg in enumerate(list_eager_arguments(node)):
            if arg in above:
                reached[arg] = OR(reached[arg], AND(here, _branch(node, position)))
    return escape


class Unchecked(Substitute):
    """Removes the checks of conversions to ranges from terms: a result is then exact where it leaves its range."""

    def on_cast(self, term: Term, arg: Term) -> Term:
        (inner,) = term.args
        if inner.op is CAST and _is_of(inner.domain, Overflowing.CHECKED):
            return self(inner.args[0])
        return self.default(term, arg)


def can_escape(roots: Sequence[Any], kind: Bounded) -> bool:
    """Whether an operation in the roots can leave a domain of this kind."""
    nodes = postorder([leaf for root in roots for leaf in leaves(root) if isinstance(leaf, Term)])
    return any(True for _ in _culprits(nodes, kind))


def _culprits(nodes: Iterable[Term], kind: Bounded) -> Iterator[tuple[Term, Term]]:
    """Yield the nodes that may leave their domain, with the conditions."""
    for node in nodes:
        if _is_of(node.domain, kind) and (leaves_domain := escapes(node)) is not FALSE:
            yield node, leaves_domain


def _is_of(domain: Domain, kind: Bounded) -> bool:
    if kind is Integers:
        return isinstance(domain, Integers)
    return isinstance(domain, Integer) and domain.overflow is kind


def _branch(node: Term, position: int) -> Term:
    """Return when an argument's value matters. `and`, `or`, `->` are short conditionals (`ite` simplifies to them)."""
    if position == 0 or node.op not in (ITE, AND, OR, IMPLIES):
        return TRUE
    condition = node.args[0]
    positive = node.op is not OR and position == 1
    return condition if positive else negate(condition)
