"""The kernel's data on texts besides their codes: the letters of texts that are compared, and concatenations.

The rule of this module: the kernel asks for what is missing. On the first request all texts of a block are added, since
others will be requested, too.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.records import KernelStatus
from workbench.tesla import tree as t

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes
    from workbench.executors.compiled.rules.memory import KernelMemory
    from workbench.tesla.rule_set import RuleSet

MAX_LETTERS = 1 << 24
"""Maximum number of letters that are kept between two blocks."""


def supply_memory(memory: KernelMemory, status: KernelStatus, codes: TextCodes, block: Iterable[int] = ()) -> None:
    """Supply what the kernel lacked when it stopped: a larger array, or data on texts (see `add_texts`)."""
    if status in (KernelStatus.MISSING_TEXT, KernelStatus.MISSING_JOINED):
        add_texts(memory, status, codes, block)
    else:
        memory.grow(status)


def add_texts(memory: KernelMemory, status: KernelStatus, codes: TextCodes, block: Iterable[int]) -> None:
    """Add the data on texts that the kernel has asked for.

    Parameters
    ----------
    block: the codes of the texts of the block.
    """
    by_code, text = codes.by_code, int(memory.state.text)
    if status == KernelStatus.MISSING_JOINED:
        other = int(memory.state.other_text)
        (joined,) = codes.put([by_code[text] + by_code[other]])
        memory.add_rows("joins", np.array([[text, other, joined]]))
        return
    known = set(memory.history.texts[:, 0].tolist())
    for code in dict.fromkeys([text, *block]):
        if code not in known:
            _add_letters(memory, code, by_code[code].encode("utf-8", "surrogatepass"))


def forget_texts(memory: KernelMemory) -> None:
    """Drop all data on texts: the kernel asks again for what it needs."""
    memory.history = memory.history._replace(
        texts=records.hash_table(2, 3), letters=np.zeros(1, np.uint8), joins=records.hash_table(2, 3)
    )
    memory.state.texts = memory.state.letters = memory.state.joins = 0


def _add_letters(memory: KernelMemory, code: int, letters: bytes) -> None:
    start = int(memory.state.letters)
    end = start + len(letters)
    while end > len(memory.history.letters):
        memory.history = memory.history._replace(letters=records.enlarge(memory.history.letters))
    memory.history.letters[start:end] = np.frombuffer(letters, np.uint8)
    memory.add_rows("texts", np.array([[code, start, end]]))
    memory.state.letters = end


def text_literals(rules: RuleSet) -> list[str]:
    """Return the text literals in rules."""
    leaves = (leaf for rule in rules.rules for each in rule.expressions for leaf in t.within(each))
    return [leaf.value for leaf in leaves if isinstance(leaf, t.Literal) and isinstance(leaf.value, str)]
