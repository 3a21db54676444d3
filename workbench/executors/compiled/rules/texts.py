"""What the kernel knows of texts beside their numbers: the letters of those that are compared, and joined ones.

The rule of this module: the kernel asks for what is missing. All texts of a block are given with the first of them,
since others will be asked for, too.
"""

# mypy: allow-untyped-calls
# It calls functions of the kernel as plain Python.

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.kernel.texts import find_joined, find_text
from workbench.executors.compiled.rules.records import KernelStatus
from workbench.tesla import tree as t

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes
    from workbench.executors.compiled.rules.memory import KernelMemory
    from workbench.tesla.rule_set import RuleSet

MOST_LETTERS = 1 << 24
"""Letters that are kept between two blocks."""


def make_room(memory: KernelMemory, status: KernelStatus, codes: TextCodes, block: Iterable[int] = ()) -> None:
    """Give the kernel the room, or what it has to know of texts, for want of which it has stopped; see `add_texts`."""
    if status in (KernelStatus.MISSING_TEXT, KernelStatus.MISSING_JOINED):
        add_texts(memory, status, codes, block)
    else:
        memory.grow(status)


def add_texts(memory: KernelMemory, status: KernelStatus, codes: TextCodes, block: Iterable[int]) -> None:
    """Give the kernel what it has asked for.

    Parameters
    ----------
    block: the numbers of texts that have come.
    """
    by_code, text = codes.by_code, int(memory.state.text)
    if status == KernelStatus.MISSING_JOINED:
        other = int(memory.state.other_text)
        (joined,) = codes.put([by_code[text] + by_code[other]])
        _add_joined(memory, text, other, joined)
        return
    known = set(memory.history.texts.code.tolist())
    for code in dict.fromkeys([text, *block]):
        if code not in known:
            _add_letters(memory, code, by_code[code].encode("utf-8", "surrogatepass"))


def forget_texts(memory: KernelMemory) -> None:
    """Forget all of them: the kernel asks for those again that it needs."""
    memory.history = memory.history._replace(
        texts=empty_table(2, records.TEXT), letters=np.zeros(1, np.uint8), joins=empty_table(2, records.JOINED)
    )
    memory.state.texts = memory.state.letters = memory.state.joins = 0


def empty_table(size: int, dtype: np.dtype[Any]) -> Any:
    """A hash table without entries; the first field of one is `NONE`."""
    found = records.room(size, dtype)
    found[found.dtype.names[0]] = records.NONE
    return found


def _add_letters(memory: KernelMemory, code: int, letters: bytes) -> None:
    start = int(memory.state.letters)
    end = start + len(letters)
    while end > len(memory.history.letters):
        memory.history = memory.history._replace(letters=records.enlarged(memory.history.letters))
    memory.history.letters[start:end] = np.frombuffer(letters, np.uint8)
    texts = _with_room(
        memory.history.texts, int(memory.state.texts), lambda entries, each: find_text(entries, each.code)
    )
    memory.history = memory.history._replace(texts=texts)
    texts[find_text(texts, code)] = code, start, end
    memory.state.letters, memory.state.texts = end, memory.state.texts + 1


def _add_joined(memory: KernelMemory, one: int, other: int, joined: int) -> None:
    joins = _with_room(
        memory.history.joins, int(memory.state.joins), lambda entries, each: find_joined(entries, each.one, each.other)
    )
    memory.history = memory.history._replace(joins=joins)
    joins[find_joined(joins, one, other)] = one, other, joined
    memory.state.joins += 1


def _with_room(entries: Any, count: int, find: Any) -> Any:
    """A hash table that has room for an entry more, and is at most half full then."""
    if 2 * (count + 1) <= len(entries):
        return entries
    larger = empty_table(2 * len(entries), entries.dtype)
    for each in entries[entries[entries.dtype.names[0]] != records.NONE]:
        larger[find(larger, each)] = each
    return larger


def text_literals(rules: RuleSet) -> list[str]:
    """The texts in rules."""
    leaves = (leaf for rule in rules.rules for each in rule.expressions for leaf in t.within(each))
    return [leaf.value for leaf in leaves if isinstance(leaf, t.Literal) and isinstance(leaf.value, str)]
