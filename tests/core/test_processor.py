"""What a step emits: one event, several, or none; with what is absent among them, or without."""

import pytest

from workbench.core.processor import NOTHING, Burst, Events, Maybe, emission, event, events_of, slots_of


@pytest.mark.parametrize("events", [(), (1,), (1, None), (None, (2, 3), 4)])
def test_events_are_emitted_and_taken_out_again(events):
    emitted = emission(events)
    assert tuple(events_of(emitted)) == events
    assert [value for present, value in slots_of(emitted) if present] == list(events)


def test_one_event_is_a_maybe_and_none_is_nothing():
    assert emission([7]) == event(7) == Maybe(True, 7)
    assert type(event(7)) is Maybe
    assert emission([]) is NOTHING
    assert type(emission([7, 8])) is Events


def test_what_is_absent_is_no_event():
    assert list(events_of(Burst([Maybe(False, 1), Maybe(True, 2), NOTHING, Maybe(True, 3)]))) == [2, 3]
    assert list(events_of(Maybe(False, 1))) == []
    assert slots_of(Events((1, 2))) == (Maybe(True, 1), Maybe(True, 2))
    assert slots_of(NOTHING) == (NOTHING,)
