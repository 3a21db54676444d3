"""Rule files as they should not be: each is read, or refused with one error that says where, and never a traceback."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.rules.mutated import mutated
from workbench.errors import InputError, LanguageError, WorkbenchError
from workbench.language.depth import make_room
from workbench.rules.check import rules
from workbench.rules.occurrence import in_units
from workbench.rules.rule_set import RuleSet

make_room()  # as reading does; hypothesis wants it to stay as it is


def judged(text: str) -> bool:
    """Whether it is a rule set, which then reads back as itself; an error says what is wrong and where."""
    made = kept(lambda: rules(text), LanguageError)
    if isinstance(made, WorkbenchError):
        assert str(made)
        assert all(each.what and each.where for each in (made, *made.others))
        return False
    again = rules(str(made))
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
