"""Names for what terms have in common, so that their text is as long as they are and not as what they unfold to."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.fold import postorder
from workbench.core.processor import Burst, Emission, Maybe, State, Stepped, slots_of
from workbench.core.strict import Computed
from workbench.core.term import Term, intern, leaves, like, same
from workbench.ir.wires import Wires

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


def name_shared(wires: Wires, prefix: str, following: State, results: Sequence[Emission], found: Computed) -> Stepped:
    """What a step gives, in which what terms have in common has names."""
    count = itertools.count(1)
    slots = [slots_of(out) for out in results]
    emitted = [part for each in slots for slot in each for part in slot]
    values = iter(
        named([*following, *emitted, *found.known], lambda term: wires.define(f"{prefix}_{next(count)}", term))
    )
    state = tuple(next(values) for _ in following)
    outs = tuple(Burst([Maybe(next(values), next(values)) for _ in each]) for each in slots)
    found.known = list(values)
    return state, outs
