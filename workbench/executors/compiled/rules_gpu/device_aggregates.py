"""How aggregates are computed on a device, a row for each with a type of values: lines of the kernels, as templates.

The rule of this module: of the words that `A` has for a sequence, from `at` on, the first is the number of candidates
that fit; behind it is what is added, or found so far. A thread adds two candidates, whose values are `x` and `y`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.errors import Refused
from workbench.executors.compiled.rules.lines import OTHERS
from workbench.tesla import tree as t


@dataclass(frozen=True)
class DeviceAggregate:
    """An aggregate over values of a type.

    Attributes
    ----------
    value: lines that compute its value from the words.
    add: lines that add two candidates; empty where their number is all.
    words: how many words of `A` it needs for each sequence.
    begin: what the word behind the number begins with, where that is not 0; the next one has no place then.
    total: what the kernel `total` makes of the words: see there; -1: nothing.
    """

    value: tuple[str, ...]
    add: tuple[str, ...] = ()
    words: int = 1
    begin: int = 0
    total: int = -1


def device_aggregate(part: t.Aggregate, values: Domain | None) -> DeviceAggregate:
    """How an aggregate over values of a type is computed; Refused where it is not."""
    if part.function not in AGGREGATES:
        raise Refused(f"the engine 'gpu' does not compute {part.function}", hint=OTHERS, where=part.where)
    if values not in AGGREGATES[part.function]:
        kind = "texts" if values == STR else values
        raise Refused(f"the engine 'gpu' does not compute {part.function} of {kind}", hint=OTHERS)
    return AGGREGATES[part.function][values]


_WORD = "{value} = A[{at} + 1] if A[{at}] > 0 else 0"
_HALVES = (
    "added(A, {at} + 1, (x & 0xFFFFFFFF) + (y & 0xFFFFFFFF), shared, t)",
    "added(A, {at} + 2, (x >> 32) + (y >> 32), shared, t)",
)
_SUM = (
    "if whole_overflows(A[{at} + 1], A[{at} + 2]): E[0] = 1; {dead}",
    "{value} = (A[{at} + 2] << 32) + A[{at} + 1]",
)
_EXACT = ("exactly_added(A, {at} + 1, x, hit_i, y, hit_j, shared, t)",)
_EXACT_WORDS = 73
"""Words of an exact sum of floats, and one for how many there are."""


def _extreme(most: bool) -> Mapping[Domain | None, DeviceAggregate]:
    key = "x, y = key_of(A, {at}, x, hit_i, i), key_of(A, {at}, y, hit_j, j)"
    choose = f"kept_extreme(A, {{at}} + 1, x, hit_i, y, hit_j, {most}, shared, t)"
    found = "{value} = extreme_of(A, {at}, W{i}, {word} * z{i}, z{i}) if A[{at}] > 0 else 0"
    end = -(2**63) if most else 2**63 - 1
    return {INT: DeviceAggregate((_WORD,), (choose,), 4, end), FLOAT: DeviceAggregate((found,), (key, choose), 4, end)}


AGGREGATES: Mapping[str, Mapping[Domain | None, DeviceAggregate]] = {
    "COUNT": dict.fromkeys((INT, FLOAT, STR, BOOL, None), DeviceAggregate(("{value} = A[{at}]",))),
    "SUM": {INT: DeviceAggregate(_SUM, _HALVES, 3), FLOAT: DeviceAggregate((_WORD,), _EXACT, _EXACT_WORDS, total=0)},
    "AVG": {
        INT: DeviceAggregate((_WORD,), _HALVES, 3, total=2),
        FLOAT: DeviceAggregate((_WORD,), _EXACT, _EXACT_WORDS, total=1),
    },
    "MIN": _extreme(most=False),
    "MAX": _extreme(most=True),
}
"""By the name of the aggregate, and the type of values."""
