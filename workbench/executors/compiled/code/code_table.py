"""The numbers that compiled code has for many texts, by machine code: see `code.step.text_code`.

The rule of this module: a text is looked for by the number that is made of what it says, and compared letter by letter
(`TextTable`). Where one is found that says something else, two texts have one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import DomainError
from workbench.events.text_column import StoredTexts
from workbench.executors.compiled.code.hashing import TextTable


class CodeTable(Mapping[int, str]):
    """Texts by their numbers."""

    def __init__(self) -> None:
        self._texts = TextTable()

    def codes(self, texts: StoredTexts) -> Any:
        """The numbers of texts, which are known from now on.

        Raises
        ------
        DomainError: one has the number of another.
        """
        _, numbers = self._texts.both((texts.begins, texts.ends, texts.letters))
        if self._texts.alike:
            one, other = self.texts(self._texts.alike)
            raise DomainError(
                f"the texts {one!r} and {other!r} have the same number in compiled code",
                hint="the reference executor takes them",
            )
        return numbers

    def places(self, codes: Any) -> Any:
        """Which texts have these numbers, by when they came; -1 where none has."""
        return self._texts.places(codes)

    def texts(self, places: Sequence[int]) -> list[str]:
        """Those that came in these places."""
        return list(self._stored().some(np.array(places, np.int64)))

    def with_only(self, arrays: Sequence[Any]) -> CodeTable:
        """A table with those whose numbers are in some arrays; this one where those are most of its texts."""
        kept: Any = np.zeros(self._texts.count + 1, np.bool_)
        for array in arrays:
            kept[self.places(array[array != 0])] = True
        if 2 * int(kept[:-1].sum()) > len(self):
            return self
        made = CodeTable()
        made.codes(self._stored().some(np.flatnonzero(kept[:-1])))
        return made

    def _stored(self) -> StoredTexts:
        return StoredTexts.adjoining(*self._texts.keys())

    def __len__(self) -> int:
        return self._texts.count

    def __iter__(self) -> Iterator[int]:
        return iter(self._texts.numbers.tolist())

    def __getitem__(self, code: int) -> str:
        (place,) = self.places([code]).tolist()
        if place < 0:
            raise KeyError(code)
        return self.texts([place])[0]
