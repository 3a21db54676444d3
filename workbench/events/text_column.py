"""Texts as columns: the different ones, and which of them is where.

The rule of this module: a text is looked at once, however often it occurs in a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class TextColumn:
    """Texts one after the other; `numpy.asarray` makes an array of them.

    Attributes
    ----------
    numbers: an array, per entry which of `texts` it is.
    texts: different ones.
    """

    numbers: Any
    texts: Sequence[str]

    @classmethod
    def of(cls, values: Iterable[str]) -> TextColumn:
        """These, one after the other."""
        places: dict[str, int] = {}
        numbers = np.array([places.setdefault(value, len(places)) for value in values], np.int64)
        return cls(numbers, list(places))

    @property
    def dtype(self) -> Any:
        """That of an array of texts."""
        return np.dtype(object)

    @property
    def shape(self) -> tuple[int, ...]:
        """One dimension."""
        return (len(self),)

    @property
    def ndim(self) -> int:
        """One."""
        return 1

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, part: Any) -> TextColumn:
        return TextColumn(self.numbers[part], self.texts)

    def __array__(self, kind: Any = None, copy: bool | None = None) -> Any:
        del kind, copy
        return np.array([*self.texts, ""], object)[self.numbers]

    def tolist(self) -> list[str]:
        """The texts, one after the other."""
        return [self.texts[number] for number in self.numbers.tolist()]
