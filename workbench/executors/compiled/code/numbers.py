"""The numbers that represent values in compiled code.

The rule of this module: a scalar is a number. A value of an enumeration is its position there; a text is its code
(`text_number`).
"""

from __future__ import annotations

from typing import Any

from workbench.core.domain import BOOL, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.core.ops import WORD_HI, WORD_LO
from workbench.errors import Refused
from workbench.executors.compiled.code.text_number import text_code


def encode(domain: Domain, value: Value) -> int:
    """Return the integer that represents a value of a scalar domain in compiled code."""
    if isinstance(domain, Texts):
        return text_code(value)
    if isinstance(domain, Integers):
        return int(min(max(value, WORD_LO), WORD_HI))  # the infinities from which min and max start become the limits
    return domain.labels.index(value) if isinstance(domain, Enum) else int(value)


def decode(domain: Domain, number: int) -> Value:
    """Return the value of a scalar domain that an integer represents."""
    assert not isinstance(domain, Texts)  # `TextCodes` decodes texts
    if isinstance(domain, Enum):
        return domain.labels[number]
    return bool(number) if domain == BOOL else int(number)


def encode_ends(domain: Domain) -> tuple[int, int]:
    """Return the least and the greatest number that represents a value of a domain.

    Raises
    ------
    Refused: the domain is neither a finite integer domain nor an enumeration.
    """
    if isinstance(domain, Integer | Range):
        return domain.lo, domain.hi
    if isinstance(domain, Enum):
        return 0, len(domain.labels) - 1
    raise Refused(f"this engine knows truth values, finite integers and enumerations, not values of {domain}")


def encode_any(domain: Domain, value: Value) -> Any:
    """Return the number that represents a value of a scalar domain in compiled code."""
    if isinstance(domain, Reals):
        return float(value)
    return bool(value) if domain == BOOL else encode(domain, value)


def decode_any(domain: Domain, number: Any) -> Value:
    """Return the value of a scalar domain that a number represents; of texts, see `TextCodes`."""
    return float(number) if isinstance(domain, Reals) else decode(domain, number)
