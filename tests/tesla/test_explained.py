"""Why something came of rules, and why not: every reason is true of what rules mean, as are the rows of a match."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import pytest

import workbench as wb
from tests.examples import scaled
from workbench.conformance.compare.rule_engines import evaluate_meaning
from workbench.conformance.generate.rule_cases import RuleCase, random_case
from workbench.errors import EngineGap, InputError
from workbench.runner.rules.columns import text_codes
from workbench.tesla import tree as t
from workbench.tesla.check import parse_rules
from workbench.tesla.event_block import EventBlock, event_block, join_blocks
from workbench.tesla.explain import why_not
from workbench.tesla.explain.counted import list_counts
from workbench.tesla.explain.hindrances import Hindrance
from workbench.tesla.explain.order import EventOrder
from workbench.tesla.explain.rule_view import RuleView, RunRecord
from workbench.tesla.explain.why import composite_reason
from workbench.tesla.explain.why_not import PartialReason, TriggerReason, trigger_reason
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

SOME = scaled(100, 300)
"""Random cases, each of which takes a few milliseconds."""


def record_of(case: RuleCase) -> RunRecord | None:
    """A run as the formulas have it; None where an error ends it."""
    told = evaluate_meaning(case)
    if isinstance(told, str):
        return None
    order = order_of(case.rules, case.events, told)
    return RunRecord(case.rules, order, case.facts, "trex" if case.trex else "", reported=case.until)


def order_of(rule_set: RuleSet, given: Sequence[Occurrence], made: Sequence[Occurrence]) -> EventOrder:
    return EventOrder(rule_set, *(event_block(rule_set, each, text_codes, large=True) for each in (given, made)))


def records(seeds: Iterable[int]) -> Iterator[tuple[RuleCase, RunRecord]]:
    for case in map(random_case, seeds):
        record = record_of(case)
        if record is not None:
            yield case, record


# --- why ------------------------------------------------------------------------------------------------


def identity(record: RunRecord, number: int) -> tuple:
    """What an event is all the way down: a row, or its rule, time, values and what it is made of."""
    event = record.order.event(number)
    if not record.order.composite[number]:
        return ("row", record.order.row(number))
    return (event.rule, event.time, repr(event.values), *(identity(record, each) for each in event.sources))


def rows_of(found: tuple) -> set[int]:
    """The numbers of the rows in what is told of a composite."""
    kind, *rest = found
    return {rest[0] + 1} if kind == "row" else set().union(*map(rows_of, rest[2:]))


def test_all_that_is_told_of_a_match_is_so():
    for _, record in records(range(SOME)):
        for number in record.order.composites[:10]:
            reason = composite_reason(record, number)
            bound = [p.bound.number for p in reason.parts if p.bound is not None and p.bound.event is not None]
            assert tuple(bound) == reason.event.sources
            assert set(reason.rows) == rows_of(identity(record, number))
            conditions = [each for part in reason.parts for each in part.conditions]
            assert all(each.result is True for each in (*conditions, *reason.where))
            assert not any(part.fits for part in reason.parts if part.kind in ("not", "absent"))
            assert [cause.event.number for cause in reason.causes] == [
                each for each in dict.fromkeys(reason.event.sources) if record.order.composite[each]
            ]


def test_an_event_was_counted_where_it_is_among_the_events_of_an_aggregate():
    """Of the first composites all are looked at for it, with the windows of their parts."""
    counted = 0
    for _, record in records(range(3 * SOME)):
        expected: dict[int, list[tuple]] = {}
        for number in record.order.composites[:10]:
            reason = composite_reason(record, number)
            for part in (each for each in reason.parts if each.kind == "aggregate"):
                values = part.values or (True,) * len(part.fits)
                for fit, value in zip(part.fits, values, strict=True):
                    if fit.event is not None and value is not None:
                        expected.setdefault(fit.number, []).append((number, reason.rule, part.text))
        most = max(record.order.composites[:10], default=0)
        for number in range(len(record.order)):
            told = [tuple(each) for each in list_counts(record, number) if each.composite <= most]
            assert told == expected.get(number, [])
            counted += len(told)
    assert counted > scaled(10, 30)


# --- why not --------------------------------------------------------------------------------------------


@pytest.fixture
def everything(monkeypatch):
    """All partial matches are told."""
    for name in ("MAX_TOLD", "MAX_COMPARED"):
        monkeypatch.setattr(why_not, name, 10**6)


KINDS = ("constraint", "window", "not", "absent", "clock", "where", "at most once", "limit", "policy")


def test_a_match_goes_on_without_what_stopped_it(everything):
    """Every trigger without a composite has a reason; without that the match goes on, or the next reason is told."""
    met = Counter()
    for case, record in records(range(SOME)):
        for number, rule in enumerate(case.rules.rules):
            for trigger in map(int, record.order.of_type(rule.trigger.type, 0, len(record.order))):
                told = trigger_reason(RuleView(record, number, trigger))
                assert told.reasons or told.composites
                if not record.order.composite[trigger]:
                    for stopped in told.reasons[:3]:
                        met.update(kind for kind in changed(case, record, number, told, stopped))
    assert {kind for kind in KINDS if met[kind] < scaled(1, 5)} == set(), met


def changed(
    case: RuleCase, record: RunRecord, number: int, told: TriggerReason, stopped: PartialReason
) -> Iterator[str]:
    """The kinds of what stopped a match, where it can be taken away, and was true."""
    bound = prefix(record, stopped)
    for kinds, other, kept in changes(case, record, number, told, stopped):
        again = record_of(other)
        if bound is None or again is None:
            continue
        trigger = again.order.of_row(kept.index(record.order.row(told.trigger.number)) + 1)
        now = trigger_reason(RuleView(again, number, trigger))
        assert now.reasons or now.composites
        if alone(case.rules, number, deleted=len(kept) < len(case.events)):
            if "policy" in kinds:
                assert now.composites
                yield "policy"
                continue
            still = [each for each in now.reasons if each.index == stopped.index and prefix(again, each, kept) == bound]
            again_told = {found.kind for each in still for found in each.hindrances if stopped.finished}
            assert not (again_told & set(kinds) if stopped.finished else still), (str(case.rules), kinds)
        yield from kinds


def prefix(record: RunRecord, stopped: PartialReason, kept: list[int] | None = None) -> tuple | None:
    """The rows and facts that are bound, rows by what they were before some were left out; None with composites."""
    fits = [part.bound for part in stopped.seen if part.bound is not None]
    if any(each.event is not None and record.order.composite[each.number] for each in fits):
        return None
    rows = [record.order.row(each.number) if each.event is not None else ("fact", each.number) for each in fits]
    return tuple(kept[each] if kept is not None and isinstance(each, int) else each for each in rows)


def alone(rule_set: wb.rules.RuleSet, number: int, *, deleted: bool) -> bool:
    """Whether what has been before does not change with a rule, and its values do not with the events."""
    rule = rule_set.rules[number]
    counted = any(getattr(part.window, "counts_events", False) for each in rule_set.rules for part in each.parts)
    looked_at = {name for each in rule_set.rules for name in each.types} & set(rule_set.composites)
    aggregates = any(isinstance(part, t.Aggregate) for part in rule.parts)
    return not (rule.consuming or rule.pause or counted or looked_at or (deleted and aggregates))


def changes(
    case: RuleCase, record: RunRecord, number: int, told: TriggerReason, stopped: PartialReason
) -> Iterator[tuple[list[str], RuleCase, list[int]]]:
    """Cases in which something is not there that has stopped a match: its kinds, and the rows that are left."""
    rule, everything = case.rules.rules[number], list(range(len(case.events)))
    kinds = [each.kind for each in stopped.hindrances]
    gone = {each for found in stopped.hindrances if found.kind in ("not", "absent") for each in found.events}
    for found in stopped.hindrances:
        if found.kind == "policy":
            yield ["policy"], with_rule(case, number, each_of(rule)), everything
        elif found.kind == "clock":
            longest = rule.timeout
            until = told.trigger.event.time + longest
            yield ["clock"], replace(case, until=until), everything
    if stopped.candidates is not None and not stopped.finished and stopped.candidates.near:
        near = stopped.candidates.near[0].hindrances
        changed: t.Rule | None = rule
        for found in near:
            changed = None if changed is None else without(changed, stopped.index, found, told)
        if changed is not None:
            yield [each.kind for each in near], with_rule(case, number, changed), everything
    elif gone and not any(record.order.composite[each] for each in gone):
        rows = {record.order.row(each) for each in gone}
        kept = [row for row in everything if row not in rows]
        if "where" not in kinds:
            yield kinds, replace(case, events=[case.events[row] for row in kept], saved=None), kept
    elif kinds and not gone and set(kinds) <= {"where", "limit", "at most once", "constraint"}:
        texts = {found.condition.text for found in stopped.hindrances if found.condition is not None}
        plain = replace(rule, where_clause=tuple(each for each in rule.where_clause if str(each) not in texts))
        if "constraint" in kinds:
            left = tuple(each for each in rule.trigger.constraints if str(each) not in texts)
            plain = replace(plain, trigger=replace(rule.trigger, constraints=left))
        if "limit" in kinds:
            plain = replace(plain, limit=None)
        if "at most once" in kinds:
            plain = replace(plain, pause=None, per=())
        yield kinds, with_rule(case, number, plain), everything


def with_rule(case: RuleCase, number: int, rule: t.Rule) -> RuleCase:
    found = (*case.rules.rules[:number], rule, *case.rules.rules[number + 1 :])
    return replace(case, rules=replace(case.rules, rules=found))


def each_of(rule: t.Rule) -> t.Rule:
    """A rule that takes all candidates."""
    first = (t.Policy.FIRST, t.Policy.LAST)
    parts = (
        replace(part, policy=t.Policy.EACH) if isinstance(part, t.Predicate) and part.policy in first else part
        for part in rule.predicates
    )
    return replace(rule, predicates=tuple(parts))


def without(rule: t.Rule, place: int, found: Hindrance, told: TriggerReason) -> t.Rule | None:
    """A rule that does not ask what an event fails; None where it has to."""
    part = rule.predicates[place - 1]
    if found.kind == "constraint":
        left = tuple(each for each in part.constraints if str(each) != found.condition.text)
        part = replace(part, constraints=left)
    elif found.kind == "window" and found.events[0] < told.trigger.number:
        part = replace(part, window=t.EventWindow((rule.trigger.name,)))
    elif found.kind == "consumed":
        return replace(rule, consuming=(), consuming_at=())
    else:
        return None
    return replace(rule, predicates=(*rule.predicates[: place - 1], part, *rule.predicates[place:]))


# --- as users ask ---------------------------------------------------------------------------------------

TEXT = """
declare Temp(area: string, value: float)
declare Smoke(area: string)
declare Fire(area: string, value: float, readings: int)
declare Alarm(area: string)

rule fire:
from Smoke[$a = area]
  and last Temp[$v = value](area == $a, value > 45.0) as Hot within 5 min from Smoke
  and not Temp(area == $a, value < 10.0) between Hot and Smoke
  and $n = COUNT(Temp(area == $a) within 5 min from Smoke)
where $n >= 2
emit Fire(area = $a, value = $v, readings = $n)
consuming Hot

rule alarm:
from Fire[$a = area] and last Fire(area == $a) as Before within 1 h from Fire
emit Alarm(area = $a) at most once in 30 min per $a
"""


def temp(time, value, area="hall"):
    return {"type": "Temp", "time": time, "area": area, "value": value}


def smoke(time, area="hall"):
    return {"type": "Smoke", "time": time, "area": area}


LOG = [temp(0, 20.0), temp(10, 50.0), temp(20, 60.0), smoke(100), smoke(110), smoke(120), temp(200, 70.0), smoke(210)]


def why_missing(log, what):
    """The nearest reason that the first rule gives, as text, and how many fires there are."""
    found = wb.rules.parse_rules(TEXT).explain_missing(log, what, time_unit="s")
    return (
        found,
        str(found),
        [each for each in wb.run(wb.rules.parse_rules(TEXT), log, time_unit="s") if each["type"] == "Fire"],
    )


def test_a_composite_is_explained_with_its_causes():
    found = wb.rules.parse_rules(TEXT).explain(LOG, output="Alarm at 110", time_unit="s")
    (alarm,) = found.composites
    assert alarm.rows == (2, 3, 4, 5)  # two fires of a smoke each, of which the second takes what is left
    assert [cause.rule for cause in alarm.causes] == ["fire", "fire"]
    fire = alarm.causes[0]
    assert [part.kind for part in fire.parts] == ["trigger", "last", "not", "aggregate"]
    assert (fire.parts[1].bound.own["value"], len(fire.parts[1].fits), fire.consumed) == (50.0, 1, (1,))
    assert (fire.parts[3].values, len(fire.parts[3].fits), fire.parts[3].parameters) == ((), 3, {"n": 3})
    assert found.to_json()["composites"][0]["causes"][0]["parts"][1]["constraints"][1]["values"] == "50.0 > 45.0"
    assert "<iframe" in found._repr_html_()
    part_of = wb.rules.parse_rules(TEXT).explain(LOG, event=2, time_unit="s")
    assert [each.event.type for each in part_of.composites] == ["Fire"]
    assert "#2: Fire at 110" in str(part_of)
    assert "is part of #3" in str(part_of)


def test_as_many_composites_are_explained_as_the_limit_allows():
    text = "declare A(x: int)\ndeclare B(x: int)\nfrom A and each A as First within 9 s from A emit B(x = First.x)"
    log = [{"type": "A", "time": n, "x": n} for n in range(5)]
    found = wb.rules.parse_rules(text).explain(log, event=2, limit=3, time_unit="s")
    assert [each.rows for each in found.composites] == [(1, 2), (2, 3), (2, 4)]
    assert found.more == 1  # that of rows 2 and 5


COUNTED = """
declare Login(user: string)
declare Pay(user: string, amount: float)
declare Out(user: string)
declare Total(user: string, paid: float)
declare Often(user: string, n: int)

rule sum:
from Out[$u = user] as End
  and last Login(user == $u) as Start within 100 from End
  and $p = SUM(Pay(user == $u).amount between Start and End)
emit Total(user = $u, paid = $p)

rule often:
from Pay[$u = user] as Now
  and $n = COUNT(Pay(user == $u, amount > 1.0) within 10 from Now)
where $n >= 2
emit Often(user = $u, n = $n)
"""


def test_an_event_that_was_counted_is_named_and_not_called_bound():
    """Worked out by hand: user a pays at 1, 2, 5 (an unknown sum), 9 and 40, logs in at 2 and out at 50."""
    rows = [(1, 5.0), (2, "in"), (3, 7.0), (5, None), (9, 2.0), (9, "b"), (40, 1.0), (50, "out")]
    log = []
    for time, what in rows:
        user = "b" if what == "b" else "a"
        type = {"in": "Login", "out": "Out"}.get(str(what), "Pay")
        log.append({"type": type, "time": time, "user": user})
        if type == "Pay":
            log[-1]["amount"] = 3.0 if what == "b" else what
    given = wb.rules.parse_rules(COUNTED)
    assert [(each["type"], each["time"]) for each in wb.run(given, log)] == [("Often", 5), ("Often", 9), ("Total", 50)]
    expected = {1: ["#1", "#2"], 2: [], 3: ["#1", "#2", "#3"], 4: [], 5: ["#3"], 6: [], 7: ["#3"], 8: []}
    for event, labels in expected.items():
        found = given.explain(log, event=event)
        told = found.to_json()["counted_in"]
        assert [each["composite"] for each in told] == labels
        assert ("counted" in str(found)) == bool(labels or not found.composites)
    text = str(given.explain(log, event=3))
    assert "is part of 0 composites, and was counted for 3 composites" in text
    assert "counted by $n = COUNT(Pay(user == $u, amount > 1.0) within 10 from Now) of often for #1, #2" in text
    assert "counted by $p = SUM(Pay(user == $u).amount between Start and End) of sum for #3" in text
    assert "no match contains it, and no aggregate has counted it" in str(given.explain(log, event=6))
    assert "is part of 1 composite\n" in str(given.explain(log, event=4))
    assert "counted" not in str(given.explain(log, event=8))


def test_what_was_consumed_is_told():
    found, text, fires = why_missing(LOG, "Fire at 120")
    assert len(fires) == 3
    assert "it was consumed by Fire #1 of 100" in text
    (reason,) = found.missing.rules[0].triggers[0].reasons
    assert {each.hindrances[0].kind for each in reason.candidates.near[:2]} == {"consumed"}
    _, _, fires = why_missing([*LOG[:5], temp(115, 80.0), *LOG[5:]], "Fire at 120")
    assert [each["time"] for each in fires] == [100, 110, 120, 210]


def test_a_window_that_is_missed_is_told_with_what_it_lacks():
    log = [temp(0, 50.0), temp(200, 30.0), temp(300, 40.0), smoke(303)]
    found, text, fires = why_missing(log, 'Fire(area = "hall") at 303')
    assert fires == []
    assert "it comes 3 s too early for within 5 min from Smoke" in text
    assert "value > 45.0: 40.0 > 45.0 is false" in text
    (reason,) = found.to_json()["missing"]["rules"][0]["triggers"][0]["reasons"]
    assert sorted((each["event"], each["reasons"][0].get("by")) for each in reason["nearest"]) == [
        ("1", 3_000_000), ("2", None), ("3", None),
    ]  # fmt: skip
    assert why_missing([temp(3, 50.0), *log[1:]], "Fire at 303")[2] != []


def test_deadlines_of_one_time_are_judged_in_their_order():
    """What a later one causes has not come when an earlier one is judged; what it consumed is gone when it is told."""
    text = "declare A(x: int) declare P() declare Q() "
    text += "rule a: from A as S and absent P within 5 after S where S.x > 1 emit Q "
    text += "rule b: from A as S and absent Q within 5 after S emit P"
    log = [{"type": "A", "time": 0, "x": 1}]
    assert wb.run(wb.rules.parse_rules(text), log, until=9) == [{"type": "P", "time": 5}]
    found = wb.rules.parse_rules(text).explain_missing(log, "Q at 5", until=9)
    (reason,) = found.missing.rules[0].triggers[0].reasons
    assert [each.kind for each in reason.hindrances] == ["where"]
    text = "declare A() declare B() declare P(x: int) "
    text += (
        "rule r: from P(x < 3) as S and last A as H within 9 from S and absent B within 1 after S emit P(x = S.x + 1) "
    )
    log = [{"type": "A", "time": 0}, {"type": "P", "time": 1, "x": 0}]
    assert len(wb.run(wb.rules.parse_rules(text), log, until=9)) == 3
    found = wb.rules.parse_rules(text + "consuming H").explain_missing(log, "P at 3", until=9)
    assert "it was consumed by P #1 of 2" in str(found)


def test_what_is_null_satisfies_nothing():
    log = [temp(0, None), smoke(20)]
    _, text, _ = why_missing(log, "Fire at 20")
    assert "value > 45.0: null > 45.0 is null" in text


def test_what_must_not_be_there_is_named():
    log = [temp(0, 50.0), temp(10, 5.0), smoke(20)]
    found, text, _ = why_missing(log, "Fire at 20")
    assert "there is Temp 2" in text
    assert found.missing.rules[0].triggers[0].reasons[0].hindrances[0].events == (1,)
    _, text, fires = why_missing([log[0], log[2]], "Fire at 20")
    assert fires == []
    assert "$n >= 2: 1 >= 2 is false" in text
    assert "$n = 1: of events 1, from -280 to 20" in text


def test_what_has_no_trigger_is_told_down_to_the_log():
    _, text, _ = why_missing(LOG, "Alarm at 150")
    assert "no event of type Fire at 150, which would trigger it" in text
    assert "40 s before: #2: Fire at 110" in text
    assert "no event of type Smoke at 150" in text
    assert "1 min later: event 8: Smoke at 210" in text
    _, text, _ = why_missing(LOG, "Alarm at 210")
    assert 'at most once in 30 min per $a = "hall": there was Alarm #3, 1.667 min before' in text
    found, text, _ = why_missing(LOG, "Fire at 100")
    assert text.startswith("Fire at 100 was emitted: #1\n")
    assert len(found.composites) == 1
    _, text, _ = why_missing(LOG, "Fire(readings = 4) at 100")
    assert "it has emitted Fire #1 with readings = 3" in text


def test_first_and_last_take_what_leads_nowhere():
    policy = "declare A(x: int) declare B(x: int) declare C() declare D() "
    policy += "rule r: from C and last A within 9 from C and last B(x == A.x) within 9 from C emit D"
    log = [{"type": "B", "time": 1, "x": 1}, {"type": "A", "time": 2, "x": 1}, {"type": "A", "time": 3, "x": 2}]
    log.append({"type": "C", "time": 4})
    text = str(wb.rules.parse_rules(policy).explain_missing(log, "D at 4"))
    assert "last A has selected 3; with 2 there is a match" in text


def test_a_question_that_cannot_be_answered():
    asked = wb.rules.parse_rules(TEXT)
    for question, what in (
        ({"output": "Fir at 3"}, "no rule emits 'Fir'"), ({"output": "Fire"}, "names no composite"),
        ({"output": 9}, "there is no composite 9"), ({"event": 99}, "there is no event 99"),
        ({"event": 0}, "there is no event 0"),
        ({"output": "Fire(rea = 3) at 3"}, "Fire has no attribute 'rea'"), ({}, "one question"),
        ({"output": "Fire(readings = hot) at 3"}, "'readings' of Fire: expected"),
        ({"output": "Fire at noon"}, "'noon' is not a time"), ({"output": "Fire at 3"}, "there is no Fire at 3"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=what):
            asked.explain(LOG, **question, time_unit="s")
    with pytest.raises(InputError, match="with --key cannot be explained"):
        asked.explain(LOG, event=1, time_unit="s", key="area")


@pytest.mark.parametrize("wrong", ["more", "less"])
def test_an_engine_that_is_wrong_is_found_out(wrong):
    case = RuleCase(
        parse_rules("declare A(x: int) declare D() rule r: from A(x > 1) emit D"), [Occurrence("A", 1, (2,))] * 2
    )
    told = [Occurrence("D", 1, (), 1, (0,), "r")]
    if wrong == "more":
        case = replace(case, events=[Occurrence("A", 1, (1,))])
        record = RunRecord(case.rules, order_of(case.rules, case.events, told), {})
        with pytest.raises(EngineGap, match="DEFECT OF WORKBENCH") as found:
            composite_reason(record, 1)
        assert (found.value.rule, found.value.trigger, found.value.exit_code) == ("r", 0, 3)
    else:
        record = RunRecord(case.rules, order_of(case.rules, case.events, told), {})
        with pytest.raises(EngineGap, match="emitted no composite of r at 1"):
            trigger_reason(RuleView(record, 0, 2))


def test_an_order_of_several_blocks_is_that_of_their_events():
    compared = 0
    for case, record in records(range(60)):
        told = record.order.events(record.order.composites)
        given, composites = (halved(case.rules, each) for each in (case.events, told))
        order = EventOrder(case.rules, given, composites)
        numbers = range(len(order))
        assert repr(order.events(numbers)) == repr(record.order.events(numbers))
        assert repr(order.events(record.order.composites)) == repr(told)
        assert [order.label(each) for each in numbers] == [record.order.label(each) for each in numbers]
        assert [order.users(each) for each in numbers] == [record.order.users(each) for each in numbers]
        for rule in range(len(case.rules.rules)):
            assert order.outcomes(rule) == record.order.outcomes(rule)
        compared += len(told) > 1
    assert compared > 5


def test_columns_and_rows_are_explained_alike():
    columns = {name: [row.get(name) for row in LOG] for name in ("type", "time", "area", "value")}
    for question in ({"event": 3}, {"output": 3}, {"output": "Fire at 210"}):
        one, other = (wb.rules.parse_rules(TEXT).explain(each, **question, time_unit="s") for each in (LOG, columns))
        assert one.to_json() == other.to_json()


def halved(rule_set: RuleSet, events: Sequence[Occurrence]) -> EventBlock:
    """Events as a block that has been two, the second of which is a part of another one."""
    middle = len(events) // 2
    whole = event_block(rule_set, events, text_codes, large=True)
    blocks = [event_block(rule_set, events[:middle], text_codes, large=True), whole.part(middle, len(events))]
    return join_blocks([each for each in blocks if len(each)] or [whole])
