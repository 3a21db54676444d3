import math

import pytest

from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Enum, Integer, Overflowing, Range
from workbench.core.fields import Record, Tuple, resolve, scalars
from workbench.errors import DomainError

FINITE = [
    BOOL,
    Integer(1),
    Integer(5),
    Integer(4, Overflowing.CHECKED),
    Range(-2, 3),
    Range(7, 7),
    Enum(("red", "green")),
    Tuple((BOOL, Range(0, 2))),
    Tuple(()),
    Record((Integer(2), Enum(("a", "b", "c"))), ("price", "kind")),
    Tuple((Tuple((BOOL,)), BOOL)),
]


@pytest.mark.parametrize("domain", FINITE, ids=str)
def test_a_finite_domain_lists_its_values_once(domain):
    values = list(domain.values())
    assert len(values) == len(set(values)) == domain.size
    assert all(value in domain for value in values)
    assert domain.default in values
    assert domain.finite


@pytest.mark.parametrize("domain", [INT, FLOAT, STR, ANY], ids=str)
def test_an_infinite_domain_refuses_to_list_its_values(domain):
    assert not domain.finite
    assert domain.default in domain
    with pytest.raises(DomainError, match="infinitely many"):
        domain.values()


@pytest.mark.parametrize(
    ("value", "domain"),
    [
        (True, Integer(4)),
        (True, Range(0, 4)),
        (False, INT),
        (1, BOOL),
        (1.0, Integer(4)),
        (4, Integer(4)),
        (-1, Integer(4)),
        ("blue", Enum(("red",))),
        (1, Tuple((Integer(2),))),
        ([1], Tuple((Integer(2),))),
        ((1, 1), Tuple((Integer(2),))),
        ((True,), Tuple((Integer(2),))),
        (None, INT),
        (b"x", STR),
        (1.5, INT),
        (2.0, INT),
        (math.nan, INT),
    ],
)
def test_what_is_not_in_a_domain(value, domain):
    assert value not in domain
    with pytest.raises(DomainError, match="is not a value of"):
        domain.check(value)


def test_ordinary_numbers_are_in_the_unbounded_domains():
    assert 3 in FLOAT
    assert -(10**30) in INT


@pytest.mark.parametrize(
    ("domain", "exact", "fitted"),
    [
        (Integer(4), 5, 1),
        (Integer(4), -1, 3),
        (Integer(3), -7, 2),
        (Integer(4, Overflowing.SATURATING), 9, 3),
        (Integer(4, Overflowing.SATURATING), -9, 0),
        (Integer(1), 7, 0),
        (Range(0, 3), 9, 9),
        (INT, 9, 9),
    ],
)
def test_fit(domain, exact, fitted):
    assert domain.fit(exact) == fitted


@pytest.mark.parametrize(
    "make",
    [
        lambda: Range(3, 2),
        lambda: Integer(0),
        lambda: Enum(()),
        lambda: Enum(("a", "a")),
        lambda: Record((BOOL,), ()),
        lambda: Record((BOOL, BOOL), ("a", "a")),
    ],
)
def test_domains_without_meaning_are_refused(make):
    with pytest.raises(DomainError):
        make()


def test_unknown_overflow_is_refused():
    with pytest.raises(ValueError, match="wrapping"):
        Integer(4, "wrapping")  # type: ignore[arg-type]
    assert Integer(4, "checked") == Integer(4, Overflowing.CHECKED)  # type: ignore[arg-type]


def test_domains_print_as_in_pipe_files():
    assert list(map(str, FINITE)) == [
        "bool", "int mod 1", "int mod 5", "int checked 4", "-2..3", "7..7", "{red, green}", "(bool, 0..2)", "()",
        "{price: int mod 2, kind: {a, b, c}}", "((bool,), bool)",
    ]  # fmt: skip


def test_choosing_n_reaches_into_tuples_and_records():
    record = Record((INT, Tuple((INT, BOOL))), ("a", "b"))
    assert resolve(record, Integer(3)) == Record((Integer(3), Tuple((Integer(3), BOOL))), ("a", "b"))
    assert resolve(Range(0, 9), Integer(3)) == Range(0, 9)


def test_scalars_of_a_record():
    record = Record((BOOL, Tuple((Integer(2), BOOL))), ("a", "b"))
    assert scalars(record) == ((("a",), BOOL), (("b", "0"), Integer(2)), (("b", "1"), BOOL))
    assert scalars(BOOL) == (((), BOOL),)
