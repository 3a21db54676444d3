"""Cells of texts: their delimiter, their empty forms, and the form of their numbers.

The rule of this module: the delimiter is found where the header leaves no doubt. Numbers have one decimal mark; the
other mark is refused, since it may separate thousands, unless the user says that it does.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from workbench.core.domain import Domain, Integer, Integers, Range, Reals, Value
from workbench.core.fields import Nullable
from workbench.events.reading_options import Reading
from workbench.events.values import NUMBER, UnreadableError, describe_domain, from_text

_OTHER_MARK = str.maketrans(",.", ".,")


def certain_delimiter(line: str, quote: str, default: str, fed: Callable[[Sequence[str]], int]) -> str:
    """Return the delimiter of a header: `default`, unless exactly one other character gives more inputs a column.

    Parameters
    ----------
    fed: returns the number of inputs with a column among names; less than 0: a required input has none.
    """
    input_counts = dict[str, int]()
    for each in dict.fromkeys((default, *",;\t|")):
        with suppress(csv.Error):  # a name continues in the next line
            names = next(csv.reader([line], **csv_dialect(each, quote)), [])
            if len(names) > 1:
                input_counts[each] = fed([name.strip() for name in names])
    maximum = max(input_counts.values(), default=-1)
    best = [each for each, count in input_counts.items() if count == maximum]
    return best[0] if len(best) == 1 and maximum >= 0 else default


def csv_dialect(delimiter: str, quote: str) -> dict[str, Any]:
    """Return the parameters with which Python's `csv` reads such rows."""
    quoting = {"quotechar": quote} if quote else {"quoting": csv.QUOTE_NONE}
    return {"strict": True, "delimiter": delimiter, **quoting}


def has_plain_cells(reading: Reading) -> bool:
    """Whether cells are written as they are without options."""
    return not reading.nulls and not reading.thousands and reading.decimal in ("", ".")


def read_cell(cell: str, domain: Domain, reading: Reading) -> Value | None:
    """Return the event in the text of a cell; None where it is empty."""
    if cell in reading.nulls or not cell.strip():
        return None
    inner = domain.of if isinstance(domain, Nullable) else domain
    if not isinstance(inner, Reals | Integer | Integers | Range):
        return from_text(cell, domain)
    text = _ungroup(cell, reading)
    if text is None:
        what = f"{describe_domain(inner)} with '{reading.thousands}' between groups of three digits"
        raise UnreadableError(what, f"--thousands {reading.thousands} allows it nowhere else")
    if reading.decimal != ",":
        return from_text(text, domain)
    if "." in text:
        leave = "leave out '--decimal ,' if the point is the decimal mark; " if NUMBER.fullmatch(text.strip()) else ""
        raise UnreadableError(describe_domain(inner), f"{leave}--thousands . reads points between thousands")
    if text.count(",") > 1:
        raise UnreadableError(
            describe_domain(inner), "--thousands , instead of --decimal , if commas separate thousands"
        )
    return from_text(text.translate(_OTHER_MARK), domain)


def _ungroup(cell: str, reading: Reading) -> str | None:
    """Return the text of a number without separators of thousands; None if one is elsewhere."""
    if not reading.thousands or reading.thousands not in cell:
        return cell
    mark, decimal = re.escape(reading.thousands), re.escape(reading.decimal or ".")
    grouped = rf"\s*[+-]?[0-9]{{1,3}}({mark}[0-9]{{3}})+({decimal}[0-9]*)?\s*"
    return cell.replace(reading.thousands, "") if re.fullmatch(grouped, cell) else None


def plain_cell(cell: Any, reading: Reading) -> Any:
    """Return a cell in its form without options: an empty text, or a number with a point."""
    if not isinstance(cell, str):
        return cell
    number = (_ungroup(cell, reading) or cell).strip()
    number = number.translate(_OTHER_MARK) if reading.decimal == "," else number
    is_number = not has_plain_cells(reading) and NUMBER.fullmatch(number) is not None
    return "" if cell in reading.nulls else number if is_number else cell
