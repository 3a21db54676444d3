"""Rules shared out among workers: what comes out, numbers and sources too, is what one engine gives."""

import os
import pickle
import random
from functools import partial
from typing import Any
from unittest import mock

import pytest

from tests.examples import scaled
from workbench.conformance.compare.rule_engines import same_occurrence
from workbench.conformance.generate.rule_cases import make_varied_case
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.tesla.check import parse_rules
from workbench.tesla.engines import rule_pool
from workbench.tesla.engines.engine import EngineSettings, rule_engine
from workbench.tesla.engines.facts.tables import FactTables
from workbench.tesla.engines.rule_pool import RulePool
from workbench.tesla.engines.rule_split import rule_split
from workbench.tesla.event_block import event_block
from workbench.tesla.occurrence import Occurrence

TYPES = """
declare A(x: int) declare B(x: int) declare N()
declare P(x: int) declare Q(x: int) declare R(x: int) declare Z(n: int)
"""
RULES = (
    "from A and each B within 5 from A emit P(x = B.x)",
    "from P and last B within 9 from P emit Q(x = B.x)",
    "from Q and each P within 4 from Q limit 3 emit Z(n = P.x)",
    "from A and absent B within 2 after A emit R(x = A.x)",
    "from R and absent N within 0 after R emit Z(n = R.x)",
    "from B and each A(x == B.x) within 3 from B emit Z(n = 1) consuming A",
    "from N emit Z(n = 2)",
    "from Z and first A within 9 from Z emit R(x = A.x)",
    "from A and $s = SUM(B.x within 6 from A) emit Z(n = $s)",
    "from B and absent A within 3 after B emit Z(n = 3)",
)


class InProcess:
    """A worker of this process."""

    def __init__(self, part):
        self.part, self.answers = part, []

    def send(self, request):
        self.answers.append(self.part.answer(pickle.loads(request)))

    def receive(self):
        return self.answers.pop(0)

    def stop(self):
        pass


def in_process(parts):
    return [InProcess(each) for each in parts]


def engines(made, name, workers, facts=None, **settings):
    """An engine in one process, and a pool of workers of the same rules."""
    start: Any = partial(rule_engine, made, name, facts or {}, EngineSettings(**settings))
    with mock.patch.object(rule_pool, "_start_processes", in_process):
        return start(), RulePool(made, facts or {}, EngineSettings(threads=workers, **settings), start)


def alike(found, expected):
    return len(found) == len(expected) and all(map(same_occurrence, found, expected))


def drawn_rules(draw):
    """Some rules of the list, of which no two feed each other in a circle of absences."""
    chosen = draw.sample(RULES, draw.randint(2, 6))
    return parse_rules(TYPES + "\n".join(chosen))


def drawn_events(draw, count):
    time, found = 0, []
    for _ in range(count):
        time += draw.choice((0, 0, 1, 1, 2, 7))
        name = draw.choice(("A", "A", "B", "B", "N", "P"))
        found.append(Occurrence(name, time, () if name == "N" else (draw.randint(0, 3),)))
    return found


@pytest.mark.parametrize("name", ["cdp", "aip"])
def test_composites_their_numbers_and_their_sources_are_those_of_one_engine(name, monkeypatch):
    """What is old is forgotten as often as can be, too."""
    monkeypatch.setattr(rule_pool, "FORGET_AT", 3)
    shared = composites = forgot = 0
    for seed in range(scaled(25, 60)):
        draw = random.Random(seed)
        made = drawn_rules(draw)
        if rule_split(made).undivided:
            continue
        try:
            one, pool = engines(made, name, draw.randint(2, 4))
        except Refused:
            continue
        shared += 1
        events = drawn_events(draw, 40)
        for event in events:
            if draw.random() < 0.1:
                assert pool.advance(event.time - 1) == one.advance(event.time - 1)
            told = one.process(event)
            composites += len(told)
            assert pool.process(event) == told, seed
        assert pool.advance(events[-1].time + 9) == one.advance(events[-1].time + 9)
        forgot += all(each.forgotten for each in pool._numbers)
    assert shared > scaled(8, 20)
    assert composites > scaled(150, 400)
    assert forgot


def test_random_rules_are_shared_out():
    shared = 0
    for seed in range(60):
        case = make_varied_case(seed)
        if rule_split(case.rules).undivided:
            continue
        try:
            one, pool = engines(case.rules, "cdp", 2, dict(case.facts), trex=case.trex)
        except Refused:
            continue
        shared += 1
        for event in case.events:
            assert alike(pool.process(event), one.process(event)), seed
        if case.until is not None:
            assert alike(pool.advance(case.until), one.advance(case.until)), seed
    assert shared > 15


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (RULES[6], "there is only one"),
        (RULES[0] + "\n" + RULES[1], "all of them feed each other"),
        (RULES[6] + "\nfrom A and last B within 3 events from A emit Z(n = 1)", "'rule 2' counts events in a window"),
        (RULES[6] + "\n" + RULES[0], ""),
    ],
)
def test_rules_that_feed_each_other_stay_together(text, why):
    found = rule_split(parse_rules(TYPES + text)).undivided
    assert bool(found) == bool(why)
    assert why in found


def test_processes_do_what_one_process_does():
    made = parse_rules(TYPES + "\n".join(RULES[:7]))
    one = rule_engine(made, "cdp", settings=EngineSettings(profiled=True))
    pool: Any = rule_engine(made, "cdp", settings=EngineSettings(threads=2, profiled=True))
    assert isinstance(pool, RulePool)
    for event in drawn_events(random.Random(1), 100):
        assert pool.process(event) == one.process(event)
    shown = [[(each.rule, each.matches, each.composites) for each in engine.profile()] for engine in (one, pool)]
    assert shown[0] == shown[1]


def test_an_event_that_cannot_come_comes_behind_what_the_events_before_it_cause():
    made = parse_rules(TYPES + RULES[6] + "\nfrom A emit R(x = A.x)")
    _, pool = engines(made, "cdp", 2)
    before = [*pool.process(Occurrence("A", 3, (1,))), *pool.process(Occurrence("N", 4))]
    assert [each.type for each in before] == ["R", "Z"]
    with pytest.raises(InputError, match="goes back from 4 to 2"):
        pool.process(Occurrence("A", 2, (1,)))


def test_a_failure_comes_behind_what_the_events_before_it_cause_and_ends_the_run():
    endless = "from P emit P(x = P.x + 1)"
    made = parse_rules(TYPES + "from A emit P(x = A.x)\n" + endless + "\n" + RULES[6])
    one, pool = engines(made, "cdp", 2)
    events = [Occurrence("N", 1), Occurrence("N", 2), Occurrence("A", 2, (1,)), Occurrence("N", 3)]
    told = [each for event in events[:2] for each in one.process(event)]
    with pytest.raises(WorkbenchError) as expected:
        one.process(events[2])
    given = pool.process_block(event_block(made, events, lambda texts: []))
    assert next(given) == told
    for later in (given.__next__, partial(pool.process, events[3])):
        with pytest.raises(type(expected.value)) as error:
            later()
        assert error.value.what == expected.value.what


def test_a_worker_that_dies_is_an_error():
    made = parse_rules(TYPES + RULES[6] + "\nfrom A emit R(x = A.x)")
    pool: Any = rule_engine(made, "cdp", settings=EngineSettings(threads=2))
    os.kill(pool._workers[0].process.process.pid, 9)
    pool._workers[0].process.process.join()
    for time in (1, 2):
        with pytest.raises(WorkbenchError, match="a worker is lost: the process died"):
            pool.process(Occurrence("N", time))


def test_answers_that_nobody_waited_for_are_not_those_of_the_next_request():
    made = parse_rules(TYPES + RULES[6] + "\nfrom A emit R(x = A.x)")

    class Interrupted(InProcess):
        def receive(self):
            raise KeyboardInterrupt

    start: Any = partial(rule_engine, made, "cdp")
    with mock.patch.object(rule_pool, "_start_processes", lambda parts: list(map(Interrupted, parts))):
        pool = RulePool(made, {}, EngineSettings(threads=2), start)
    with pytest.raises(KeyboardInterrupt):
        pool.process(Occurrence("N", 1))
    with pytest.raises(WorkbenchError, match="were interrupted"):
        pool.process(Occurrence("N", 2))


def test_facts_in_a_database_stay_with_one_process():
    made = parse_rules(TYPES + "declare fact F(x: int)\n" + RULES[6] + "\nfrom A and each F(x == A.x) emit R(x = F.x)")
    with pytest.raises(Refused, match="facts in a database"):
        rule_engine(made, "cdp", FactTables({"F": ((1,),)}), EngineSettings(threads=2))
    pool = rule_engine(made, "cdp", {"F": [(1,)]}, EngineSettings(threads=2))
    assert [each.values for each in pool.process(Occurrence("A", 1, (1,)))] == [(1,)]
