"""Compile terms to Python functions, to run functions and to evaluate a transition system directly.

Shared sub-terms become local variables, everything else one expression; conditionals stay lazy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from workbench.core.domain import Integer, Overflowing, Reals
from workbench.core.fold import Fold, postorder
from workbench.core.named_operators import SCOPE
from workbench.core.ops import CAST, ITE, MAX, MIN
from workbench.core.term import Term, leaves

SHARE_FROM = 2
DEEPEST = 40
"""Maximum depth of an expression on one line; Python's parser gives up at 200 nested parentheses."""


class PythonSource(Fold[str]):
    """Python source of a term; variables print as the given identifiers, constants by `repr`."""

    scope: ClassVar[Mapping[str, Any]] = SCOPE
    """The names that the source uses."""
    clamp: ClassVar[str] = "min(max({}, 0), {})"
    """The source of a number that saturates at 0 and at an upper bound."""

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
        return self.write_fit(term, term.op.python.format(*args))

    def on_escapes(self, term: Term, a: str, b: str) -> str:
        domain = term.args[0].domain
        assert term.op is not None
        assert isinstance(domain, Integer)
        return f"(not 0 <= {term.op.python.format(a, b)} <= {domain.hi})"

    def write_fit(self, term: Term, exact: str) -> str:
        """Return source of `term.domain.fit(exact)`; results of operators on floats are floats."""
        if isinstance(term.domain, Reals) and term.op is CAST:
            return f"float({exact})"
        if not isinstance(term.domain, Integer) or term.op in (ITE, MIN, MAX):
            return exact
        if term.domain.overflow is Overflowing.MODULAR:
            return f"({exact} % {term.domain.n})"
        return self.clamp.format(exact, term.domain.hi)


class Assignment(NamedTuple):
    """One line of Python: a local variable and the source of the term that it holds."""

    name: str
    text: str
    term: Term


def straight_line(roots: Sequence[Term], source: PythonSource) -> tuple[list[Assignment], list[str]]:
    """Return assignments of shared sub-terms to local variables, in order, and the source of each root."""
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


def compile_terms(
    outputs: Sequence[Any], parameters: Sequence[Any], kind: type[PythonSource] = PythonSource
) -> Callable[..., tuple[Any, ...]]:
    """Compile a Python function from the parameters' leaves to the outputs' leaves, both flat.

    Parameters and outputs are terms or nested tuples of terms; parameters are variables. `kind` prints the terms.
    """
    return compile_value(tuple(leaves(tuple(outputs))), list(leaves(tuple(parameters))), kind)


def compile_value(
    output: Any, parameters: Sequence[Any], kind: type[PythonSource] = PythonSource
) -> Callable[..., Any]:
    """Compile a Python function from values in the shape of the parameters to one in the shape of the output.

    All are terms or nested tuples of terms, but no maps; parameters are variables.
    """
    names = {term: f"v{i}" for i, term in enumerate(leaves(tuple(parameters)))}
    constants: dict[str, Any] = {}
    assignments, results = straight_line(list(leaves(output)), kind(names, constants))
    arguments = [names[p] if isinstance(p, Term) else f"a{i}" for i, p in enumerate(parameters)]
    taken_apart = [f"{_pattern(p, names)} = a{i}" for i, p in enumerate(parameters) if not isinstance(p, Term)]
    lines = [*taken_apart, *(f"{name} = {text}" for name, text, _ in assignments)]
    lines.append(f"return {_write_shape(output, iter(results))}")
    text = f"def of_terms({', '.join(arguments)}):\n" + "".join(f"    {line}\n" for line in lines)
    scope = {**kind.scope, **constants}
    exec(compile(text, "<function of terms>", "exec"), scope)
    function: Callable[..., Any] = scope["of_terms"]
    return function


def _pattern(shape: Any, names: dict[Term, str]) -> str:
    """Return the left side of an assignment that unpacks a value of this shape."""
    return names[shape] if isinstance(shape, Term) else "[" + ", ".join(_pattern(part, names) for part in shape) + "]"


def _write_shape(shape: Any, results: Iterator[str]) -> str:
    if isinstance(shape, Term):
        return next(results)
    return "(" + "".join(f"{_write_shape(part, results)}, " for part in shape) + ")"
