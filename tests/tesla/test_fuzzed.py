"""Rule files as they should not be: each is read, or refused with one error that says where, and never a traceback."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.tesla.mutated import mutated
from workbench.core.domain import INT
from workbench.errors import InputError, LanguageError, WorkbenchError
from workbench.tesla.check import MAX_MISTAKES, parse_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet


def judged(text: str) -> bool:
    """Whether it is a rule set, which then reads back as itself; an error says what is wrong and where."""
    made = kept(lambda: parse_rules(text), LanguageError)
    if isinstance(made, WorkbenchError):
        assert str(made)
        assert all(each.what and each.where for each in (made, *made.others))
        return False
    again = parse_rules(str(made))
    assert (again.declarations, again.rules) == (made.declarations, made.rules)
    assert all(map(str, made.warnings))
    units = kept(lambda: in_units(made, "s"), InputError)
    assert not isinstance(units, WorkbenchError) or "no time is" in units.what
    return True


def kept(done: Callable[[], RuleSet], refusal: type[WorkbenchError]) -> RuleSet | WorkbenchError:
    """What comes of it, a refusal too; no other error."""
    try:
        return done()
    except refusal as error:
        return error


@given(st.integers(0, 2**64))
@examples(400)
def test_a_text_with_mistakes(seed):
    judged(mutated(seed))


# --- large texts ----------------------------------------------------------------------------------------

TYPED = "declare A(x: int) declare B(x: int)\n"
DEEP = {
    "brackets": ("from A({}x == 1{}) emit B(x = 1)", "(", ")"),
    "minus": ("from A emit B(x = {}A.x{})", "- ", ""),
    "not": ("from A where {}true{} emit B(x = 1)", "not ", ""),
    "sum": ("from A emit B(x = {}1{})", "1 + ", ""),
}


@pytest.mark.parametrize(("text", "word", "end"), DEEP.values(), ids=DEEP)
def test_deep_nesting_is_refused_with_its_place_and_what_is_less_deep_is_not(text, word, end):
    shallow, deep = (TYPED + text.format(word * depth, end * depth) for depth in (1000, 3000))
    with pytest.raises(LanguageError, match="nested more than 2000 levels deep") as caught:
        parse_rules(deep)
    assert caught.value.where.line == 2
    found = parse_rules(shallow)
    assert parse_rules(str(found)).rules == found.rules
    ((value,),) = [each.values for each in meaning(found, [Occurrence("A", 0, (1,))])]
    assert value == (1001 if word == "1 + " else 1)


def test_many_predicates_in_a_rule():
    parts = "".join(f" and last A[$p{i} = x](x > 0) as A{i + 1} within 1 from A{i}" for i in range(300))
    made = parse_rules(
        f"declare A(x: int) declare B(x: int) from A(x > 300) as A0{parts} emit B(x = $p299) consuming A300, A7"
    )
    (found,) = meaning(made, [Occurrence("A", time, (time,)) for time in range(1, 302)])
    assert (found.values, found.sources) == ((1,), tuple(range(300, -1, -1)))


def test_many_rules_in_either_order():
    """Types are told from rule to rule, and the circle that they all are in is told, shortened, once."""
    chain = [f"define T{i + 1}(x) from T{i}($v) where x = $v\n" for i in range(600)]
    closing = "define T0(x: int) from T600() where x = T600.x\n"
    for texts, first in ((chain, "T1"), (chain[::-1], "T600")):
        made = parse_rules("".join([*texts, closing]))
        assert made.declarations["T600"].domains == {"x": INT}
        alone, *_, others, circle = (warning.what for warning in made.warnings)  # nothing comes in from outside
        assert alone.startswith(f"nothing can emit {first}: rule 1 needs ")
        assert f" and {601 - 3 - 20} others" in others
        assert " -> ... -> " in circle
        assert max(len(each.what) for each in made.warnings) < 500


def test_many_mistakes_are_told_shortly():
    """Of mistakes on one long line, with long lists of what there is, only so much is told as can be read."""
    text = "".join(f"declare T{i}(x: int) " for i in range(3000)) + "from T7 emit U(x = 1) " * 3000
    found = kept(lambda: parse_rules(text), LanguageError)
    assert isinstance(found, LanguageError)
    assert len(found.others) == MAX_MISTAKES - 1
    first = found.message.splitlines()
    assert first[1][first[2].index("^") - len("emit ") :].startswith("emit U(x = 1)")
    assert len(max(found.message.splitlines(), key=len)) < 500
    assert "and 2960 more" in found.message
