"""The numbers that represent values in compiled code: those of `core.encoding`, codes of texts, words, and floats."""

from __future__ import annotations

from typing import Any

from workbench.core.domain import BOOL, Domain, Integers, Reals, Texts, Value
from workbench.core.encoding import decode, encode
from workbench.core.ops import WORD_HI, WORD_LO
from workbench.executors.compiled.code.text_number import text_code


def encode_any(domain: Domain, value: Value) -> Any:
    """Return the number that represents a value of a scalar domain."""
    if isinstance(domain, Reals):
        return float(value)
    if isinstance(domain, Texts):
        return text_code(value)
    if isinstance(domain, Integers):
        return int(min(max(value, WORD_LO), WORD_HI))  # the infinities from which min and max start become the limits
    return bool(value) if domain == BOOL else encode(domain, value)


def decode_any(domain: Domain, number: Any) -> Value:
    """Return the value of a scalar domain that a number represents; `TextCodes` decodes texts."""
    assert not isinstance(domain, Texts)
    return float(number) if isinstance(domain, Reals) else decode(domain, number)
