"""How far rules look back, added up by hand from their windows."""

import pytest

from workbench.tesla.check import parse_rules
from workbench.tesla.lookback import Lookback, lookbacks

Distances = tuple[int | None, int | None, bool]
CASES: dict[str, list[Distances | None]] = {
    "last A() within 5 from T": [(5, None, True)],
    "last A() within 2 .. 5 from T and each B() within 3 from A": [(5, None, True), (8, None, True)],
    "last A() within 4 events from T and last B() within 3 events from A": [(None, 4, True), (None, 7, True)],
    "last A() within 4 events from T and last B() within 3 from A": [(None, 4, True), (None, None, True)],
    "last A() within 5 from T and COUNT(B() within 3 events from A)": [(5, None, True), (None, None, True)],
    "last A() within forever from T and not B() between A and T": [(None, None, False), (None, None, False)],
    "last A() within 5 from T and last B() within 7 from T and not A() between A and B": [
        (5, None, True), (7, None, True), (7, None, True),
    ],
    "absent A() within 6 after T and last B() within 2 from T": [(6, None, True), (2, None, True)],
    "last A() within 5 from T and each F()": [(5, None, True), None],
}  # fmt: skip


@pytest.mark.parametrize("text", CASES)
def test_windows_add_up(text: str) -> None:
    declared = "".join(f"declare {name}()\n" for name in "ABTX") + "declare fact F()\n"
    (rule,) = parse_rules(f"{declared}from T() and {text.replace('COUNT', '$n = COUNT')} emit X()").rules
    expected = [None if each is None else Lookback(*each) for each in CASES[text]]
    found = lookbacks(rule)
    assert [found.get(place) for place in range(1, len(rule.parts))] == expected
    assert found[0] == Lookback(0, 0)


def test_between_two_times_of_trex_there_are_any_number_of_places() -> None:
    declared = "".join(f"declare {name}()\n" for name in "ABTX")
    text = "from T() and last A() within 5 events from T and not B() between A and T emit X()"
    (rule,) = parse_rules(declared + text).rules
    assert lookbacks(rule)[2] == Lookback(None, 5)
    assert lookbacks(rule, trex=True)[2].endless
