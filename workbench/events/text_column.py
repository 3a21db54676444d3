"""Columns of texts: the different texts, and an index of them for each row.

The rule of this module: a text is processed once, however often it occurs in a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class StoredTexts(Sequence[str]):
    """Many texts, each decoded on access.

    Attributes
    ----------
    begins, ends: arrays with the first byte of each text, and the byte after its last one.
    letters: the bytes (UTF-8) of the texts, and of gaps between them.
    """

    begins: Any
    ends: Any
    letters: Any

    @classmethod
    def adjoining(cls, offsets: Any, letters: Any) -> StoredTexts:
        """Return adjoining texts: each begins where the one before ends, and the last offset ends the last text."""
        return cls(offsets[:-1], offsets[1:], letters)

    def __len__(self) -> int:
        return len(self.begins)

    def __getitem__(self, index: Any) -> Any:
        begin, end = self.begins[index], self.ends[index]
        return self.letters[begin:end].tobytes().decode("utf-8", "surrogatepass")

    def __iter__(self) -> Iterator[str]:
        letters = self.letters.tobytes()
        bounds = zip(self.begins.tolist(), self.ends.tolist(), strict=True)
        if letters.isascii():  # then bytes are characters, and all are decoded together
            text = letters.decode()
            return (text[begin:end] for begin, end in bounds)
        return (letters[begin:end].decode("utf-8", "surrogatepass") for begin, end in bounds)

    def with_empty(self) -> tuple[StoredTexts, int]:
        """Return the texts, with the empty text added if it is missing, and the index of the empty text."""
        empty = np.flatnonzero(self.ends == self.begins)
        if len(empty):
            return self, int(empty[0])
        return StoredTexts(np.append(self.begins, 0), np.append(self.ends, 0), self.letters), len(self)

    def perhaps_blank(self) -> list[str]:
        """Return the texts that may be blank, without the empty ones: the others begin with a visible character."""
        indices = np.flatnonzero(self.begins != self.ends)
        first = self.letters[self.begins[indices]]
        return [self[index] for index in indices[(first <= ord(" ")) | (first >= 127)].tolist()]

    def some(self, indices: Any) -> StoredTexts:
        """Return the texts at these indices, an array."""
        begins, sizes = self.begins[indices], self.ends[indices] - self.begins[indices]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        from_there = np.repeat(begins - offsets[:-1], sizes) + np.arange(offsets[-1])
        return StoredTexts.adjoining(offsets, self.letters[from_there])


@dataclass(frozen=True, eq=False)
class TextColumn:
    """A sequence of texts, stored as numbers; `numpy.asarray` converts it to an array.

    Attributes
    ----------
    numbers: the index in `texts` of each entry.
    texts: the different texts; or all texts, where none have been compared.
    apart: whether each entry has its own text, at its own index.
    """

    numbers: Any
    texts: Sequence[str]
    apart: bool = False

    @classmethod
    def of(cls, values: Iterable[str]) -> TextColumn:
        """Build a column from texts."""
        index_of: dict[str, int] = {}
        numbers = np.array([index_of.setdefault(value, len(index_of)) for value in values], np.int64)
        return cls(numbers, list(index_of))

    @classmethod
    def each(cls, texts: Sequence[str]) -> TextColumn:
        """Build a column with a separate text for each entry."""
        return cls(np.arange(len(texts)), texts, apart=True)

    @property
    def dtype(self) -> Any:
        """The type of an array of texts."""
        return np.dtype(object)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of an array of one dimension."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """The number of dimensions, one."""
        return 1

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: Any) -> TextColumn:
        return TextColumn(self.numbers[part], self.texts)

    def __array__(self, kind: Any = None, copy: bool | None = None) -> Any:
        del kind, copy
        return np.array([*self.texts, ""], object)[self.numbers]

    def tolist(self) -> list[str]:
        """Return the texts as a list."""
        texts = self.texts
        if isinstance(texts, StoredTexts):
            if self.apart:
                return list(texts)
            if len(self) < len(texts):
                return list(texts.some(self.numbers))
            texts = list(texts)
        return [texts[number] for number in self.numbers.tolist()]

    def padded(self, present: Any) -> TextColumn:
        """Return the column with the empty text where nothing is present."""
        if present is None or self.apart:  # absent entries are empty there
            return self
        if isinstance(self.texts, StoredTexts):
            texts, empty = self.texts.with_empty()
            return TextColumn(np.where(present, self.numbers, empty), texts)
        known = self.texts if "" in self.texts else [*self.texts, ""]
        return TextColumn(np.where(present, self.numbers, known.index("")), known)
