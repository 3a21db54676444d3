"""The texts of a compiled run: compiled code represents each by a code, which is decoded here.

The rule of this module: a code depends on the text alone (`code.text_number`), so it is the same in every run, and in
saved states. It encodes short texts entirely. All other texts of a run are stored here, so that a collision of two
codes is found: that is an error. Texts that no state refers to any more are dropped. Imports that only pipelines need
are local: rules start without their loop.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.core.domain import Domain, Texts, Value
from workbench.core.fields import Map
from workbench.events.text_column import StoredTexts, TextColumn
from workbench.executors.compiled.code.text_number import make_collision_error, short_text, text_code

if TYPE_CHECKING:
    from workbench.executors.compiled.code.code_table import CodeTable
    from workbench.executors.compiled.execute.input_maps import InputMaps

MAX_FORGOTTEN = 1 << 16
"""Maximum number of unused texts in the dictionary."""

MANY = 1 << 14
"""Minimum number of texts that pays for machine code, which has to be compiled once."""

MANY_FORGOTTEN = 1 << 21
"""Maximum number of unused texts in a table."""

MAX_PLAIN_CODES = 256
"""Maximum number of codes that are looked up without a library."""


class KnownTexts(Mapping[int, str]):
    """A mapping from codes to texts: those that are stored, and all short ones."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._kept = texts

    def __getitem__(self, code: int) -> str:
        text = short_text(code)
        return self._kept[code] if text is None else text

    def texts(self, codes: Iterable[int]) -> list[str]:
        """Return the texts with these codes."""
        return [self[code] for code in codes]

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[int]:
        return iter(self._kept)


class TextCodes:
    """A mapping between texts and their codes.

    A few texts are in a dictionary. Once many come at a time, all but short ones are in a `CodeTable` instead.

    Parameters
    ----------
    constants: texts that are never dropped.
    """

    def __init__(self, constants: Iterable[str]) -> None:
        self._constants = ("", *constants)
        self._texts: dict[int, str] = {}
        self._table: CodeTable | None = None
        self._limit = MAX_FORGOTTEN
        self.lasting = False
        """Whether texts are never dropped, since states that are stored elsewhere may refer to them."""
        self.put(self._constants)

    @cached_property
    def maps(self) -> InputMaps:
        """The input maps, by number."""
        from workbench.executors.compiled.execute.input_maps import InputMaps

        return InputMaps(self)

    def __len__(self) -> int:
        return len(self._texts) if self._table is None else len(self._table)

    def put(self, texts: Iterable[str]) -> list[int]:
        """Return the codes of texts, and store the texts.

        Raises
        ------
        DomainError: two texts have the same code.
        """
        text_list = texts if isinstance(texts, Sequence) else list(texts)
        if self._table is not None and text_list:
            return cast("list[int]", self._table.codes(store_texts(text_list)).tolist())
        codes = []
        for text in text_list:
            code = text_code(text)
            if self._texts.setdefault(code, text) != text:
                raise make_collision_error(self._texts[code], text)
            codes.append(code)
        return codes

    def codes(self, column: TextColumn) -> Any:
        """Return the codes of the texts in a column."""
        texts = column.texts
        is_small = self._table is None and len(self._texts) + len(texts) < MANY
        if is_small or not isinstance(texts, StoredTexts):
            return np.array([*self.put(texts), 0], np.int64)[column.numbers]
        if self._table is None:
            from workbench.executors.compiled.code.code_table import CodeTable

            self._table, self._limit = CodeTable(), max(self._limit, MANY_FORGOTTEN)
            self._table.codes(store_texts(list(self._texts.values())))
            self._texts = {}
        codes = self._table.codes(texts)
        return codes if column.apart else codes[column.numbers]

    def reader(self) -> Callable[[Any], TextColumn]:
        """Return a decoder for the texts that are known now, which works even after they have been dropped here."""
        known = self.by_code

        def texts(codes: Any) -> TextColumn:
            numbers, distinct = different(codes)
            return TextColumn(numbers, known.texts(distinct))

        return texts

    @property
    def by_code(self) -> KnownTexts | CodeTable:
        """The texts that are known now, by code, also after they have been dropped here."""
        return KnownTexts(self._texts) if self._table is None else self._table

    def decode_known(self, codes: Any) -> Any:
        """Return an array of texts for codes; an unknown code gives the empty text."""
        numbers, distinct = different(codes)
        known = self.by_code
        return np.array([*(known.get(code, "") for code in distinct), ""], object)[numbers]

    def number(self, domain: Domain, value: Value) -> Any:
        """Return the number that represents a value of a scalar domain, or a map; texts are known already."""
        from workbench.executors.compiled.code.numbers import encode_any
        from workbench.executors.compiled.lower.input_maps import MapNumber

        of = domain.of if isinstance(domain, MapNumber) else domain
        if isinstance(of, Map):
            return int(self.maps.numbers(of, [value])[0]) if value else 0
        return encode_any(domain, value)

    def value(self, domain: Domain, number: Any) -> Value:
        """Return the value of a scalar domain that a number represents."""
        from workbench.executors.compiled.code.numbers import decode_any

        return self.by_code[number] if isinstance(domain, Texts) else decode_any(domain, number)

    def select_texts(self, arrays: Sequence[Any]) -> list[str]:
        """Return the texts whose codes are in some arrays."""
        known: set[str] = set()
        for array in arrays:
            distinct = different(array)[1]
            if self._table is None:
                known.update(self._texts[code] for code in self._texts.keys() & distinct)
            else:
                known.update(self._table.select_texts(distinct))
        return sorted(known)

    def forget(self, arrays: Callable[[], Sequence[Any]], held: int = 0) -> None:
        """Drop texts that are neither constants nor in these arrays, from time to time.

        Parameters
        ----------
        held: minimum number of texts in the arrays; where these are most, nothing is dropped.
        """
        if self.lasting or len(self) <= self._limit:
            return
        if self._table is None:
            texts = self.select_texts(arrays())
            self._texts = {}
            self.put((*self._constants, *texts))
        elif 2 * held <= len(self):
            self._table = self._table.with_only(arrays())
            self.put(self._constants)
        self._limit = 2 * len(self) + (MAX_FORGOTTEN if self._table is None else MANY_FORGOTTEN)


def store_texts(texts: Sequence[str]) -> StoredTexts:
    """Convert texts to letters and offsets."""
    letters = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.cumsum([0, *map(len, letters)])
    return StoredTexts.adjoining(offsets, np.frombuffer(b"".join(letters), np.uint8))


def different(codes: Any) -> tuple[Any, list[int]]:
    """Return, per entry, an index into the distinct codes; and these."""
    if len(codes) > MAX_PLAIN_CODES:
        try:
            import pyarrow as pa
        except ImportError:
            pass
        else:
            column = pa.Array.from_buffers(pa.int64(), len(codes), [None, pa.py_buffer(np.ascontiguousarray(codes))])
            column = column.dictionary_encode()
            numbers = np.frombuffer(column.indices.buffers()[1] or b"", np.int32)[: len(codes)]
            return numbers.astype(np.int64), column.dictionary.to_pylist()
    distinct, numbers = np.unique(codes, return_inverse=True)
    return numbers, distinct.tolist()
