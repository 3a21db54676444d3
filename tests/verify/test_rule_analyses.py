"""Questions about rule sets: answers that can be argued by hand, on streams that `meaning` and the engines confirm."""

import pytest

from workbench.tesla.check import rules
from workbench.verify import rules as r

DECLARED = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\ndeclare D(x: int)\n"
EACH = "rule each_one: from B[$x = x] and each A(x == $x) within 2 from B emit C(x = $x)\n"
LAST = "rule last_one: from B[$x = x] and last A(x == $x) within 2 from B emit C(x = $x)\n"


def found(question, text, **options):
    """Of each part the answer, and how many events the shortest stream has that shows it."""
    answers = {}
    for each in question(rules(DECLARED + text, "asked"), **options):
        assert each.decided
        assert all(stream.confirmed == ("meaning", "cdp", "aip") for stream in each.streams.values())
        lengths = {len(stream.steps) for stream in each.streams.values()}
        answers[each.about] = (each.answer, *lengths)
    return answers


def test_a_rule_that_asks_for_what_cannot_be_never_fires():
    """The other needs an A and a B; of the last A alone, within a window of the trigger, no column overflows."""
    never = "rule odd: from B and last A(x > 1, x < 1) within 2 from B emit D(x = 0)\n"
    assert found(r.fires, LAST + never) == {"last_one": ("fires", 2), "odd": ("never",), "D": ("never",)}


def test_each_covers_last_and_last_does_not_cover_each():
    """Of two equal events `each` makes two composites; after one it makes the same as `last`."""
    same = LAST.replace("last_one", "same").replace("x == $x", "x == B.x")
    assert found(r.covers, EACH + LAST + same, deepen=False) == {
        "each_one, last_one": ("not covered", 3),
        "last_one, each_one": ("covered",),
        "each_one, same": ("not covered", 3),
        "same, each_one": ("covered",),
        "last_one, same": ("equal",),
    }


def test_what_says_nothing_new_can_be_dropped():
    """More than 1 is more than 0; an A of 1 or less and a B tell the rest from the rule."""
    text = """rule loose: from B and each A(x > 1, x > 0) within 2 from B where A.x != 0 emit C(x = A.x)
    rule counted: from B and $n = COUNT(A within 2 from B) and not D within 2 from B emit C(x = B.x)"""
    assert found(r.droppable, text, deepen=False) == {
        "loose, 'x > 1' of A": ("needed", 2),
        "loose, 'x > 0' of A": ("droppable",),
        "loose, 'where A.x != 0'": ("droppable",),
        "counted, '$n = COUNT(A within 2 from B)'": ("droppable",),
        "counted, 'not D within 2 from B'": ("needed", 2),
    }


@pytest.mark.parametrize(("consumed", "answer"), [("A", ("compete", 3)), ("B", ("do not compete",))])
def test_triggers_compete_for_what_one_of_them_consumes(consumed, answer):
    """An A, and two triggers that want it; that a trigger is consumed takes nothing from another."""
    text = f"rule pairs: from B and last A(x == B.x) within 2 from B emit C(x = A.x) consuming {consumed}"
    assert found(r.competition, text, deepen=False) == {"pairs": answer}
