"""Why a domain is not finite, and advice that leads somewhere."""

import pytest

from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Enum, Integer, Range
from workbench.core.fields import Map, Record, Tuple
from workbench.core.finite import obstacle

KEYS = Enum(("A", "B", "C"))


@pytest.mark.parametrize(
    ("domain", "why", "hint"),
    [
        (INT, "which is not finite", "-N"),
        (FLOAT, "which is not finite", "--values float=0..6"),
        (STR, "which is not finite", "--values str=a,b,c"),
        (ANY, "which is not finite", "-N is for int"),
        (Record((BOOL, FLOAT), ("a", "b")), "whose part float is not finite", "--values float"),
        (Map(Integer(65), BOOL), "which has 65 keys, and a map in a model has 64 at most", "-N 64"),
        (Map(Range(0, 99), INT), "which has 100 keys", "0..63"),
        (Map(KEYS, INT), "whose values, int, are not finite", "choose one with -N"),
        (Map(STR, BOOL), "whose keys, str, are not finite", "enumeration"),
        (Tuple((BOOL, Map(KEYS, FLOAT))), "whose values, float, are not finite", "--values float"),
        (Map(KEYS, Map(Integer(65), BOOL)), "whose values, map(int mod 65, bool), are not finite", "-N 64"),
    ],
)
def test_why_a_domain_is_not_finite(domain, why, hint):
    assert not domain.finite
    told, advice = obstacle(domain)
    assert why in told
    assert hint in advice


def test_what_compiled_code_holds_is_no_obstacle():
    told, _ = obstacle(Tuple((INT, FLOAT, STR)), (type(INT), type(FLOAT)))
    assert told == "whose part str is not finite"
    told, _ = obstacle(Tuple((INT, Map(KEYS, INT))), (type(INT), type(FLOAT)))
    assert told == "whose values, int, are not finite"
