"""Pieces that threads decode: each once, in any order of asking, and no more ahead than may be held."""

import threading
from functools import partial

import pytest

from workbench.events import pieces
from workbench.events.pieces import RowSpan, RowSpans

pa = pytest.importorskip("pyarrow")

SIZE = 3
WAIT = 20


def batches(first, *lengths, seen=None):
    """Record batches of successive numbers."""
    for length in lengths:
        if seen is not None:
            seen.append(first)
        yield pa.record_batch({"x": pa.array(range(first, first + length))})
        first += length


def values(piece):
    return [x for batch in piece.batches() for x in batch.column("x").to_pylist()]


def test_pieces_have_their_rows_however_batches_are_cut():
    lengths = [(3, 3, 1), (1, 1, 1, 1, 1, 1, 1), (7,), (2, 3, 2)]
    spans = [RowSpan(7, partial(batches, 10 * n, *each)) for n, each in enumerate(lengths)]
    found = list(RowSpans(spans, SIZE))
    assert [piece.rows for piece in found] == [3, 3, 1] * len(lengths)
    wanted = [list(range(10 * n + k, 10 * n + min(k + 3, 7))) for n in range(len(lengths)) for k in (0, 3, 6)]
    for at in [4, 0, 11, 2, 1, 3, 5, 9, 10, 8, 6, 7]:  # whoever is first
        assert values(found[at]) == wanted[at]


def test_no_rows_are_no_pieces():
    assert list(RowSpans([RowSpan(0, lambda: batches(0)), RowSpan(0, lambda: batches(0, 0))], SIZE)) == []


def test_who_would_wait_decodes_what_comes_later():
    seen, blocked, going = [], threading.Event(), threading.Event()

    def slow():
        blocked.set()
        assert going.wait(WAIT)
        yield from batches(0, 3, 3)

    found = iter(RowSpans([RowSpan(6, slow), RowSpan(6, lambda: batches(6, 3, 3, seen=seen))], SIZE))
    first, second = next(found), next(found)
    got = []
    one = threading.Thread(target=lambda: got.append(values(first)))
    one.start()
    assert blocked.wait(WAIT)
    other = threading.Thread(target=lambda: got.append(values(second)))
    other.start()
    while len(seen) < 2:  # all of the second span
        assert other.is_alive()
    going.set()
    one.join(WAIT)
    other.join(WAIT)
    assert sorted(got) == [[0, 1, 2], [3, 4, 5]]
    assert [values(piece) for piece in found] == [[6, 7, 8], [9, 10, 11]]
    assert seen == [6, 9]


def test_no_more_is_decoded_ahead_than_may_be_held(monkeypatch):
    monkeypatch.setattr(pieces, "HELD", 2 * SIZE * 8)
    seen = []
    spans = [RowSpan(30, partial(batches, 30 * n, *[3] * 10, seen=seen)) for n in range(2)]
    found = iter(RowSpans(spans, SIZE))
    piece = next(found)
    assert [piece.ahead() for _ in range(4)] == [True, True, False, False]
    assert seen == [0, 3]
    assert values(piece) == [0, 1, 2]
    assert [piece.ahead() for _ in range(2)] == [True, False]
    assert [x for each in found for x in values(each)] == list(range(3, 60))
    assert not piece.ahead()


def test_what_is_damaged_is_told_when_it_is_its_turn():
    def damaged():
        yield from batches(0, 3)
        raise pa.ArrowInvalid("a page")

    found = iter(RowSpans([RowSpan(9, damaged), RowSpan(3, lambda: batches(9, 3))], SIZE))
    first, second, third = next(found), next(found), next(found)
    while first.ahead():
        pass
    assert values(first) == [0, 1, 2]
    for piece in second, third, second:
        with pytest.raises(pa.ArrowInvalid, match="a page"):
            piece.batches()
    assert [values(piece) for piece in found] == [[9, 10, 11]]


def test_what_was_not_asked_for_is_decoded_before_the_file_goes():
    seen = []
    found = list(RowSpans([RowSpan(6, lambda: batches(0, 3, 3, seen=seen))], SIZE))
    assert seen == [0, 3]
    assert [values(piece) for piece in found] == [[0, 1, 2], [3, 4, 5]]
