"""The auction property of the 2016 competition, on the real trace where it is there and on made-up ones."""

import importlib
import sys
from pathlib import Path

import pytest

import workbench as wb
from experiments import auction_trace
from experiments.by_key import by_item
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.language import read_file
from workbench.verify.answer.problem import check as verify
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "experiments"))
auction = importlib.import_module("auction")
FILE = ROOT / "models" / "crv2016" / "auction.pipe"
TRACE = ROOT.parent / "shared" / "data" / "auction_trace_invalid1.csv.gz"


def first_false(events):
    """The number of the first event (from 1) after which some item has broken the property, and all that have.

    In the reference executor; the compiled one says the same.
    """
    out = Reference(read_file(FILE).get("auctions").pipeline).run(events)["out"]
    assert Compiled(read_file(FILE).get("auctions").pipeline).run(events)["out"] == out
    items = Reference(read_file(FILE).get("broken").pipeline).run(events)["out"]
    assert Compiled(read_file(FILE).get("broken").pipeline).run(events)["out"] == items
    return out.index(False) + 1 if False in out else None, set(items)


def by_hand(events):
    """The property in plain Python, after its description."""
    state, found = {}, None
    for number, (kind, item, amount, period) in enumerate(events, 1):
        if kind == "endOfDay":
            for key, (phase, last, least, days) in list(state.items()):
                if phase == "open" and days == 1:
                    if last >= least:
                        return number
                    state[key] = ("closed", last, least, days)
                elif phase == "open":
                    state[key] = (phase, last, least, days - 1)
            continue
        phase, last, least, days = state.get(item, ("new", 0, 0, 0))
        if kind == "create_auction" and phase == "new":
            state[item] = ("open", 0, amount, period)
        elif kind == "bid" and phase == "open" and amount > last:
            state[item] = ("open", amount, least, days)
        elif kind == "sold" and phase == "open" and last >= least:
            state[item] = ("closed", last, least, days)
        else:
            return number
    return found


@pytest.mark.sampled(1)
@pytest.mark.parametrize("broken", [None, 0, 7, 29])
def test_made_up_traces(broken):
    events = list(auction_trace.generate(30, broken))
    number, items = first_false(events)
    assert number == by_hand(events)
    assert (number is None) == (broken is None)
    assert items == (set() if broken is None else {broken})
    # and a run for each item says who, though each has only its own events and the ends of days
    running, streams = Reference(read_file(FILE).get("auction").pipeline), {}
    for event in by_item(events):
        streams.setdefault(event[1], []).append(event)
    for item, stream in streams.items():
        running.reset()
        assert running.run(stream)["out"][-1] == (item != broken)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("events", "number"),
    [
        ([("bid", 1, 5, 0)], 1),
        ([("endOfDay", 0, 0, 0), ("create_auction", 1, 5, 1), ("create_auction", 1, 5, 1)], 3),
        ([("create_auction", 1, 5, 1), ("bid", 1, 2, 0), ("endOfDay", 0, 0, 0)], None),
        ([("create_auction", 1, 5, 1), ("bid", 1, 5, 0), ("endOfDay", 0, 0, 0)], 3),
        ([("create_auction", 1, 5, 2), ("bid", 1, 2, 0), ("bid", 1, 2, 0)], 3),
        ([("create_auction", 1, 5, 1), ("endOfDay", 0, 0, 0), ("bid", 1, 9, 0)], 3),
        ([("create_auction", 1, 5, 2), ("bid", 1, 9, 0), ("sold", 1, 0, 0), ("endOfDay", 0, 0, 0)], None),
        ([("create_auction", 1, 5, 2), ("bid", 1, 9, 0), ("sold", 1, 0, 0), ("sold", 1, 0, 0)], 4),
    ],
)
def test_rules(events, number):
    assert first_false(events)[0] == number == by_hand(events)


def test_the_reason_is_the_item_and_its_last_events(capsys, monkeypatch):
    """Item 1 is sold for 3 and should bring 5; a day has ended since the bid."""
    events = [
        ("create_auction", 1, 5, 4),
        ("create_auction", 2, 9, 4),
        ("bid", 1, 3, 0),
        ("endOfDay", 0, 0, 0),
        ("sold", 1, 0, 0),
    ]
    monkeypatch.setattr(auction.auction_trace, "generate", lambda items, broken: [*events, ("bid", 2, 1, 0)])
    monkeypatch.setattr("sys.argv", ["auction.py"])
    assert auction.main() == 0
    shown = capsys.readouterr().out
    assert "Broken at event 5, by item 1:" in shown
    assert [line.split() for line in shown.split("```")[1].splitlines() if line] == [
        ["1", "create_auction", "for", "at", "least", "5,", "4", "days"],
        ["3", "bid", "3"],
        ["1", "day", "ended"],
        ["5", "sold"],
    ]


def test_the_state_machine_is_checked():
    """No state is dead, and what may follow what."""
    loaded = read_file(FILE).get("auction")
    assert {str(verify(loaded.pipeline, property_from(c), Settings(n=4)).outcome) for c in loaded.checks} == {"holds"}
    assert len(loaded.checks) == 9


LINES = r"(?P<kind>\w+),(item(?P<item>\d+))?,(?P<amount>\d*),(?P<period>\d*)"


@pytest.mark.skipif(not TRACE.exists(), reason="the trace of the competition is not there")
def test_the_real_trace_is_read_as_it_is():
    broken = read_file(FILE).get("broken").pipeline
    said = wb.run(broken, TRACE, pattern=LINES, null="zero", backend="reference")
    assert set(said.to_dict()["out"]) == {3790287}


@pytest.mark.slow
@pytest.mark.skipif(not TRACE.exists(), reason="the trace of the competition is not there")
def test_the_real_trace():
    """As verified with an independent monitor: item 3790287 is sold for 132, below its least price 140."""
    events = list(auction_trace.read(TRACE))
    number, items = first_false(events)
    assert number == 84_683
    assert events[number - 1] == ("sold", 3790287, 0, 0)
    assert items == {3790287}
