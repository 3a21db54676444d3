"""Names for what terms have in common, so that their text is as long as they are and not as what they unfold to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.fold import postorder
from workbench.core.term import Term, intern, leaves, like, same

LEAST = 24
"""How many parts a term has that gets a name where it is used in several places."""


def named(values: Sequence[Any], define: Callable[[Term], Term]) -> list[Any]:
    """The same values, in which terms that are used in several places have names.

    Parameters
    ----------
    values: terms, plain values, and tuples of them.
    define: gives a term a name; what stands for it.
    """
    roots = [leaf for value in values for leaf in leaves(value) if isinstance(leaf, Term)]
    order = list(postorder(roots))
    uses = Counter(arg for node in order for arg in node.args)
    uses.update(roots)
    found: dict[Term, Term] = {}
    sizes: dict[Term, int] = {}
    for node in order:
        args = tuple(found[arg] for arg in node.args)
        here = node if same(args, node.args) else intern(node.op, args, node.domain)
        sizes[node] = 1 + sum(sizes[arg] for arg in node.args)
        if uses[node] > 1 and sizes[node] >= LEAST:
            here, sizes[node] = define(here), 1
        found[node] = here
    return [_renamed(value, found) for value in values]


def _renamed(value: Any, found: dict[Term, Term]) -> Any:
    if isinstance(value, tuple):
        return like(value, [_renamed(part, found) for part in value])
    return found[value] if isinstance(value, Term) else value
