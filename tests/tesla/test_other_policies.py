"""Policies of other engines as rules: on all short streams they match what the policy says, told step by step."""

import itertools
from pathlib import Path

import pytest

from workbench.tesla.check import load_rules
from workbench.tesla.meaning import meaning
from workbench.tesla.occurrence import Occurrence, in_units

POLICIES = Path(__file__).parents[2] / "models" / "tesla" / "policies"
WINDOW, STEP = 3, 1


def oldest(begun):
    return begun[:1]


def last(begun):
    return begun[-1:]


def every(begun):
    return begun


MATCHED = {
    "any_match": (every, every), "next_match": (every, None), "used_once": (every, None),
    "no_overlap": (oldest, None), "newest": (last, every),
}  # fmt: skip
"""Which of those that have begun a B completes, and which go on behind it."""


def pairs(name, kinds):
    """The matches of A and later B, one event a second: places of the two."""
    begun, found = [], []
    for place, kind in enumerate(kinds):
        begun = [each for each in begun if STEP * (place - each) <= WINDOW]
        if name == "contiguous":
            found += [(place - 1, place)] if (kinds[max(place - 1, 0)], kind) == ("A", "B") else []
        elif kind == "A":
            begun.append(place)
        elif kind == "B":
            completes, keeps = MATCHED[name]
            found += [(each, place) for each in completes(begun)]
            begun = keeps(begun) if keeps else []
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", [*MATCHED, "contiguous"])
def test_a_policy_as_a_rule(name):
    rules = in_units(load_rules(POLICIES / f"{name}.tesla"), "us")
    for kinds in itertools.product("ABC", repeat=6):
        events = [Occurrence(kind, place * STEP * 10**6, (place,)) for place, kind in enumerate(kinds)]
        told = [each.values for each in meaning(rules, events)]
        assert told == pairs(name, kinds), kinds


def test_each_file_is_tried():
    assert {path.stem for path in POLICIES.glob("*.tesla")} == {*MATCHED, "contiguous"}
