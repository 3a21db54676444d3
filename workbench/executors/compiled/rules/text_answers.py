"""What machine code asks Python about texts, for it has only their numbers.

The rule of this module: an answer is always right; what goes wrong meanwhile is kept, and told when the code has ended.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from workbench.executors.compiled.rules import layout as at
from workbench.interrupts import called_back

if TYPE_CHECKING:
    from workbench.executors.compiled.rules.arrays import RuleArrays
    from workbench.executors.compiled.rules.running import RunningProgram

BYTES = 7
"""Of a text in one word: as many as leave it positive."""
MANY, LARGEST = 1 << 12, 1 << 20
"""Texts whose beginnings are at hand, at most; and questions before there is room for more."""


class TextAnswers:
    """Answers for a program.

    Attributes
    ----------
    memory: has tables of them.
    address: where the function is that is asked.
    """

    def __init__(self, engine: RunningProgram) -> None:
        self._engine, self._asked = engine, 0
        self._error: BaseException | None = None
        self.memory: RuleArrays | None = None
        # an error on the way here is told by Python on the error output, and is an answer of 0
        self._function: Any = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)(self._answer)
        self.address: int = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    @called_back
    def _answer(self, what: int, one: int, other: int) -> int:
        """What is asked, greater by so much that it is positive."""
        try:
            first, second = self._engine.text(one), self._engine.text(other)
            if what == at.JOIN:
                return self._engine.texts.put([first + second])[0] + 1
            if self.memory is not None:
                self._asked += 1
                self._keep(self.memory, one, first)
                self._keep(self.memory, other, second)
            return (first > second) - (first < second) + 2
        except BaseException as error:  # which machine code has no way for
            self._error = error
            return 0

    @staticmethod
    def _keep(memory: RuleArrays, code: int, text: str) -> None:
        """Have the beginning of a text at hand; bytes are in the order of letters."""
        place = int(memory.V[at.BEGINS] + (code & int(memory.V[at.BEGINS_MASK])) * at.BEGIN_WORDS)
        size = BYTES * (at.BEGIN_WORDS - 1)
        begin = text[:size].encode("utf-8", "surrogatepass")[:size].ljust(size, b"\0")
        words = [int.from_bytes(begin[i : i + BYTES]) for i in range(0, size, BYTES)]
        memory.H[place : place + at.BEGIN_WORDS] = [code, *words]

    def make_room(self, moved: Callable[[], None]) -> None:
        """Have more at hand, if it is asked too often; then arrays may have moved."""
        if self._asked > MANY and self.memory is not None:
            size = int(self.memory.V[at.BEGINS_MASK]) + 1
            if self._asked > size and size < LARGEST:
                self._asked = 0
                self.memory.more_begins(4 * size)
                moved()

    def raised(self) -> BaseException:
        """What has gone wrong, once."""
        error, self._error = self._error, None
        return error or KeyboardInterrupt()
