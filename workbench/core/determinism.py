"""The determinism contract: how exactly the events of a pipe are fixed, and so how two runs are compared.

An operator is **exact** unless it declares otherwise: the same events, in the same order, in the same steps. One thing
may be left open, which the processor then declares (`Processor.determinism`):

- *tolerance*: it adds or multiplies floats in sequence, and an executor that groups them differently rounds
  differently. Declared by cumulations whose function `rounds` (`+` and `*` on floats).

The rule of this module: a contract states what an operator leaves open; it permits no errors. An executor that does
not regroup is compared exactly; and only floats are ever compared with a tolerance, never decisions based on them.
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
"""The permitted relative difference of floats (relative to 1 where both are smaller)."""


class Determinism(Flag):
    """The properties of an output that are left open; none if it is `EXACT`."""

    EXACT = 0
    TOLERANCE = 1

    def __str__(self) -> str:
        return " and ".join(each.name.lower() for each in Determinism if each in self and each.name) or "exact"


EXACT = Determinism.EXACT


def derive_determinism(flat: Pipeline) -> Mapping[str, Determinism]:
    """Return what is left open on every pipe of a pipeline without groups.

    The output of a processor is as open as its inputs, and as the processor itself declares.
    """
    by_pipe = dict.fromkeys((name for name, _ in flat.inputs), EXACT)
    for node in flat.nodes:
        determinism = flat.typed[node.name].determinism
        for pipe in node.inputs:
            determinism |= by_pipe[pipe]
        by_pipe.update(dict.fromkeys(node.outputs, determinism))
    return by_pipe


def same(a: Value, b: Value, contract: Determinism = EXACT) -> bool:
    """Whether two values, or the events of two pipes in a step, agree under a contract. `True` is not `1`."""
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
