"""What orders the rows of a log, read from the texts of a column.

The rule of this module: numbers come in the order of numbers, exactly, before texts, which come in their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from workbench.core.domain import FLOAT, Range
from workbench.errors import InputError
from workbench.events.columns import PLAIN, Where
from workbench.events.values import INTEGER, NUMBER, UnreadableError, from_text, short

ORDER_TYPES = "o0 double, o1 long, o2 string"
"""What one column of texts becomes, to be ordered by: a number (infinite for a text), it as an integer, the text."""

_WORD = Range(-(2**63), 2**63 - 1)


def order_columns(name: str, texts: Sequence[str | None], where: Where) -> list[Any]:
    """The Arrow columns by which rows are ordered.

    Raises
    ------
    InputError: one has no text, or a number that is none of 64 bits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if None in texts:
        raise InputError(f"the row has no '{name}', which orders the rows", where=where(texts.index(None)))
    given = pa.array(texts, pa.string())
    if pc.all(pc.match_substring_regex(given, PLAIN)).as_py():
        whole = given.cast(pa.int64())
        return [whole.cast(pa.float64(), safe=False), whole, pa.array([""] * len(texts), pa.string())]
    found: list[tuple[float, int, str | None]] = []
    for i, text in enumerate(texts):
        stripped = str(text).strip()
        try:
            if INTEGER.fullmatch(stripped):
                number = from_text(stripped, _WORD)
                found.append((float(number), number, ""))
            elif NUMBER.fullmatch(stripped) and not re.search("inf|nan", stripped):
                found.append((from_text(stripped, FLOAT), 0, ""))
            else:
                found.append((float("inf"), 0, text))
        except UnreadableError as error:
            raise error.refusal(f"'{name}'", short(stripped), where(i)) from error
    columns = zip(*found, strict=True)
    return [pa.array(c, t) for c, t in zip(columns, (pa.float64(), pa.int64(), pa.string()), strict=True)]
