"""A memoised walk over terms: the base of all printers, evaluators and analyses.

Subclasses give a method for each operator, `on_<operator name>(term, *results of the arguments)`, and
`on_const`, `on_var`. All other nodes reach `default`, which refuses: an unknown node is an error
that names the operator and the fold, never a guess.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from workbench.core.domain import Domain
from workbench.core.term import Term, leaves, like
from workbench.errors import Refused, UnsupportedNode

R = TypeVar("R")


class Fold(Generic[R]):
    """Base of all folds; one instance has one memo."""

    def __init__(self) -> None:
        self.memo: dict[Term, R] = {}

    def __call__(self, term: Term) -> R:
        """Return the result for `term`; every shared sub-term is visited once."""
        if term not in self.memo:
            for node in postorder([term], self.memo):
                self.memo[node] = self.visit(node)
        return self.memo[term]

    def visit(self, term: Term) -> R:
        """Call the method for the node's kind with its arguments' results."""
        if term.op is None:
            return self.on_var(term) if term.is_var else self.on_const(term)
        name = "escapes" if term.op.escapes_from is not None else term.op.name
        method = getattr(self, f"on_{name}", self.default)
        return method(term, *(self.memo[arg] for arg in term.args))

    def on_const(self, term: Term) -> R:
        """Return the result for a constant."""
        return self.default(term)

    def on_var(self, term: Term) -> R:
        """Return the result for a variable."""
        return self.default(term)

    def default(self, term: Term, *_: Any) -> R:
        """Refuse a node that has no method: name the operator and the fold."""
        if term.op is not None and term.op.by_table:
            raise Refused(
                f"a model has '{term.op}' only as a table of all cases of a function, which {term!r} is not part of",
                hint="put it into a function that a pipeline applies to small finite types, such as 0..7, a few "
                "texts (--values)",
            )
        node = term.op.name if term.op else "variable" if term.is_var else "constant"
        raise UnsupportedNode(f"{type(self).__name__} has no rule for {node} in {term!r}")


def postorder(roots: Iterable[Term], visited: Container[Term] = ()) -> Iterator[Term]:
    """Yield every term reachable from the roots once, arguments before the terms that use them."""
    done: set[Term] = set()
    stack = [*roots][::-1]
    while stack:
        node = stack[-1]
        if node in done or node in visited:
            stack.pop()
            continue
        before = [arg for arg in node.args[::-1] if arg not in done and arg not in visited]
        if before:
            stack += before
        else:
            done.add(stack.pop())
            yield node


def list_eager_arguments(node: Term) -> Sequence[Term]:
    """Return the arguments that are evaluated once, together with the term."""
    return node.args[:-1] if node.op is not None and node.op.binds else node.args


def variables(roots: Iterable[Any]) -> dict[str, Domain]:
    """Return the variables that occur in the values, by name, in order of appearance."""
    terms = [leaf for root in roots for leaf in leaves(root) if isinstance(leaf, Term)]
    return {t.name: t.domain for t in postorder(terms) if t.is_var}


class Substitute(Fold[Term]):
    """Replaces variables by terms, simplifying on the way up."""

    def __init__(self, bindings: dict[Term, Term]) -> None:
        super().__init__()
        self.bindings = bindings

    def on_const(self, term: Term) -> Term:
        return term

    def on_var(self, term: Term) -> Term:
        return self.bindings.get(term, term)

    def default(self, term: Term, *args: Any) -> Term:
        if all(new is old for new, old in zip(args, term.args, strict=True)):
            return term
        assert term.op is not None
        return term.op.rebuild(args, term.domain)


def substitute(value: Any, bindings: dict[Term, Term]) -> Any:
    """Return `value` (a term or nested tuple of terms) with its variables replaced."""
    fold = Substitute(bindings)
    return map_leaves(fold, value)


def map_leaves(function: Any, value: Any) -> Any:
    """Apply a function to every leaf of a nested tuple."""
    if isinstance(value, tuple):
        return like(value, (map_leaves(function, item) for item in value))
    return function(value)
