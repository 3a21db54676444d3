"""The codes of many texts in compiled code, by machine code: see `code.text_number`.

The rule of this module: the code of a short text encodes all of it. The code of any other is a hash, and texts are
compared letter by letter (`TextTable`), so that a collision of two codes is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from workbench.events.text_column import StoredTexts
from workbench.executors.compiled.code.hashing import TextTable
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.code.text_number import SHORT, make_collision_error


@cache
def text_loop(name: str) -> MachineLoop:
    """Return a function of `text_loops` as machine code."""
    folder = __name__.rpartition(".")[0]
    return MachineLoop(code_of(f"{folder}.text_loops", name, f"{folder}.hashing_loops", f"{folder}.text_number"))


class CodeTable(Mapping[int, str]):
    """The texts that are not short, by code."""

    def __init__(self) -> None:
        self._texts = TextTable()

    def codes(self, texts: StoredTexts) -> Any:
        """Return the codes of texts, and store the texts.

        Raises
        ------
        DomainError: two texts have the same code.
        """
        numbers: Any = np.empty(len(texts), np.int64)
        others: Any = np.empty_like(numbers)
        count = text_loop("number_short")(texts.begins, texts.ends, texts.letters, numbers, others)
        if count:
            others = others[:count]
            _, numbers[others] = self._texts.both((texts.begins[others], texts.ends[others], texts.letters))
        if self._texts.alike:
            raise make_collision_error(*self._long(self._texts.alike))
        return numbers

    def texts(self, codes: Sequence[int]) -> list[str]:
        """Return the texts with these codes.

        Raises
        ------
        KeyError: a code is unknown.
        """
        numbers: Any = np.array(codes, np.int64)
        letters: Any = np.empty((len(numbers), SHORT), np.uint8)
        sizes: Any = np.empty(len(numbers), np.int64)
        text_loop("short_letters")(numbers, letters, sizes)
        begins = np.arange(0, SHORT * len(numbers), SHORT)
        texts = list(StoredTexts(begins, begins + sizes, letters.reshape(-1)))
        others = np.flatnonzero((sizes == 0) & (numbers != 0))
        indices = self._texts.find_keys(numbers[others]).tolist()
        if -1 in indices:
            raise KeyError(codes[others[indices.index(-1)]])
        for at, text in zip(others.tolist(), self._long(indices), strict=True):
            texts[at] = text
        return texts

    def select_texts(self, codes: Any) -> list[str]:
        """Return the stored texts that have some of these codes."""
        indices = self._texts.find_keys(codes)
        return self._long(indices[indices >= 0])

    def with_only(self, arrays: Sequence[Any]) -> CodeTable:
        """Return a table of the texts whose codes are in some arrays; this table if those are most of its texts."""
        used: Any = np.zeros(self._texts.count + 1, np.bool_)
        for array in arrays:
            used[self._texts.find_keys(array)] = True
        if 2 * int(used[:-1].sum()) > len(self):
            return self
        table = CodeTable()
        table.codes(self._store_texts().some(np.flatnonzero(used[:-1])))
        return table

    def _long(self, indices: Any) -> list[str]:
        """Return the texts at these indices."""
        return list(self._store_texts().some(np.array(indices, np.int64)))

    def _store_texts(self) -> StoredTexts:
        return StoredTexts.adjoining(*self._texts.keys())

    def __len__(self) -> int:
        return self._texts.count

    def __iter__(self) -> Iterator[int]:
        return iter(self._texts.numbers.tolist())

    def __getitem__(self, code: int) -> str:
        return self.texts([code])[0]
