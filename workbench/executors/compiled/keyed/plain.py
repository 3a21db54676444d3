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
        self._function, self._form, self._sparse = executable(source, SCOPE), form, sparse

    def __call__(self, part: int, parts: int, first: int, last: int, whole: Any, real: Any, *arrays: Any) -> int:
        counts, *rest, codes = arrays
        memories, inputs, written = self._form.split(rest, sparse=self._sparse)
        before = counts.tolist()
        entries: list[dict[int, Any]] = [{} for _ in written]  # what is written and not counted may be any number
        stop = self._function(
            part, parts, first, last, PlainTable(whole), PlainTable(real), PlainArray(counts),
            *map(PlainTable, memories), *map(PlainArray, inputs), *entries, PlainArray(codes),
        )  # fmt: skip
        for j, array, found in zip(self._form.owners, written, entries, strict=True):
            array[before[j] : counts[j]] = [found[i] for i in range(before[j], counts[j])]
        return int(stop)


class PlainTable(PlainArray):
    """An array of two dimensions: its entries are Python's numbers, its rows arrays of such."""

    def __getitem__(self, position: Any) -> Any:
        return self.array.item(*position) if isinstance(position, tuple) else PlainArray(self.array[position])
