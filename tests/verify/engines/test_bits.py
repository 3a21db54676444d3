"""Operations on bits in SMV, against their meaning on numbers: NuSMV computes the printed terms for all operands."""

import itertools

import pytest

from workbench.core.domain import Domain, Integer, Overflowing, Range
from workbench.core.function import LIBRARY
from workbench.core.term import Term, var
from workbench.smv.terms import SmvTerms, constant, type_of
from workbench.verify.decide.table import get_simulator

from .conftest import engine_or_skip

OPERATIONS = [(name, right) for name in ("xor", "bit_and", "bit_or") for right in (None, 0, 1, 5, 7)]
SHIFTS = [(name, right) for name in ("shift_left", "shift_right") for right in (0, 1, 4, 9)]


@pytest.mark.parametrize("domain", [Range(0, 5), Range(1, 3), Integer(8), Integer(2, Overflowing.SATURATING)], ids=str)
def test_bits_in_smv_are_those_of_numbers(domain: Domain) -> None:
    engine_or_skip("pynusmv")
    a, b = var("a", domain), var("b", domain)
    terms: list[tuple[str, int | None, Term]] = []
    for name, right in (*OPERATIONS, *SHIFTS):
        if right is None or name.startswith("shift") or isinstance(domain, Range) or right in domain:
            terms.append((name, right, LIBRARY[name](a, b if right is None else right)))
    kind, printer = type_of(domain, {}), SmvTerms({"a": "a", "b": "b"}, {})
    pairs = list(itertools.product(domain.values(), repeat=2))
    steps = [{n: constant(domain, v, {}) for n, v in zip("ab", pair, strict=True)} for pair in pairs]
    texts = [printer(term) for _, _, term in terms]
    model = f"MODULE main\nVAR a : {kind}; b : {kind};"
    (found,) = get_simulator().simulate_many(model, (), [steps], tuple(texts))
    for (x, y), step in zip(pairs, found, strict=True):
        for (name, right, term), text in zip(terms, texts, strict=True):
            wanted = term.domain.fit(LIBRARY[name](x, y if right is None else right))
            assert printer.parse(term.domain, step[text]) == wanted, (name, x, y, right)
