"""What generated code of rules calls, on plain Python numbers: hashing, memory, and a clock.

The rule of this module: `code.llvm_program` has the same functions for machine code; two forms of one give the same.
"""

from __future__ import annotations

import ctypes
import time
from typing import Any

from workbench.core.ops import OVERFLOWS

ODD = 0x9E3779B97F4A7C15
MASK64 = (1 << 64) - 1


def scattered(mixed: int, word: int) -> int:
    """A hash of a word and of the hash of those before it, not negative."""
    both = ((mixed ^ word) & MASK64) * ODD & MASK64
    return (both ^ (both >> 32)) & (MASK64 >> 1)


def word_at(address: int, place: int) -> int:
    """The word at a place behind an address."""
    return ctypes.c_int64.from_address(address + 8 * place).value


def byte_at(address: int, place: int) -> int:
    """The byte at a place behind an address."""
    return ctypes.c_uint8.from_address(address + place).value


def wrapped(number: int) -> int:
    """A whole number as it is in 64 bits."""
    return ((number + (1 << 63)) & MASK64) - (1 << 63)


def put_word(address: int, place: int, word: int) -> None:
    """Write a word at a place behind an address."""
    ctypes.c_int64.from_address(address + 8 * place).value = word


def fetch(array: Any, place: int) -> None:
    """Have a word at hand soon; nothing in Python."""


def answer(address: int, what: int, one: int, other: int) -> int:
    """What a function says that lies at an address."""
    found: int = ANSWERING(address)(what, one, other)
    return found


ANSWERING = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 3)


def ticks() -> int:
    """A clock that only its differences mean something of."""
    return time.perf_counter_ns()


PLAIN: dict[str, Any] = {
    **{op.name: op.exact for op in OVERFLOWS.values()},
    "scattered": scattered, "word_at": word_at, "byte_at": byte_at,
    "put_word": put_word, "fetch": fetch, "wrapped": wrapped, "ticks": ticks, "answer": answer,
    "int_same": lambda number, x: number == x,
    "int_below": lambda number, x: number < x,
    "int_above": lambda number, x: number > x,
}  # fmt: skip
"""What generated code calls, by name."""
