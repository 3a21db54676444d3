"""Blocks of events say what the events say."""

import numpy as np
import pytest

from workbench.conformance.generate.rule_cases import random_case
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.tesla.check import parse_rules
from workbench.tesla.event_block import LargeNumberError, event_block
from workbench.tesla.occurrence import Occurrence


def small(event):
    return all(not isinstance(value, int) or abs(value) < 2**63 for value in event.values)


@pytest.mark.parametrize("seed", range(30))
def test_a_block_says_what_its_events_say(seed):
    case = random_case(seed)
    events = [event for event in case.events if small(event)]
    block = event_block(case.rules, events, TextCodes(()).put)
    assert len(block) == len(events)
    shown = [(each.type, each.time, *map(repr, each.values)) for each in events]
    assert [(each.type, each.time, *map(repr, each.values)) for each in block.occurrences(case.rules)] == shown
    part = block.part(1, 3).occurrences(case.rules)
    assert [(each.type, each.time, *map(repr, each.values)) for each in part] == shown[1:3]


def test_composites_at_some_places_keep_what_they_are():
    text = """
    declare A(x: int)
    declare X(x: int)
    rule one: from A emit X(x = A.x)
    rule two: from A and each A as B within 5 from A emit X(x = B.x)
    """
    made = [
        Occurrence("X", 1, (7,), 1, (0,), "one"),
        Occurrence("X", 2, (7,), 3, (2, 0), "two"),
        Occurrence("X", 2, (8,), 4, (2,), "one"),
    ]
    block = event_block(parse_rules(text), made, TextCodes(()).put)
    assert block.occurrences(parse_rules(text)) == made
    assert block.take(np.array([2, 1])).occurrences(parse_rules(text)) == [made[2], made[1]]
    assert block.part(1, 3).take(np.array([1, 0])).occurrences(parse_rules(text)) == [made[2], made[1]]


def test_large_numbers_are_refused():
    event = Occurrence("A", 0, (2**63, 1.0))
    with pytest.raises(LargeNumberError, match="9223372036854775808 has more than 64 bits"):
        event_block(random_case(1).rules, [event], TextCodes(()).put)
