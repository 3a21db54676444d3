"""The texts of a compiled run: compiled code has a number for each, and this says which text it stands for.

The rule of this module: a number is made of what a text says (`code.step.text_code`), so it is the same in every run,
and in saved states. Two texts that are compared are both here, so that they never have one number: that is an error.
Texts that no state holds any more are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.domain import Domain, Texts, Value
from workbench.errors import DomainError
from workbench.events.text_column import TextColumn
from workbench.executors.compiled.code.step import text_code
from workbench.executors.compiled.execute.observe import decode_any

MOST_FORGOTTEN = 1 << 16
"""So many texts may be kept that nothing needs any more."""

FEW = 256
"""So many numbers are looked up without a library."""


class TextCodes:
    """Texts by their numbers.

    Parameters
    ----------
    constants: texts that are always needed.
    """

    def __init__(self, constants: Iterable[str]) -> None:
        self._constants = ("", *constants)
        self._texts: dict[int, str] = {}
        self._limit = MOST_FORGOTTEN
        self.lasting = False
        """Whether none is ever forgotten, since they may be in states that lie elsewhere."""
        self.put(self._constants)

    def __len__(self) -> int:
        return len(self._texts)

    def put(self, texts: Iterable[str]) -> list[int]:
        """The numbers of texts, which are known from now on.

        Raises
        ------
        DomainError: one has the number of another.
        """
        codes = []
        for text in texts:
            code = text_code(text)
            if self._texts.setdefault(code, text) != text:
                raise DomainError(
                    f"the texts {self._texts[code]!r} and {text!r} have the same number in compiled code",
                    hint="the reference executor takes them",
                )
            codes.append(code)
        return codes

    def codes(self, column: TextColumn) -> Any:
        """The numbers of the texts in a column."""
        return np.array([*self.put(column.texts), 0], np.int64)[column.numbers]

    def reader(self) -> Callable[[Any], TextColumn]:
        """What finds the texts that are known now, also when they have been forgotten here."""
        known = self._texts

        def texts(codes: Any) -> TextColumn:
            numbers, found = different(codes)
            return TextColumn(numbers, [known[code] for code in found])

        return texts

    @property
    def by_code(self) -> Mapping[int, str]:
        """The texts that are known now by their numbers, also when they have been forgotten here."""
        return self._texts

    def known(self, codes: Any) -> Any:
        """An array of texts for numbers; where nothing stands that is a number of one, there is an empty text."""
        numbers, found = different(codes)
        return np.array([*(self._texts.get(code, "") for code in found), ""], object)[numbers]

    def value(self, domain: Domain, number: Any) -> Value:
        """The value of a scalar domain that compiled code has this number for."""
        return self._texts[number] if isinstance(domain, Texts) else decode_any(domain, number)

    def held(self, arrays: Sequence[Any]) -> list[str]:
        """The texts whose numbers are in some arrays."""
        known: set[int] = set()
        for array in arrays:
            known.update(self._texts.keys() & different(array)[1])
        return sorted(self._texts[code] for code in known)

    def forget(self, arrays: Callable[[], Sequence[Any]]) -> None:
        """Forget texts that are no constants and not in these arrays, from time to time."""
        if self.lasting or len(self._texts) <= self._limit:
            return
        kept = self.held(arrays())
        self._texts = {}
        self.put((*self._constants, *kept))
        self._limit = 2 * len(self._texts) + MOST_FORGOTTEN


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
