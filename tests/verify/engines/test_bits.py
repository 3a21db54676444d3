"""Operations on bits in SMV, against their meaning on numbers: NuSMV computes the printed terms for all operands."""

import itertools
from contextlib import nullcontext

import pytest

import workbench as wb
from workbench.conformance.compare.models import Simulated
from workbench.core.domain import Domain, Integer, Overflowing, Range
from workbench.core.function import LIBRARY
from workbench.core.ops import Conversion
from workbench.core.term import Term, var
from workbench.errors import BeyondSmv
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


@pytest.mark.parametrize(
    "text",
    [
        "always (out >= 0)",  # 4,000,000,000 is a negative integer of 32 bits
        "always (out = 0 or out > 3000000000)",
        "always (out < 3000000000)",
    ],
)
def test_numbers_of_more_than_32_bits_are_left_to_other_engines(text: str) -> None:
    program = wb.parse("pipeline p(x: 0..1) -> 0..4000000000 { return x * 2000000000 * 2 }").get().pipeline
    refused = wb.check(program, text, wb.Settings(engine="pynusmv"))
    assert "NuSMV has integers of 32 bits" in refused.reason
    assert wb.check(program, text).outcome == ("fails" if "<" in text else "holds")
    with pytest.raises(BeyondSmv):  # conformance leaves NuSMV out, too
        Simulated(program, {})


@pytest.mark.parametrize(("k", "fits"), [(31, True), (32, False)])
def test_words_as_numbers_have_at_most_31_bits(k: int, fits: bool) -> None:
    word = Conversion.to(var("w", Integer(2**k)), Range(0, 2**k - 1))
    printer = SmvTerms({"w": "w"}, {})
    with nullcontext() if fits else pytest.raises(BeyondSmv, match="32 bits"):
        printer(word)
