"""Cells of plain CSV as arrays, by machine code that looks at each letter once.

The rule of this module: what it reads is what rows are. Where there is doubt nothing is read, and others look.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.core.domain import Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray
    from workbench.executors.compiled.code.machine import MachineLoop

PASSED, WHOLE, REAL, LABEL, TEXT = range(5)
"""What a column has."""
ODD, NO_ROOM = -1, -2
"""What the loop says instead of how many rows there are."""
LONGEST, MOST_LABELS = 16, 64
"""Letters of a label, and labels of all columns, that are looked for."""
POWERS = [10.0**power for power in range(19)]
TRUTH = {"true": 1, "True": 1, "TRUE": 1, "1": 1, "false": 0, "False": 0, "FALSE": 0, "0": 0}
PATIENCE = 1 << 22
"""Bytes before which no machine code is asked for that has not been kept."""
FEW_TEXTS = 1 << 18
"""Bytes in which texts are looked for by others, who find out which are the same."""
SHORTEST = 8
"""Bytes of a row at first."""


class CellArrays:
    """Reads the cells of rows of CSV without quotation marks.

    Parameters
    ----------
    patient: whether code is never waited for that has not been kept.
    """

    def __init__(self, *, patient: bool = False) -> None:
        self._patient, self._ready = patient, False
        self._bytes, self._row = 0, float(SHORTEST)

    @cached_property
    def _loop(self) -> MachineLoop:
        from workbench.executors.compiled.code.machine import MachineLoop
        from workbench.executors.compiled.code.objects import code_of

        return MachineLoop(code_of(f"{__name__.removesuffix('cells')}cell_loops", "read_cells", __name__))

    def __call__(
        self, lines: bytes, between: str, width: int, used: Mapping[int, Domain]
    ) -> dict[int, EventArray] | None:
        """The columns that are used, by their positions; None where others have to look.

        Parameters
        ----------
        lines: whole rows in UTF-8, in which a return stands only at the end of a line.
        between: what is between cells.
        width: how many columns there are.
        """
        import numpy as np

        from workbench.events.arrays import EventArray

        kinds, rows = [PASSED] * width, [0] * width
        labels: list[Sequence[int]] = []
        count = 0
        for column, domain in used.items():
            own = _labels(domain)
            kind = _kind(domain)
            if kind is None or own is None or len(labels) + len(own) > MOST_LABELS:
                return None
            kinds[column], rows[column] = kind, count
            labels += [(count, *each) for each in own]
            count += 1 + (kind == TEXT)
        if TEXT in kinds and len(lines) < FEW_TEXTS:
            return None
        self._bytes += len(lines)
        data: Any = np.frombuffer(lines, np.uint8)
        known: Any = np.array(labels, np.uint64).reshape(-1, 5)
        missing: Any = np.empty(count, np.int64)
        room = int(1.1 * len(lines) / self._row) + 1000
        while True:
            values: Any = np.empty((count, room), np.int64)
            there: Any = np.empty((count, room), np.bool_)
            given = (data, ord(between), np.array(kinds), np.array(rows), known, values, there, missing)
            if not self._asked(given):
                return None
            made = self._loop(*given)
            if made != NO_ROOM:
                break
            room *= 2
        if made <= 0:
            return None
        self._row = len(lines) / made
        found = {}
        for column, domain in used.items():
            row = rows[column]
            cells, present = values[row : row + 2, :made], there[row, :made] if missing[row] else None
            blank = kinds[column] == TEXT and bool(missing[row + 1])
            array = _array(domain, data, cells, present, possibly_blank=blank)
            if array is None:
                return None
            found[column] = EventArray(array, present)
        return found

    def _asked(self, given: Sequence[Any]) -> bool:
        """Whether the loop is to be run now."""
        self._ready = self._ready or self._loop.ready(given) or (self._bytes > PATIENCE and not self._patient)
        return self._ready


def _kind(domain: Domain) -> int | None:
    """What a column of a domain has; None where it is left to others."""
    if isinstance(domain, Bool | Enum):
        return LABEL
    if isinstance(domain, Integer | Integers | Range):
        return WHOLE
    return REAL if isinstance(domain, Reals) else TEXT if type(domain) is Texts else None


def _labels(domain: Domain) -> list[tuple[int, int, int, int]] | None:
    """Of each: its size, the first and the next eight letters, and what stands for it; None where some are odd."""
    labels = dict(zip(domain.labels, range(len(domain.labels)), strict=True)) if isinstance(domain, Enum) else {}
    found = []
    for label, number in (TRUTH if isinstance(domain, Bool) else labels).items():
        letters = label.encode()
        if not 0 < len(letters) <= LONGEST or label != label.strip():
            return None
        first, second = (int.from_bytes(letters[k : k + 8], "little") for k in (0, 8))
        found.append((len(letters), first, second, number))
    return found


def _array(domain: Domain, data: Any, cells: Any, there: Any, *, possibly_blank: bool) -> Any:
    """The events in the words of a column, where they are there; None where some are none."""
    import numpy as np

    from workbench.events.text_column import StoredTexts, TextColumn

    if isinstance(domain, Texts):
        texts = StoredTexts(cells[0], cells[1], data)
        if possibly_blank and any(not text.strip() for text in texts.perhaps_blank()):
            return None
        return TextColumn.each(texts)
    if isinstance(domain, Bool):
        return cells[0] != 0
    if isinstance(domain, Reals):
        return cells[0].view(np.float64)
    if isinstance(domain, Integer | Range):
        given = cells[0] if there is None else cells[0][there]
        if len(given) and not (domain.lo <= given.min() and given.max() <= domain.hi):
            return None
    return cells[0]
