"""A device on which rules run: its memory, its streams, and how kernels are started there. Imports numba's CUDA target.

The rule of this module: memory that has been asked for by a name is used again under that name, since asking takes as
long as a kernel. What has no room on the device stays in the host's memory, where kernels read it over the bus.

Source: Cugola and Margara, 5.5 (rules whose columns have no room).
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from numba import cuda

from workbench.executors.compiled.gpu.cuda import free_bytes
from workbench.executors.compiled.rules_gpu.kernels import ITEMS, common

THREADS = 128
"""Threads of a block: a power of two."""
BLOCKS = 4096
"""Blocks of a kernel that takes one stretch of a window after the other."""
KEPT_FREE = 4
"""A part of the free memory, the fourth, is what one array may take."""


def devices() -> list[int]:
    """The numbers of all there are."""
    return list(range(len(cuda.gpus)))


class RuleDevice:
    """One device.

    Parameters
    ----------
    number: its number; what follows happens there where `current` is entered.
    threads: of a block. blocks: at most, of kernels that go through windows.
    """

    def __init__(self, number: int, threads: int = THREADS, blocks: int = BLOCKS) -> None:
        self.number, self.threads, self.blocks = number, threads, blocks
        self.stream, self.uploads = cuda.stream(), cuda.stream()
        self._rooms: dict[Any, Any] = {}
        self.elsewhere = 0
        """Bytes of columns that lie in the host's memory."""

    def current(self) -> AbstractContextManager[Any]:
        """Where this thread's work is to be done."""
        found: AbstractContextManager[Any] = cuda.gpus[self.number]
        return found

    def room(self, name: Any, words: int) -> Any:
        """An array of so many words at least, whose content means nothing."""
        found = self._rooms.get(name)
        if found is None or len(found) < words:
            self._rooms.pop(name, None)
            found = self._rooms[name] = self.array(1 << max(words - 1, 15).bit_length())
        return found

    def array(self, words: int) -> Any:
        """A new array."""
        return cuda.device_array(words, np.int64, stream=self.stream)

    def column(self, words: int) -> Any:
        """An array that only kernels read and write; it lies in the host's memory where the device has too little."""
        if 8 * words <= free_bytes() // KEPT_FREE:
            return self.array(words)
        self.elsewhere += 8 * words
        return cuda.mapped_array(words, np.int64, stream=self.stream)

    @staticmethod
    def rows(words: int, most: int) -> int:
        """How many rows of so many words there is room for, up to a number."""
        return max(1, min(most, free_bytes() // (8 * KEPT_FREE * words)))

    def sent(self, array: Any) -> Any:
        """A copy of an array on the device."""
        return cuda.to_device(np.ascontiguousarray(array), stream=self.stream)

    def given(self, name: str, numbers: Any) -> Any:
        """Numbers on the device, in an array that is used again under this name."""
        there = self.room(name, len(numbers))
        there[: len(numbers)].copy_to_device(np.ascontiguousarray(numbers), stream=self.stream)
        return there

    def word(self, array: Any, place: int) -> int:
        """A word, when all that has been started has ended."""
        return int(self.words(array, place, place + 1)[0])

    def words(self, array: Any, first: int, last: int) -> Any:
        """Words, when all that has been started has ended."""
        found = array[first:last].copy_to_host(stream=self.stream)
        self.stream.synchronize()
        return found

    def start(self, kernel: Any, count: int, *arguments: Any) -> None:
        """Start a kernel with a thread for each of so many things."""
        kernel[max(1, -(-count // self.threads)), self.threads, self.stream](*arguments)

    def scan(self, numbers: Any, count: int, name: str = "T") -> None:
        """Sums of all numbers before each, in place; behind them the sum of all."""
        size = self.threads * ITEMS
        blocks = max(1, -(-count // size))
        totals = self.room(name, blocks + 1)
        kernel = common("scan")
        kernel[blocks, self.threads, self.stream](0, numbers, count, totals)
        if blocks > 1:
            self.scan(totals, blocks, name + "T")
            kernel[blocks, self.threads, self.stream](1, numbers, count, totals)
