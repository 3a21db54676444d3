"""Storage for the outputs of compiled loops.

The rule of this module: most outputs have capacity for all events that the steps can emit. How many rows of
a table a step changes is unknown before it; such an output is enlarged once a loop has reported the size it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import INT, Domain
from workbench.events.text_column import TextColumn
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.state import LoopArrays
from workbench.executors.compiled.lower.shape import rows_of, spare
from workbench.ir.system import Pipe

OutputSource = tuple[str, Domain, Pipe]
"""An output: its name, domain and pipe."""


def compute_capacity(pipe: Pipe, count: int, state: LoopArrays) -> int:
    """Return the capacity that an output needs for `count` steps from the present state; with many changes, for one."""
    waiting = 0 if pipe.more is None else state.number(pipe.more.name)
    rows = rows_of(pipe)
    many = 0 if rows is None else len(state.array(rows.used))
    return waiting + count * pipe.width + many + spare(pipe)


class OutputArrays:
    """The output arrays of some steps.

    Attributes
    ----------
    arrays: the arrays of the fields of each output, one output after the other.
    spots: an array per output with the step of each event, if requested.
    counts: the number of entries of each output.
    """

    def __init__(
        self,
        results: Sequence[OutputSource],
        fields: Sequence[tuple[Domain, ...]],
        sizes: Sequence[int],
        empty: Callable[[int, Domain], Any],
        *,
        with_steps: bool,
        texts: Callable[[Any], TextColumn],
    ) -> None:
        self._results, self._fields, self._texts = results, fields, texts
        self.arrays = [empty(size, d) for size, domains in zip(sizes, fields, strict=True) for d in domains]
        self.spots = [empty(size, INT) for size in sizes] if with_steps else []
        self.counts = columns.zeros(len(sizes))

    def enlarge(self, counts: Any) -> bool:
        """Enlarge the outputs that were too small, and keep their first entries; return whether there were any.

        Parameters
        ----------
        counts: the numbers of entries to keep.
        """
        position, grown = 0, False
        for j, domains in enumerate(self._fields):
            count, here = int(self.counts[j]), slice(position, position + len(domains))
            position = here.stop
            if count < len(self.arrays[here.start]):
                continue
            size, grown = max(count + 1, 2 * len(self.arrays[here.start])), True
            self.arrays[here] = [columns.longer(array, int(counts[j]), size) for array in self.arrays[here]]
            if self.spots:
                self.spots[j] = columns.longer(self.spots[j], int(counts[j]), size)
        if grown:
            self.counts[:] = counts
        return grown

    def columns(self, start: int, before: Sequence[Callable[[], Any] | None]) -> dict[str, columns.OutputColumn]:
        """Return the columns by output name, given the first step and the functions that build the maps before it."""
        rest, outputs = iter(self.arrays), {}
        for j, (name, domain, _) in enumerate(self._results):
            fields = [next(rest)[: self.counts[j]] for _ in self._fields[j]]
            arrays = columns.readable(self._fields[j], fields, self._texts)
            steps = self.spots[j][: self.counts[j]] + start if self.spots else None
            outputs[name] = columns.OutputColumn.of(domain, arrays, steps, before[j])
        return outputs


class ArrayPool:
    """A pool of reusable arrays."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, Domain], Any] = {}
        self._used = 0

    def begin(self) -> None:
        """Start over: all arrays may be handed out again."""
        self._used = 0

    def empty(self, size: int, domain: Domain) -> Any:
        """Return an uninitialized array for a scalar domain."""
        key = (self._used, domain)
        self._used += 1
        if key not in self._arrays or len(self._arrays[key]) < size:
            self._arrays[key] = columns.empty(size, domain)
        return self._arrays[key][:size]
