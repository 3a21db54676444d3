"""The texts of a compiled run: compiled code has a number for each, and this says which text it stands for.

The rule of this module: a number is made of what a text says (`code.text_number`), so it is the same in every run, and
in saved states. Of short texts it says all. Two others that are compared are both here, so that they never have one
number: that is an error. Texts that no state holds any more are forgotten. What only pipelines need is imported
where it is used: rules start without their loop.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from workbench.core.domain import Domain, Texts, Value
from workbench.core.fields import Map
from workbench.errors import DomainError
from workbench.events.text_column import StoredTexts, TextColumn
from workbench.executors.compiled.code.text_number import short_text, text_code

if TYPE_CHECKING:
    from workbench.executors.compiled.code.code_table import CodeTable
    from workbench.executors.compiled.execute.given_maps import GivenMaps

MOST_FORGOTTEN = 1 << 16
"""So many texts may be kept that nothing needs any more."""

MANY = 1 << 14
"""So many texts are worth machine code, which has to be made once."""

MANY_FORGOTTEN = 1 << 21
"""The same where they are letters in a table."""

FEW = 256
"""So many numbers are looked up without a library."""


class KnownTexts(Mapping[int, str]):
    """Texts by their numbers: those that are kept, and any that are short."""

    def __init__(self, kept: Mapping[int, str]) -> None:
        self._kept = kept

    def __getitem__(self, code: int) -> str:
        text = short_text(code)
        return self._kept[code] if text is None else text

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[int]:
        return iter(self._kept)


class TextCodes:
    """Texts by their numbers.

    Few are kept in a dictionary. Once many come at a time, all that are not short are in a table of machine code, too.

    Parameters
    ----------
    constants: texts that are always needed.
    """

    def __init__(self, constants: Iterable[str]) -> None:
        self._constants = ("", *constants)
        self._texts: dict[int, str] = {}
        self._table: CodeTable | None = None
        self._limit = MOST_FORGOTTEN
        self.lasting = False
        """Whether none is ever forgotten, since they may be in states that lie elsewhere."""
        self.put(self._constants)

    @cached_property
    def maps(self) -> GivenMaps:
        """The maps that have come in, by their numbers."""
        from workbench.executors.compiled.execute.given_maps import GivenMaps

        return GivenMaps(self)

    def __len__(self) -> int:
        return len(self._texts) if self._table is None else len(self._table)

    def put(self, texts: Iterable[str]) -> list[int]:
        """The numbers of texts, which are known from now on.

        Raises
        ------
        DomainError: one has the number of another.
        """
        given = texts if isinstance(texts, Sequence) else list(texts)
        codes = []
        for text in given:
            code = text_code(text)
            if self._texts.setdefault(code, text) != text:
                raise _one_number(self._texts[code], text)
            codes.append(code)
        if self._table is not None and given:
            self._table.codes(store_texts(given))
        return codes

    def codes(self, column: TextColumn) -> Any:
        """The numbers of the texts in a column."""
        texts = column.texts
        few = self._table is None and len(self._texts) + len(texts) < MANY
        if few or not isinstance(texts, StoredTexts):
            return np.array([*self.put(texts), 0], np.int64)[column.numbers]
        if self._table is None:
            from workbench.executors.compiled.code.code_table import CodeTable

            self._table, self._limit = CodeTable(), max(self._limit, MANY_FORGOTTEN)
            self._table.codes(store_texts(list(self._texts.values())))
        codes = self._table.codes(texts)
        return codes if column.apart else codes[column.numbers]

    def reader(self) -> Callable[[Any], TextColumn]:
        """What finds the texts that are known now, also when they have been forgotten here."""
        few, table = KnownTexts(self._texts), self._table

        def texts(codes: Any) -> TextColumn:
            numbers, found = different(codes)
            if table is None:
                return TextColumn(numbers, [few[code] for code in found])
            return TextColumn(numbers, table.texts(found))

        return texts

    @property
    def by_code(self) -> Mapping[int, str]:
        """The texts that are known now by their numbers, also when they have been forgotten here."""
        return KnownTexts(self._texts if self._table is None else ChainMap(self._texts, cast(Any, self._table)))

    def decode_known(self, codes: Any) -> Any:
        """An array of texts for numbers; where nothing stands that is a number of one, there is an empty text."""
        numbers, found = different(codes)
        known = self.by_code
        return np.array([*(known.get(code, "") for code in found), ""], object)[numbers]

    def number(self, domain: Domain, value: Value) -> Any:
        """What compiled code has for a value of a scalar domain, or for a map; texts are known already."""
        from workbench.executors.compiled.code.numbers import encode_any
        from workbench.executors.compiled.lower.given_maps import MapNumber

        of = domain.of if isinstance(domain, MapNumber) else domain
        if isinstance(of, Map):
            return int(self.maps.numbers(of, [value])[0]) if value else 0
        return encode_any(domain, value)

    def value(self, domain: Domain, number: Any) -> Value:
        """The value of a scalar domain that compiled code has this number for."""
        from workbench.executors.compiled.code.numbers import decode_any

        return self.by_code[number] if isinstance(domain, Texts) else decode_any(domain, number)

    def select_texts(self, arrays: Sequence[Any]) -> list[str]:
        """The texts whose numbers are in some arrays."""
        known: set[str] = set()
        for array in arrays:
            found = different(array)[1]
            if self._table is None:
                known.update(self._texts[code] for code in self._texts.keys() & found)
            else:
                known.update(self._table.select_texts(found))
        return sorted(known)

    def forget(self, arrays: Callable[[], Sequence[Any]], held: int = 0) -> None:
        """Forget texts that are no constants and not in these arrays, from time to time.

        Parameters
        ----------
        held: how many texts there are in them at least; where these are most, none is worth looking for.
        """
        if self.lasting or len(self) <= self._limit:
            return
        if self._table is None:
            kept = self.select_texts(arrays())
            self._texts = {}
            self.put((*self._constants, *kept))
        elif 2 * held <= len(self):
            self._table = self._table.with_only(arrays())
            self._texts = {}
            self.put(self._constants)
        self._limit = 2 * len(self) + (MOST_FORGOTTEN if self._table is None else MANY_FORGOTTEN)


def _one_number(one: str, other: str) -> DomainError:
    return DomainError(
        f"the texts {one!r} and {other!r} have the same number in compiled code",
        hint="the reference executor takes them",
    )


def store_texts(texts: Sequence[str]) -> StoredTexts:
    """Texts as letters."""
    letters = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.cumsum([0, *map(len, letters)])
    return StoredTexts.adjoining(offsets, np.frombuffer(b"".join(letters), np.uint8))


def different(codes: Any) -> tuple[Any, list[int]]:
    """Different numbers, and per entry which of them it is."""
    if len(codes) > FEW:
        try:
            import pyarrow as pa
        except ImportError:
            pass
        else:
            column = pa.Array.from_buffers(pa.int64(), len(codes), [None, pa.py_buffer(np.ascontiguousarray(codes))])
            column = column.dictionary_encode()
            numbers = np.frombuffer(column.indices.buffers()[1] or b"", np.int32)[: len(codes)]
            return numbers.astype(np.int64), column.dictionary.to_pylist()
    found, numbers = np.unique(codes, return_inverse=True)
    return numbers, found.tolist()
