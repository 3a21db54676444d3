"""Loops over rows of many keys, run by Python itself."""

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.code.plain import SCOPE, PlainArray
from workbench.executors.compiled.code.printer import executable
from workbench.executors.compiled.lower.shape import Shape


class PlainKeys:
    """The function of a source that is `keyed`, called with arrays as its compiled form is.

    Parameters
    ----------
    form, sparse: as `PlainLoop` has them.
    """

    def __init__(self, source: str, form: Shape, *, sparse: bool) -> None:
        self._function = executable(source, SCOPE)
        self._memories = len(form.memories)
        self._inputs = len(form.values) + (len(form.inputs) if sparse else 0)
        self._outputs = [j for j, (_, fields) in enumerate(form.results) for _ in fields]

    def __call__(self, part: int, parts: int, first: int, last: int, whole: Any, real: Any, *arrays: Any) -> int:
        counts, *rest, codes = arrays
        memories, rest = rest[: self._memories], rest[self._memories :]
        inputs, written = rest[: self._inputs], rest[self._inputs :]
        before = counts.tolist()
        entries: list[dict[int, Any]] = [{} for _ in written]  # what is written and not counted may be any number
        stop = self._function(
            part, parts, first, last, PlainTable(whole), PlainTable(real), PlainArray(counts),
            *map(PlainTable, memories), *map(PlainArray, inputs), *entries, PlainArray(codes),
        )  # fmt: skip
        owners = self._outputs + list(range(len(counts)))
        for j, array, found in zip(owners, written, entries, strict=True):
            array[before[j] : counts[j]] = [found[i] for i in range(before[j], counts[j])]
        return int(stop)


class PlainTable(PlainArray):
    """An array of two dimensions: its entries are Python's numbers, its rows arrays of such."""

    def __getitem__(self, position: Any) -> Any:
        return self.array.item(*position) if isinstance(position, tuple) else PlainArray(self.array[position])
