"""The numbers that compiled code has for many texts, by machine code: see `code.step.text_code`.

The rule of this module: a text is numbered as it comes, letter by letter (`TextTable`), and so is the number made of
what it says. Where the second count differs from the first, two texts have one number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.errors import DomainError
from workbench.events.text_column import StoredTexts
from workbench.executors.compiled.code.hashing import TextTable, WordTable, hashing_loop, longer


class CodeTable(Mapping[int, str]):
    """Texts by their numbers."""

    def __init__(self) -> None:
        self._texts, self._numbers = TextTable(), WordTable()
        self._codes: Any = np.zeros(0, np.int64)

    def codes(self, texts: StoredTexts) -> Any:
        """The numbers of texts, which are known from now on.

        Raises
        ------
        DomainError: one has the number of another.
        """
        before = self._texts.count
        places = self._texts.codes((texts.offsets, texts.letters))
        count = self._texts.count
        if count > before:
            new: Any = np.empty(count - before, np.int64)
            hashing_loop("text_codes")(self._texts.starts, self._texts.letters, before, new)
            second = self._numbers.codes(new)
            if second[-1] != count - 1:
                self._refuse(second, before)
            self._codes = longer(self._codes, before, count)
            self._codes[before:count] = new
        return self._codes[places]

    def _refuse(self, second: Any, before: int) -> None:
        """Two texts have one number."""
        at = int((second != before + np.arange(len(second))).argmax())
        one, other = self.texts([int(second[at]), before + at])
        raise DomainError(
            f"the texts {one!r} and {other!r} have the same number in compiled code",
            hint="the reference executor takes them",
        )

    def places(self, codes: Any) -> Any:
        """Which texts have these numbers, by when they came; -1 where none has."""
        codes = np.ascontiguousarray(codes, np.int64)
        found: Any = np.empty(len(codes), np.int64)
        hashing_loop("look_words")(codes.view(np.uint64), found, self._numbers.table)
        return found

    def texts(self, places: Sequence[int]) -> list[str]:
        """Those that came in these places."""
        return list(StoredTexts(*self._texts.keys()).some(np.array(places, np.int64)))

    def with_only(self, arrays: Sequence[Any]) -> CodeTable:
        """A table with those whose numbers are in some arrays; this one where those are most of its texts."""
        kept: Any = np.zeros(self._texts.count + 1, np.bool_)
        for array in arrays:
            kept[self.places(array[array != 0])] = True
        if 2 * int(kept[:-1].sum()) > len(self):
            return self
        made = CodeTable()
        made.codes(StoredTexts(*self._texts.keys()).some(np.flatnonzero(kept[:-1])))
        return made

    def __len__(self) -> int:
        return self._texts.count

    def __iter__(self) -> Iterator[int]:
        return iter(self._codes[: len(self)].tolist())

    def __getitem__(self, code: int) -> str:
        (place,) = self.places([code]).tolist()
        if place < 0:
            raise KeyError(code)
        return self.texts([place])[0]
