"""What orders the rows of a log, read from the texts of a column.

The rule of this module: numbers come in the order of numbers, exactly, before texts, which come in their own.
"""

from __future__ import annotations

import re
from typing import Any

from workbench.core.domain import FLOAT, Range
from workbench.events.columns import PLAIN, Where
from workbench.events.values import INTEGER, NUMBER, UnreadableError, from_text, short

ORDER_TYPES = "o0 double, o1 long, o2 string"
"""What one column of texts becomes, to be ordered by: a number (infinite for a text), it as an integer, the text."""

_DATED = "^[0-9]+-"
"""How a text begins that is no number: ISO 8601 has such dates."""
_WORD = Range(-(2**63), 2**63 - 1)


def order_columns(name: str, texts: Any, where: Where) -> list[Any]:
    """The Arrow columns by which rows are ordered, given an Arrow array of texts.

    Raises
    ------
    InputError: one is a number that is none of 64 bits.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pc.all(pc.match_substring_regex(texts, PLAIN)).as_py():
        whole = texts.cast(pa.int64())
        return [whole.cast(pa.float64(), safe=False), whole, pa.repeat("", len(texts))]
    if pc.all(pc.match_substring_regex(texts, _DATED)).as_py():
        return [pa.repeat(float("inf"), len(texts)), pa.repeat(0, len(texts)), texts]
    found: list[tuple[float, int, str]] = []
    for i, text in enumerate(texts.to_pylist()):
        stripped = text.strip()
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
