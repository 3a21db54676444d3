"""Explain why a domain is not finite, with advice.

The rule of this module: advice must help. `-N` makes `int` and `str` finite, `--values` makes `float` finite.
"""

from __future__ import annotations

from workbench.core.domain import Anything, Domain, Integers, Reals, Texts
from workbench.core.fields import MAX_KEYS, Map, Nullable, within

FRACTION = (
    "a model has no fractions: divide whole numbers with div (// in Python); or compare them inside one function,"
    ' function f(v) = v / 2 > 0.5 (wb.functions.Function("f", 1, lambda v: v / 2 > 0.5) in Python)'
)
"""The advice about fractions, which models have only inside functions."""
ADVICE: tuple[tuple[type[Domain], str], ...] = (
    (Nullable, "a model has no null: replace it first, with value_or(NAME, 0)"),
    (Integers, "choose one with -N, or a finite type such as 0..7"),
    (
        Reals,
        "list the whole numbers that a float may be: --values float=0..6; or declare a finite type such as 0..7;"
        f" {FRACTION}",
    ),
    (Texts, "list the texts: --values str=a,b,c; or declare an enumeration: {open, closed, other}"),
    (Anything, "-N is for int: declare a finite type, such as 0..7, bool or {red, green}"),
)
"""The advice for each scalar type."""


def obstacle(domain: Domain, held: tuple[type[Domain], ...] = (), *, computed: bool = False) -> tuple[str, str]:
    """Return the reason why a domain is not finite, as the end of a sentence, and advice.

    Parameters
    ----------
    held: unbounded types that are not an obstacle outside maps.
    computed: whether its values are computed from inputs that are finite, so that its floats are fractions.
    """
    for part in within(domain):
        if isinstance(part, Map):
            keys = part.key.size
            if keys is not None and keys > MAX_KEYS:
                what = f"which has {keys} keys, and a map in a model has {MAX_KEYS} at most"
                return what, f"choose fewer: -N {MAX_KEYS} for int, a type such as 0..{MAX_KEYS - 1}, an enumeration"
            if not part.finite:
                which, odd = ("values", part.value) if part.key.finite else ("keys", part.key)
                return f"whose {which}, {odd}, are not finite", obstacle(odd)[1]
        for kind, advice in ADVICE:
            if isinstance(part, kind) and kind not in held:
                what = "which is" if part is domain else f"whose part {part} is"
                return f"{what} not finite", FRACTION if computed and kind is Reals else advice
    raise AssertionError(f"{domain} is finite")
