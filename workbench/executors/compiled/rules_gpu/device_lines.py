"""Expressions of rules as lines of code for a device, where each word of an event lies with the same word of others.

The rule of this module: it changes where words lie, and how floats are multiplied and divided: rounded once, as the
CPU does. All else is that of the CPU's code.
"""

from __future__ import annotations

from workbench.core.domain import BOOL, FLOAT, Domain
from workbench.errors import Refused
from workbench.executors.compiled.rules.layout import NULLS, TIME, VALUES
from workbench.executors.compiled.rules.lines import OTHERS, CodeValue, WordLines
from workbench.tesla import tree as t
from workbench.tesla.resolved import TIME as TIMED
from workbench.tesla.resolved import RuleSlot


def word_of(step: str, word: int) -> str:
    """A word of the row that a step has at hand; rows of a column lie side by side, `z` of them."""
    return f"W{step}[a{step}]" if word == 0 else f"W{step}[a{step} + {word} * z{step}]"


def attribute_word(step: str, at: int) -> str:
    """The word of an attribute."""
    return word_of(step, VALUES + at)


class DeviceLines(WordLines):
    """Lines of a function on a device. The address of a row is the number of its step: see `word_of`.

    Attributes
    ----------
    mark: what is in all names, where lines with names of other types stand beside these.
    """

    mark = ""

    def fresh(self, letter: str) -> str:
        """A name that no other line has."""
        return super().fresh(letter + self.mark)

    def ordered(self, one: str, other: str) -> str:
        """Refused, as all about texts that is not told by their numbers."""
        raise Refused("a device knows of texts only whether they are the same", hint=OTHERS)

    joined = ordered

    def _of_row(self, slot: RuleSlot, address: str) -> CodeValue:
        if slot.name == TIMED:
            return CodeValue(word_of(address, TIME))
        word = attribute_word(address, slot.index)
        text = f"as_float({word})" if slot.domain == FLOAT else f"({word} != 0)" if slot.domain == BOOL else word
        return CodeValue(text, f"({word_of(address, NULLS)} >> {slot.index}) & 1 != 0")

    def _operated(self, expression: t.Operation, texts: list[str], kinds: list[Domain], null: str) -> str:
        if FLOAT not in kinds or expression.operator not in ("*", "%"):
            return super()._operated(expression, texts, kinds, null)
        texts = [text if kind == FLOAT else f"float({text})" for text, kind in zip(texts, kinds, strict=True)]
        if expression.operator == "*":
            return f"rounded_product({texts[0]}, {texts[1]})"
        dividend, _, divisor = super()._operated(expression, texts, [FLOAT, FLOAT], null).rpartition(" % ")
        return f"float_remainder({dividend}, {divisor})"


__all__ = ["DeviceLines", "attribute_word", "word_of"]
