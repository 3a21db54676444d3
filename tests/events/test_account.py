"""The account of a log: rows read = computed + bad + late + ignored, also of its parts together."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.errors import LostRows
from workbench.events.account import BLANK, KEYLESS, Account, BadRow, Reporter

COUNTS = st.integers(0, 9)


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    """Those of logs of which every row is accounted for."""
    computed, bad, late, blank, keyless = (draw(COUNTS) for _ in range(5))
    account = Account(computed + bad + late + blank + keyless, computed=computed, bad=bad, late=late)
    account.ignored.update({BLANK: blank, KEYLESS: keyless})
    return account


@given(accounts(), st.sampled_from([1, -1]))
def test_a_row_more_or_less_is_an_error(account, lost):
    account.check()
    account.read += lost
    with pytest.raises(LostRows, match=f"{account.read:,} were read, {account.computed:,} were computed"):
        account.check()
    account.is_exact = False  # then nobody has counted the rows before they were decoded
    account.check()


@given(st.lists(accounts(), min_size=1, max_size=4))
def test_parts_of_a_log_that_are_accounted_for_make_one_that_is(parts):
    whole = parts[0]
    for part in parts[1:]:
        whole = whole + part
    whole.check()
    for count in ("read", "computed", "bad", "late"):
        assert getattr(whole, count) == sum(getattr(part, count) for part in parts)
    for reason in (BLANK, KEYLESS):
        assert whole.ignored[reason] == sum(part.ignored[reason] for part in parts)
    assert pickle.loads(pickle.dumps(whole)) == whole  # parts of a log may be read by other processes


def test_who_has_an_account_sees_what_is_added_to_it():
    reporter, first = Reporter(), BadRow("log.csv", 3, "expected a number", "x")
    seen = reporter.account
    reporter.report_bad(first)
    reporter.account.add(Account(read=5, rows=5, bad=1, first_bad=BadRow("log.csv", 9, "expected a number", "y")))
    assert (seen.rows, seen.bad, seen.first_bad) == (6, 2, first)
    assert not (Account() + Account(is_exact=False)).is_exact


def test_columns_that_no_input_needs_are_reported_once():
    said: list[str] = []
    reporter = Reporter(said.append)
    reporter.ignore_columns([])
    reporter.ignore_columns(["a", "b"])
    reporter.ignore_columns(["c"])
    assert len(said) == 1
    assert "a, b" in said[0] or "a and b" in said[0]
    assert list(reporter.columns) == ["a", "b", "c"]


def test_a_summary_has_notes_before_the_rate():
    reporter = Reporter(notes=[lambda: "7 phases", lambda: ""])
    reporter.account.rows, reporter.account.events_in, reporter.account.bad = 3000, 5000, 2
    assert reporter.summary(1.5) == (
        "3,000 rows, 5,000 events in, 0 events out, 2 bad rows, 7 phases, 1.50 s, 2,000 rows a second"
    )


def test_a_summary_states_that_late_rows_are_among_those_that_were_read():
    account = Reporter().account
    account.rows, account.events_in, account.late = 4000, 3962, 38
    assert account.summary(1.0).startswith("4,000 rows (38 late), 3,962 events in, ")
    account.rows_are_events, account.events_in = True, 4000
    assert account.summary(1.0).startswith("4,000 rows, 4,000 events in (38 late), ")


@pytest.mark.parametrize(
    ("reason", "kind"),
    [
        ("column 'price': expected a number, not 'x'", "column 'price': expected a number"),
        ("this line has 3 cells, the header has 2", "this line has ... cells, the header has ..."),
        (
            "column 't': expected a time from 2026-11-24T08:00:00 on, the time of the row before, not '7'",
            "column 't': expected a time from ... on, the time of the row before",
        ),
        ("not a JSON value: Expecting value at column 3: {'a", "not a JSON value"),
        ("input 'a 1': expected an integer 0..3, not 9", "input 'a 1': expected an integer ..."),
    ],
)
def test_bad_rows_of_a_kind_differ_in_their_values(reason: str, kind: str) -> None:
    assert BadRow("log.csv", 3, reason, "").kind == kind
