"""Matches that wait for something not to come, by hand; and columns that another engine goes on with."""

from tests.tesla.events import A, B, C
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.absences import Absences, DueAbsence
from workbench.tesla.engines.columns import StepColumns
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Occurrence

TYPES = "declare A(x: int)\ndeclare B(x: int)\ndeclare C(x: int)\n"
RULE = """
from C and last B(x > 0) within 9 from C and $n = COUNT(A(x == C.x) within 4 from C)
  and absent A(x == C.x) within 5 after C emit C(x = 1)
"""
(RESOLVED,) = parse_rules(TYPES + RULE).resolved
PLAN = RulePlan(RESOLVED)


def numbered(*events: Occurrence) -> list[Occurrence]:
    return [Occurrence(each.type, each.time, each.values, number) for number, each in enumerate(events)]


def waiting(absences: Absences, trigger: Occurrence) -> DueAbsence:
    """A single match of a trigger, of which only the trigger is bound, awaited."""
    due = DueAbsence(trigger.time + 5, trigger, [(trigger,)])
    absences.wait(due)
    return due


def test_a_match_is_unfilled_unless_something_comes_behind_its_trigger_up_to_the_deadline():
    assert PLAN.absent is not None
    for event, unfilled in ((A(6, 7), 0), (A(6, 8), 1), (A(7, 7), 1), (B(3, 7), 1)):
        absences = Absences(PLAN.absent, trex=False)
        before, trigger, after = numbered(A(1, 7), C(1, 7), event)
        absences.add(before)
        due = waiting(absences, trigger)
        absences.add(after)
        assert len(absences.find_unfilled(due)) == absences.waiting == unfilled, event
        assert len(absences.take_unfilled(due)) == unfilled, event
        assert absences.waiting == 0


def test_only_events_that_a_deadline_waits_for_are_kept():
    assert PLAN.absent is not None
    absences = Absences(PLAN.absent, trex=False)
    events = numbered(A(0, 7), C(1, 7), A(2, 7), C(3, 8), A(4, 8), A(9, 7))
    first, second, third = events[1], events[3], events[5]
    absences.add(events[0])
    assert absences.state(EventStore()) == []
    due = [waiting(absences, first)]
    absences.add(events[2])
    due.append(waiting(absences, second))
    absences.add(events[4])
    assert absences.state(EventStore()) == [2, 4]
    assert absences.take_unfilled(due[0]) == []
    assert absences.state(EventStore()) == [4]
    assert absences.take_unfilled(due[1]) == []
    absences.add(third)
    assert absences.state(EventStore()) == []


def test_columns_hold_what_others_held():
    first, store = StepColumns(), EventStore()
    for step in PLAN.steps[1:]:
        first.begin(step, trex=False)
    for event in numbered(B(1, 1), B(2, 0), A(3, 7), B(4, 2)):
        for column in first.by_type.get(event.type, ()):
            column.add(event)
    assert [[event.number for event in column.column] for column in first.values()] == [[0, 3], [2]]
    assert first.size == 3
    for column in first.values():
        column.forget_behind([(12, 9)])  # nothing behind the trigger at 12 looks before 3 and 8
    assert [[event.number for event in column.column] for column in first.values()] == [[3], []]
    again = StepColumns()
    for step in PLAN.steps[1:]:
        again.begin(step, trex=False)
    again.set_state(first.state(store), EventStore(store.data()))
    assert again.state(EventStore()) == first.state(EventStore())
    assert [(column.since, column.place) for column in again.values()] == [(3, 1), (8, 3)]
