"""The numbers that represent the values of scalar domains, in models and in compiled code.

The rule of this module: a scalar is a number, and a value of an enumeration is its position there.
"""

from __future__ import annotations

from workbench.core.domain import BOOL, Domain, Enum, Integer, Integers, Range, Value
from workbench.core.ops import ADD, CAST, ESCAPES, MUL, SUB
from workbench.core.term import Term
from workbench.errors import Refused


def encode(domain: Domain, value: Value) -> int:
    """Return the integer that represents a value of a scalar domain, which has neither texts nor floats."""
    return domain.labels.index(value) if isinstance(domain, Enum) else int(value)


def decode(domain: Domain, number: int) -> Value:
    """Return the value of a scalar domain that an integer represents."""
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


def exact_ends(term: Term) -> list[int]:
    """Return bounds of the exact results of an operation, before they are fitted; [] where none are known.

    Raises
    ------
    Refused: an argument is not of a finite integer domain.
    """
    if term.op is CAST and not isinstance(term.args[0].domain, Integers):
        return list(encode_ends(term.args[0].domain))
    if term.op not in (ADD, SUB, MUL, *ESCAPES.values()):
        return []
    left, right = (encode_ends(arg.domain) for arg in term.args)
    return [term.op.exact(a, b) for a in left for b in right]
