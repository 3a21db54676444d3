"""The codes of texts in compiled code, and back.

The rule of this module: a short text can be decoded from its code, so it is not stored; any other code is a hash, and
the table that issued it stores the text (`execute.text_codes`). The two upper of 63 bits encode which of the `MODES` a
text has, or that it has none. A short text is a word of six bits a letter, terminated by a 1 and then mixed, so that
similar texts are far apart in tables; `code.hashing_loops` processes many at once.
"""

from __future__ import annotations

import re

from workbench.errors import DomainError
from workbench.executors.compiled.lower.tables import ALL, LAST_SCATTER, SCATTER

SHORT = 10
"""Length of the longest short text."""
SIX = 6
"""Bits per letter of a short text."""
BITS = 61
"""Bits of a code below the mode."""
LOW = (1 << BITS) - 1
LONG = 3
"""The mode of a text that is not short."""
HALF = 31
"""Bits by which a word is xor-shifted; doing so again undoes it."""
BACK = pow(SCATTER, -1, 1 << BITS)
"""The inverse of a multiplication with `SCATTER`."""

MODES = re.compile(rb"([ -_]{0,10})|([ -?_`-~]{0,10})|([@-^][ -?_`-~]{0,9})")
"""Without lower-case letters; without upper-case ones; with a single upper-case one, at the beginning. These are
columns of ASCII, so other signs count as letters (`{` as lower-case), but `_` as both."""
SIGNS = [*range(32, 64), *range(64, 96)]
"""The signs that six bits represent, in upper case."""
_SIX_BITS = bytes(byte & 31 | byte >> 1 & 32 for byte in range(128)).ljust(256)
_SMALL = bytes(sign | 32 if 64 <= sign < 95 else sign for sign in range(256))


def text_code(text: str) -> int:
    """Return the code of a text in compiled code: the same in every process; 0 for the empty text."""
    letters = text.encode("utf-8", "surrogatepass")
    match = MODES.fullmatch(letters)
    if match is None:
        return LONG << BITS | _mix(letters) >> 64 - BITS
    if not letters:
        return 0
    word = 1
    for six in letters.translate(_SIX_BITS)[::-1]:
        word = word << SIX | six
    word = word * SCATTER & LOW
    assert match.lastindex is not None
    return match.lastindex - 1 << BITS | word ^ word >> HALF


def short_text(code: int) -> str | None:
    """Return the text of a code if it is short, else None."""
    mode, word = code >> BITS, code & LOW
    if code == 0:
        return ""
    word = (word ^ word >> HALF) * BACK & LOW
    size = (word.bit_length() - 1) // SIX
    if not (0 <= mode < LONG and 0 < size <= SHORT and word >> SIX * size == 1):
        return None
    letters = bytes(SIGNS[word >> SIX * k & 63] for k in range(size))
    large = (size, 0, 1)[mode]
    return (letters[:large] + letters[large:].translate(_SMALL)).decode("ascii")


def make_collision_error(one: str, other: str) -> DomainError:
    """Build the error of two texts with the same code."""
    what = f"the texts {one!r} and {other!r} have the same number in compiled code"
    return DomainError(what, hint="use the reference executor")


def _mix(letters: bytes) -> int:
    """Return the hash of a text, as `hashing_loops.mix_text`."""
    mixed = len(letters) * LAST_SCATTER & ALL
    for begin in range(0, len(letters), 8):
        mixed = ((mixed ^ int.from_bytes(letters[begin : begin + 8], "little")) * SCATTER) & ALL
        mixed ^= mixed >> 32
    mixed = mixed * LAST_SCATTER & ALL
    return mixed ^ mixed >> 29
