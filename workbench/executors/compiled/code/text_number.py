"""The number that compiled code has for a text, and back.

The rule of this module: a short text is its number, so that nobody has to keep it; any other has one that is made of
what it says, and who gave it out knows the text (`execute.text_codes`). The two upper bits of the 63 say which of the
`MODES` a text is of, or that it is none of them. A short one is a word of six bits a letter, behind which stands a one,
and that is mixed, so that texts that are alike lie apart in tables; `code.hashing_loops` has the same for many.
"""

from __future__ import annotations

import re

from workbench.executors.compiled.lower.tables import ALL, LAST_SCATTER, SCATTER

SHORT = 10
"""Letters of the longest short text."""
SIX = 6
"""Bits of a letter of one."""
BITS = 61
"""Bits of a number below those that say how it was made."""
LOW = (1 << BITS) - 1
LONG = 3
"""What stands there where a text is not short."""
HALF = 31
"""By so many bits a word is mixed with itself; doing it again undoes it."""
BACK = pow(SCATTER, -1, 1 << BITS)
"""Undoes a multiplication with `SCATTER`."""

MODES = re.compile(rb"([ -_]{0,10})|([ -?_`-~]{0,10})|([@-^][ -?_`-~]{0,9})")
"""Without small letters; without large ones; with a large one at the beginning only. These are columns of ASCII, so
other signs go with letters (`{` with small ones), but `_` with both."""
SIGNS = [*range(32, 64), *range(64, 96)]
"""What six bits stand for, as large letters."""
_SIX_BITS = bytes(byte & 31 | byte >> 1 & 32 for byte in range(128)).ljust(256)
_SMALL = bytes(sign | 32 if 64 <= sign < 95 else sign for sign in range(256))


def text_code(text: str) -> int:
    """The number that compiled code has for a text: the same in every process; of the empty one, 0."""
    letters = text.encode("utf-8", "surrogatepass")
    found = MODES.fullmatch(letters)
    if found is None:
        return LONG << BITS | _mix(letters) >> 64 - BITS
    if not letters:
        return 0
    word = 1
    for six in letters.translate(_SIX_BITS)[::-1]:
        word = word << SIX | six
    word = word * SCATTER & LOW
    assert found.lastindex is not None
    return found.lastindex - 1 << BITS | word ^ word >> HALF


def short_text(code: int) -> str | None:
    """The text of a number of a short one; None where it is none."""
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


def _mix(letters: bytes) -> int:
    """What `hashing_loops.mix_text` makes."""
    mixed = len(letters) * LAST_SCATTER & ALL
    for begin in range(0, len(letters), 8):
        mixed = ((mixed ^ int.from_bytes(letters[begin : begin + 8], "little")) * SCATTER) & ALL
        mixed ^= mixed >> 32
    mixed = mixed * LAST_SCATTER & ALL
    return mixed ^ mixed >> 29
