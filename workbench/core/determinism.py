"""The determinism contract: how exactly what a pipe carries is fixed, and so how two runs of it are compared.

An operator is **exact** unless it says otherwise: the same events, in the same order, in the same steps. One thing may
be left open, which the processor declares that leaves it (`Processor.determinism`):

- *tolerance*: it adds or multiplies floats one after the other, and an executor that groups them otherwise rounds
  otherwise. Declared by cumulations whose function `rounds` (`+` and `*` on floats).

The rule of this module: a contract is what an operator leaves open to executors, not a licence. An executor that does
not regroup is compared exactly; and only floats are ever compared with a tolerance, never what is decided by them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Flag
from typing import TYPE_CHECKING

from workbench.core.domain import Value
from workbench.core.fields import FrozenMap

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline

TOLERANCE = 1e-9
"""By how much floats may differ, as a part of the larger one (of 1, where both are smaller)."""


class Determinism(Flag):
    """What is left open; nothing, where it is `EXACT`."""

    EXACT = 0
    TOLERANCE = 1

    def __str__(self) -> str:
        return " and ".join(each.name.lower() for each in Determinism if each in self and each.name) or "exact"


EXACT = Determinism.EXACT


def contracts(flat: Pipeline) -> Mapping[str, Determinism]:
    """The contract of every pipe of a pipeline without groups.

    What a processor reads is left as open as what its inputs carry, and it adds what it leaves open itself.
    """
    found = dict.fromkeys((name for name, _ in flat.inputs), EXACT)
    for node in flat.nodes:
        contract = flat.typed[node.name].determinism
        for pipe in node.inputs:
            contract |= found[pipe]
        found.update(dict.fromkeys(node.outputs, contract))
    return found


def same(a: Value, b: Value, contract: Determinism = EXACT) -> bool:
    """Whether two values, or what two pipes carry in a step, agree under a contract. `True` is not `1`."""
    if isinstance(a, tuple | list) and type(a) is type(b):
        return len(a) == len(b) and all(same(x, y, contract) for x, y in zip(a, b, strict=True))
    if isinstance(a, FrozenMap) and isinstance(b, FrozenMap):
        keys = [{(type(key), key) for key in each} for each in (a, b)]
        return keys[0] == keys[1] and all(same(value, b[key], contract) for key, value in a.items())
    if isinstance(a, float) and isinstance(b, float):
        if math.isnan(a) or math.isnan(b):
            return math.isnan(a) and math.isnan(b)
        if Determinism.TOLERANCE in contract and math.isfinite(a) and math.isfinite(b):
            return abs(a - b) <= TOLERANCE * max(1.0, abs(a), abs(b))
    return type(a) is type(b) and bool(a == b)
