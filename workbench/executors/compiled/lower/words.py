"""Checks of what fits in the 64-bit words of compiled code.

The rule of this module: what does not fit is refused before the first event; what may not fit is a term (`core.ops`).
"""

from __future__ import annotations

import math

from workbench.core.domain import BOOL, WORDS, Domain, Enum, Integer, Integers, Range, Reals, Texts, Value
from workbench.core.encoding import exact_ends
from workbench.core.memory import FIND_ENTRY, FINDS, READS, SOME_ROW_OF, Array
from workbench.core.ops import DIV, EQ, ITE, MOD, NE, WORD_HI, WORD_LO
from workbench.core.term import Term
from workbench.errors import Refused


def refuse_long(number: Value) -> None:
    """Refuse an `int` of more than 64 bits, except the infinities from which `min` and `max` start."""
    if math.isfinite(number) and not WORD_LO <= number <= WORD_HI:
        raise Refused(
            f"compiled code has integers of 64 bits, but {number} has more",
            hint="the reference executor has integers of any size",
        )


def _no_fraction(term: Term) -> None:
    """Refuse a fraction among integers, which Python supports and words do not."""
    fraction = isinstance(term.payload, float) and math.isfinite(term.payload) and term.is_const
    choosing = term.args[1:] if term.op is ITE else term.args
    if fraction or any(isinstance(arg.domain, Reals) for arg in choosing):
        raise Refused(
            f"'{term.op or term.payload}' makes a fraction {term.domain}, where compiled code has whole numbers",
            hint="declare the stream as float",
        )


def _refuse_text_operations(term: Term) -> None:
    """Refuse operations on the order or the letters of texts, which compiled code represents by codes."""
    values = term.args[1:] if term.op is ITE else term.args
    if term.op in (*READS, *FINDS, FIND_ENTRY, SOME_ROW_OF):
        return
    if term.op not in (EQ, NE, ITE) or not all(isinstance(arg.domain, Texts) for arg in values):
        raise Refused(
            f"'{term.op}' reads or makes texts, but compiled code has numbers for texts, and only compares them",
            hint="the reference executor runs everything; or declare the texts that matter as labels, {a, b}",
        )


def refuse_large(term: Term) -> None:
    """Refuse a term that compiled code cannot hold.

    Raises
    ------
    Refused: a constant has more than 64 bits, a result over a finite domain may have, or its domain is not numeric.
    """
    if term.op is not None and any(isinstance(each.domain, Texts) for each in (term, *term.args)):
        _refuse_text_operations(term)
    if term.domain.numeric and not isinstance(term.domain, Reals):
        _no_fraction(term)
    if term.is_const and isinstance(term.domain, Integers):
        refuse_long(term.payload)
    if isinstance(term.domain, (*WORDS, Array)):
        return
    if not isinstance(term.domain, Enum) and term.domain != BOOL:
        lo, hi = _bounds(term.domain, term)
        if term.op is not None and term.op not in (DIV, MOD):
            exact = exact_ends(term)
            lo, hi = min([lo, *exact]), max([hi, *exact])
        if lo < -WORD_HI or hi > WORD_HI:
            raise Refused(
                f"compiled code has integers of 64 bits, and '{term.op or term}' on {term.domain} can have more",
                hint="choose a smaller domain with -N",
            )
    elif term.op is not None and term.op.escapes_from is not None and max(map(abs, exact_ends(term))) > WORD_HI:
        raise Refused("compiled code has integers of 64 bits, and arithmetic in this pipeline can have more")


def never_negative(term: Term) -> bool:
    """Whether the domain of a number has no negative values."""
    return _bounds(term.domain, term)[0] >= 0


def _bounds(domain: Domain, term: Term) -> tuple[int, int]:
    if isinstance(domain, Integer | Range):
        return domain.lo, domain.hi
    raise Refused(f"compiled code needs finite domains, and '{term!r}' has {domain}")
