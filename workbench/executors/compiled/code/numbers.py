"""The numbers that stand for values in compiled code.

The rule of this module: a scalar is a number. A value of an enumeration is its position there; a text has a number of
its own (`text_number`).
"""

from __future__ import annotations

from typing import Any

from workbench.core.domain import BOOL, Domain, Enum, Integers, Reals, Texts, Value
from workbench.core.ops import WORD_HI, WORD_LO
from workbench.executors.compiled.code.text_number import text_code


def encode(domain: Domain, value: Value) -> int:
    """The number that compiled code has for a value of a scalar domain."""
    if isinstance(domain, Texts):
        return text_code(value)
    if isinstance(domain, Integers):
        return int(min(max(value, WORD_LO), WORD_HI))  # the infinities from which min and max start are its ends
    return domain.labels.index(value) if isinstance(domain, Enum) else int(value)


def decode(domain: Domain, number: int) -> Value:
    """The value of a scalar domain that compiled code has this number for."""
    assert not isinstance(domain, Texts)  # only who knows the texts knows which one it is
    if isinstance(domain, Enum):
        return domain.labels[number]
    return bool(number) if domain == BOOL else int(number)


def encode_any(domain: Domain, value: Value) -> Any:
    """What compiled code has for a value of a scalar domain."""
    if isinstance(domain, Reals):
        return float(value)
    return bool(value) if domain == BOOL else encode(domain, value)


def decode_any(domain: Domain, number: Any) -> Value:
    """The value of a scalar domain that compiled code has this for; of texts, see `TextCodes`."""
    return float(number) if isinstance(domain, Reals) else decode(domain, number)
