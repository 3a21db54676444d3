"""Terms as plain Python functions: how functions run, and how a transition system is evaluated directly.

Shared sub-terms become local variables, everything else one expression; conditionals stay lazy. A checked
domain's violations are collected as terms by `escape_condition`, since a value that left the domain must be
reported only where it is used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Integer, Integers, Overflowing, Reals
from workbench.core.fold import Fold, postorder
from workbench.core.ops import AND, CAST, IMPLIES, ITE, OR, escapes, negate
from workbench.core.term import FALSE, TRUE, Term, leaves

SHARE_FROM = 2
DEEPEST = 40
"""Deepest expression written on one line; Python's parser gives up at 200 nested parentheses."""


class PythonSource(Fold[str]):
    """Python source of a term; variables print as the given identifiers, constants by `repr`."""

    def __init__(self, names: dict[Term, str], constants: dict[str, Any]) -> None:
        super().__init__()
        self.names = names
        self.constants = constants

    def on_const(self, term: Term) -> str:
        if isinstance(term.payload, bool | int | str):
            return repr(term.payload)
        name = f"k{len(self.constants)}"
        self.constants[name] = term.payload
        return name

    def on_var(self, term: Term) -> str:
        return self.names[term] if term in self.names else super().on_var(term)

    def default(self, term: Term, *args: str) -> str:
        if term.op is None or term.op.binds:
            return super().default(term)
        if term.op.name.startswith("escapes_"):
            domain = term.args[0].domain
            assert isinstance(domain, Integer)
            return f"(not 0 <= {term.op.python.format(*args)} <= {domain.hi})"
        return self.fitted(term, term.op.python.format(*args))

    def fitted(self, term: Term, exact: str) -> str:
        """Source of `term.domain.fit(exact)`."""
        return fitted(term, exact)


def fitted(term: Term, exact: str) -> str:
    """Source of `term.domain.fit(exact)`; results of operators on floats are floats."""
    if isinstance(term.domain, Reals) and term.op is CAST:
        return f"float({exact})"
    if not isinstance(term.domain, Integer) or (term.op is not None and term.op.name in ("ite", "min", "max")):
        return exact
    if term.domain.overflow is Overflowing.MODULAR:
        return f"({exact} % {term.domain.n})"
    return f"min(max({exact}, 0), {term.domain.hi})"


class Assignment(NamedTuple):
    """One line of Python: a local variable and the source of the term that it holds."""

    name: str
    text: str
    term: Term


def straight_line(roots: Sequence[Term], source: PythonSource) -> tuple[list[Assignment], list[str]]:
    """Statements for some terms: what is used more than once as local variables, in order; the source of each root."""
    uses: Counter[Term] = Counter(arg for node in postorder(roots) for arg in node.args)
    uses.update(roots)
    lines: list[Assignment] = []
    depth: dict[Term, int] = {}
    for node in postorder(roots):
        text = source(node)
        depth[node] = 1 + max((depth[arg] for arg in node.args), default=0)
        loops = node.op is not None and node.op.binds
        if node.args and (uses[node] >= SHARE_FROM or depth[node] >= DEEPEST or loops):
            depth[node] = 0
            lines.append(Assignment(f"t{len(lines)}", text, node))
            source.memo[node] = lines[-1].name
    return lines, [source(root) for root in roots]


def compile_terms(outputs: Sequence[Any], parameters: Sequence[Any]) -> Callable[..., tuple[Any, ...]]:
    """A Python function of the parameters' leaves that returns the outputs' leaves, both flat.

    Parameters and outputs are terms or nested tuples of terms; parameters are variables.
    """
    return compile_value(tuple(leaves(tuple(outputs))), list(leaves(tuple(parameters))))


def compile_value(output: Any, parameters: Sequence[Any]) -> Callable[..., Any]:
    """A Python function from values of the shape of the parameters to one of the shape of the output.

    All are terms or nested tuples of terms, but no maps; parameters are variables.
    """
    names = {term: f"v{i}" for i, term in enumerate(leaves(tuple(parameters)))}
    constants: dict[str, Any] = {}
    assignments, results = straight_line(list(leaves(output)), PythonSource(names, constants))
    given = [names[p] if isinstance(p, Term) else f"a{i}" for i, p in enumerate(parameters)]
    taken_apart = [f"{_pattern(p, names)} = a{i}" for i, p in enumerate(parameters) if not isinstance(p, Term)]
    lines = [*taken_apart, *(f"{name} = {text}" for name, text, _ in assignments)]
    lines.append(f"return {_shaped(output, iter(results))}")
    text = f"def of_terms({', '.join(given)}):\n" + "".join(f"    {line}\n" for line in lines)
    scope: dict[str, Any] = dict(constants)
    exec(compile(text, "<function of terms>", "exec"), scope)
    function: Callable[..., Any] = scope["of_terms"]
    return function


def _pattern(shape: Any, names: dict[Term, str]) -> str:
    """The left side of an assignment that takes a value of this shape apart."""
    return names[shape] if isinstance(shape, Term) else "[" + ", ".join(_pattern(part, names) for part in shape) + "]"


def _shaped(shape: Any, results: Iterator[str]) -> str:
    if isinstance(shape, Term):
        return next(results)
    return "(" + "".join(f"{_shaped(part, results)}, " for part in shape) + ")"


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
        if node in culprits or not above.isdisjoint(evaluated_once(node)):
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
        for position, arg in enumerate(evaluated_once(node)):
            if arg in above:
                reached[arg] = OR(reached[arg], AND(here, _branch(node, position)))
    return found


def evaluated_once(node: Term) -> Sequence[Term]:
    """The arguments that are evaluated once where the term is."""
    return node.args[:-1] if node.op is not None and node.op.binds else node.args


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
