"""Room for what comes out of compiled loops.

The rule of this module: most outputs have room for all that can come out of the steps to be made. How much a step
changes in a table is not known before; such an output is given more room when a loop has told how much it wants.
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


def room(pipe: Pipe, count: int, state: LoopArrays) -> int:
    """How much room an output needs for so many steps from the present state; with many changes, for one."""
    waiting = 0 if pipe.more is None else state.number(pipe.more.name)
    rows = rows_of(pipe)
    many = 0 if rows is None else len(state.array(rows.used))
    return waiting + count * pipe.width + many + spare(pipe)


class OutputArrays:
    """Arrays for the outputs of some steps.

    Attributes
    ----------
    arrays: those of the fields of each output, one output after the other.
    spots: per output one for the step of each event, where that is asked for.
    counts: how many entries each output has.
    """

    def __init__(
        self,
        results: Sequence[OutputSource],
        fields: Sequence[tuple[Domain, ...]],
        sizes: Sequence[int],
        empty: Callable[[int, Domain], Any],
        *,
        places: bool,
        texts: Callable[[Any], TextColumn],
    ) -> None:
        self._results, self._fields, self._texts = results, fields, texts
        self.arrays = [empty(size, d) for size, domains in zip(sizes, fields, strict=True) for d in domains]
        self.spots = [empty(size, INT) for size in sizes] if places else []
        self.counts = columns.zeros(len(sizes))

    def enlarge(self, made: Any) -> bool:
        """Whether some output had no room for all that it wants, and now has; what was made before is kept.

        Parameters
        ----------
        made: the numbers of entries to go on from.
        """
        position, grown = 0, False
        for j, domains in enumerate(self._fields):
            wanted, here = int(self.counts[j]), slice(position, position + len(domains))
            position = here.stop
            if wanted < len(self.arrays[here.start]):
                continue
            size, grown = max(wanted + 1, 2 * len(self.arrays[here.start])), True
            self.arrays[here] = [columns.longer(array, int(made[j]), size) for array in self.arrays[here]]
            if self.spots:
                self.spots[j] = columns.longer(self.spots[j], int(made[j]), size)
        if grown:
            self.counts[:] = made
        return grown

    def found(self, start: int, before: Sequence[Callable[[], Any] | None]) -> dict[str, columns.OutputColumn]:
        """By name, given the number of the first step and what gives the maps before it."""
        rest, found = iter(self.arrays), {}
        for j, (name, domain, _) in enumerate(self._results):
            fields = [next(rest)[: self.counts[j]] for _ in self._fields[j]]
            arrays = columns.readable(self._fields[j], fields, self._texts)
            steps = self.spots[j][: self.counts[j]] + start if self.spots else None
            found[name] = columns.OutputColumn.of(domain, arrays, steps, before[j])
        return found


class ArrayPool:
    """Arrays that are used again and again."""

    def __init__(self) -> None:
        self._arrays: dict[tuple[int, Domain], Any] = {}
        self._used = 0

    def begin(self) -> None:
        """Begin anew: arrays that have been given may be given again."""
        self._used = 0

    def empty(self, size: int, domain: Domain) -> Any:
        """An array for a scalar domain, to be filled."""
        key = (self._used, domain)
        self._used += 1
        if key not in self._arrays or len(self._arrays[key]) < size:
            self._arrays[key] = columns.empty(size, domain)
        return self._arrays[key][:size]
