"""Rows of CSV as tables of Arrow, where it finds in them what we do.

The rule of this module: Arrow takes more than we do for numbers, and less for texts. Where that may be so, rows tell.
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
from workbench.events.reading import Reading
from workbench.events.text_column import StoredTexts

ODD_FLOAT = r"^\s*([+-]?inf|nan)\s*$"
"""What cells are infinite or no number: Arrow also takes others for it."""


class CsvTables:
    """Parses rows of one file.

    Parameters
    ----------
    columns: what the columns are for.
    reading: how cells are written.
    between, quote: what stands between cells, and around them.

    Attributes
    ----------
    odd: whether some rows were no table.
    """

    def __init__(self, columns: ColumnMap, reading: Reading, between: str, quote: str) -> None:
        self._columns, self._reading, self.odd = columns, reading, False
        self._between, self._quote = between, quote
        self._many: frozenset[str] = frozenset()
        """The columns with many different texts, which get their numbers later."""

    def events(self, lines: bytes) -> Callable[[int, Domain], EventArray | None] | None:
        """What gives the events of a column, by its position, of rows that are a table; else None."""
        table = self._table(lines)
        if table is None:
            return None

        def decode(place: int, domain: Domain) -> EventArray | None:
            column = table[str(place)].combine_chunks()
            apart = type(domain) is Texts and pa.types.is_string(column.type)
            return decode_texts(column) if apart else decode_column(domain, column, stored=True)

        return decode

    def _table(self, lines: bytes) -> Any:
        """The columns that are used, by position; None where Arrow finds less in the lines, or more, than we do."""
        types = {str(i): arrow_type(domain) for i, domain in self._columns.used_columns.items()}
        letters = b"x" in lines or b"X" in lines  # which are found sooner
        if letters and pa.int64() in types.values() and (b"0x" in lines or b"0X" in lines):  # Arrow knows such numbers
            return None
        texts, used = pa.dictionary(pa.int32(), pa.string()), self._columns.used_columns  # hardly a time occurs twice
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
        """Columns of these types, by position; None where Arrow finds others."""
        from pyarrow import csv as arrow

        quoted = bool(self._quote) and self._quote.encode() in lines
        names = [str(i) for i in range(len(self._columns.names))]
        try:
            pa.enable_signal_handlers(False)  # its own would take a signal for itself, and may lose it
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
    """The columns in which something is infinite or no number."""
    floats = (name for name in table.column_names if pa.types.is_floating(table[name].type))
    return [name for name in floats if not pc.all(pc.is_finite(table[name]), min_count=0).as_py()]


def are_spelt(table: Any, texts: Any) -> bool:
    """Whether floats that are infinite or no numbers stand there as such, given the texts of their columns."""
    for name, column in zip(texts.column_names, texts.columns, strict=True):
        odd = column.filter(pc.invert(pc.is_finite(table[name])))
        if not pc.all(pc.match_substring_regex(odd, ODD_FLOAT), min_count=0).as_py():
            return False
    return True


def has_blanks(table: Any) -> bool:
    """Whether some text is nothing but space, which is no event where cells are texts."""
    columns = [one_piece(column) for column in table.columns if is_text_type(column.type)]
    told = [column.dictionary if pa.types.is_dictionary(column.type) else column for column in columns]
    return any(_some_blank(texts_of(column)) for column in told)


def _some_blank(texts: Sequence[str | None]) -> bool:
    some = texts.perhaps_blank() if isinstance(texts, StoredTexts) else texts
    return any(text is not None and not text.strip() for text in some)


def many_texts(column: Any) -> bool:
    """Whether the texts of a column of a dictionary occur less than four times on average."""
    column = one_piece(column)
    return len(column) >= MANY and 4 * len(column.dictionary) > len(column) - column.null_count
