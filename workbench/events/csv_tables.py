"""Parse rows of CSV with Arrow, where the result is that of our own parser.

The rule of this module: Arrow accepts more numbers than we do, and fewer texts. In doubt, rows are read one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from workbench.core.domain import Domain, Texts
from workbench.events import compute as pc
from workbench.events.batch import EventArray
from workbench.events.buffers import MANY, is_text_type, one_piece, texts_of
from workbench.events.clock import Times
from workbench.events.column_map import ColumnMap
from workbench.events.columns import arrow_type
from workbench.events.input_columns import decode_column, decode_texts
from workbench.events.reading_options import Reading
from workbench.events.text_column import StoredTexts
from workbench.events.values import CopiedCells

ODD_FLOAT = r"^\s*([+-]?inf|nan)\s*$"
"""A pattern for cells that are infinite or NaN: Arrow accepts further spellings."""


class CsvTables:
    """Parses rows of one file.

    Parameters
    ----------
    columns: the map from columns to inputs.
    reading: the form of cells.
    between, quote: the delimiter and the quotation mark of cells.

    Attributes
    ----------
    odd: whether some rows could not be parsed as a table.
    """

    def __init__(self, columns: ColumnMap, reading: Reading, between: str, quote: str) -> None:
        self._columns, self._reading, self.odd = columns, reading, False
        self._between, self._quote = between, quote
        self._many: frozenset[str] = frozenset()
        """The columns with many different texts, which are numbered later."""

    def events(self, lines: bytes) -> Callable[[int, Domain], EventArray | None] | None:
        """Return a function from a column's position to its events, or None if the rows are no table."""
        table = self._table(lines)
        if table is None:
            return None

        def decode(index: int, domain: Domain) -> EventArray | None:
            column = table[str(index)].combine_chunks()
            if isinstance(domain, CopiedCells) and not is_text_type(column.type):  # an input reads its numbers
                texts = self._parse_lines(lines, {str(index): pa.string()})
                return None if texts is None else decode_column(domain, texts[str(index)].combine_chunks())
            apart = type(domain) is Texts and pa.types.is_string(column.type)
            return decode_texts(column) if apart else decode_column(domain, column, stored=True)

        return decode

    def _table(self, lines: bytes) -> Any:
        """Return the used columns by position; None if Arrow finds fewer rows or values than we do, or more."""
        types = {str(i): arrow_type(domain) for i, domain in self._columns.used_columns.items()}
        letters = b"x" in lines or b"X" in lines  # these are found faster
        if letters and pa.int64() in types.values() and (b"0x" in lines or b"0X" in lines):  # Arrow accepts these
            return None
        texts, used = pa.dictionary(pa.int32(), pa.string()), self._columns.used_columns  # times seldom repeat
        named = {i for i, kind in types.items() if pa.types.is_string(kind) and not isinstance(used[int(i)], Times)}
        named -= self._many
        table = self._parse_lines(lines, {i: texts if i in named else kind for i, kind in types.items()})
        if table is None or has_blanks(table):
            self.odd = True
            return None
        self._many |= {i for i in named if many_texts(table[i])}
        if odd := odd_floats(table):
            spelt = self._parse_lines(lines, dict.fromkeys(odd, pa.string()))
            return table if spelt is not None and are_spelt(table, spelt) else None
        return table

    def _parse_lines(self, lines: bytes, types: Mapping[str, Any]) -> Any:
        """Parse columns of these types, by position; None if Arrow finds others."""
        from pyarrow import csv as arrow

        quoted = bool(self._quote) and self._quote.encode() in lines
        names = [str(i) for i in range(len(self._columns.names))]
        try:
            pa.enable_signal_handlers(False)  # Arrow's own handlers would intercept signals, and may lose them
            return arrow.read_csv(
                pa.BufferReader(lines),
                arrow.ReadOptions(use_threads=False, column_names=names, block_size=len(lines) + 1),
                arrow.ParseOptions(
                    delimiter=self._between, quote_char=self._quote if quoted else False, newlines_in_values=quoted,
                    ignore_empty_lines=False,
                ),
                arrow.ConvertOptions(
                    column_types=dict(types),
                    include_columns=list(types),
                    null_values=["", *self._reading.nulls],
                    decimal_point=self._reading.decimal or ".",
                    true_values=["true", "True", "TRUE", "1"],
                    false_values=["false", "False", "FALSE", "0"],
                    strings_can_be_null=True,
                ),
            )  # fmt: skip
        except pa.ArrowInvalid:
            return None
        finally:
            pa.enable_signal_handlers(True)


def odd_floats(table: Any) -> list[str]:
    """Return the columns with a float that is infinite or NaN."""
    floats = (name for name in table.column_names if pa.types.is_floating(table[name].type))
    return [name for name in floats if not pc.all(pc.is_finite(table[name]), min_count=0).as_py()]


def are_spelt(table: Any, texts: Any) -> bool:
    """Whether infinite floats and NaN have accepted spellings in the texts of their columns."""
    for name, column in zip(texts.column_names, texts.columns, strict=True):
        odd = column.filter(pc.invert(pc.is_finite(table[name])))
        if not pc.all(pc.match_substring_regex(odd, ODD_FLOAT), min_count=0).as_py():
            return False
    return True


def has_blanks(table: Any) -> bool:
    """Whether some text is blank, which means no event where cells are texts."""
    columns = [one_piece(column) for column in table.columns if is_text_type(column.type)]
    text_arrays = [column.dictionary if pa.types.is_dictionary(column.type) else column for column in columns]
    return any(_some_blank(texts_of(column)) for column in text_arrays)


def _some_blank(texts: Sequence[str | None]) -> bool:
    some = texts.perhaps_blank() if isinstance(texts, StoredTexts) else texts
    return any(text is not None and not text.strip() for text in some)


def many_texts(column: Any) -> bool:
    """Whether the texts of a dictionary column occur less than four times on average."""
    column = one_piece(column)
    return len(column) >= MANY and 4 * len(column.dictionary) > len(column) - column.null_count
