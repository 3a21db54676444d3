"""The operators of rules as TRIO formulas, one function per operator, over a history that is a list.

The rule of this module: a range is a comprehension over the whole history with the formula's condition, and a window is
a condition on one event. `Past` means earlier in the total order, in which an event's place is its number; only lengths
of windows use the clock (thesis, 2.4.4: evaluate in the order of execution, never look back).

Sources: thesis, 2.3.3 and 3.3.2; docs/reference/rules.md for what the thesis leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from workbench.core.domain import Value, sort_key
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import Attributes, Selected, value

TREX = "trex"
"""The compatibility mode in which windows are open and each predicate has its own consumption."""


@dataclass
class Happened:
    """The past: the history of events, the facts, and what has been consumed.

    Attributes
    ----------
    history: all processed events, each at the index that is its number.
    consumed: Consumed(r, l): the rule and the event's number; in compatibility mode also the predicate's place.
    """

    rules: RuleSet
    facts: Facts
    compat: str = ""
    history: list[Occurrence] = field(default_factory=list)
    consumed: set[tuple[int, int, int]] = field(default_factory=set)

    def is_consumed(self, rule: int, index: int, event: Occurrence) -> bool:
        """Consumed(r, l): whether the event is consumed for the predicate at a place of the rule."""
        return self.consumption(rule, index, event.number) in self.consumed

    def consume(self, rule: int, index: int, event: Occurrence) -> None:
        """Futr(Consumed(r, l), t) for all t > 0: consume the event, bound by the predicate at a place of the rule."""
        self.consumed.add(self.consumption(rule, index, event.number))

    def consumption(self, rule: int, index: int, number: int) -> tuple[int, int, int]:
        """Return the entry in `consumed` for an event's number, bound by the predicate at a place of the rule."""
        return rule, index if self.compat == TREX else 0, number


@dataclass(frozen=True)
class PlacedPredicate:
    """A predicate of a rule together with the past on which it is evaluated.

    Attributes
    ----------
    rule, index: the index of the rule in the file, and of the predicate in the rule; the trigger's is 0.
    """

    past: Happened
    part: t.Predicate | t.Aggregate
    rule: int
    index: int

    def attributes(self, values: Sequence[Value | None]) -> Attributes:
        """Return attVal(l, .) of an event or fact of the predicate's type."""
        return dict(zip(self.past.rules.declarations[self.part.type].positions, values, strict=True))


# --- windows --------------------------------------------------------------------------------------------


def in_window(window: t.EventWindow | None, event: Occurrence, selected: Selected, compat: str) -> bool:
    """Whether an event lies in a window, whose names stand for selected events."""
    assert window is not None
    one, *others = (selected.named[name] for name in window.names)
    if window.between:
        return between_window(event, one, others[0], compat)
    return after_window(window, event, one) if window.after else within_window(window, event, one, compat)


def within_window(window: t.EventWindow, event: Occurrence, anchor: Occurrence, compat: str) -> bool:
    """WithinP(Occurs(B, l1), time(l0), x): earlier than the anchor, and its time at least time(l0) - x.

    Source: thesis, 2.3.1 (WithinP, closed) and 2.3.3. In compatibility with T-Rex both ends are open, and only times
    count. In a window by count the length is that of the order, in places; T-Rex has no such windows.
    """
    ago = anchor.number - event.number if window.counts_events else anchor.time - event.time
    least = 0 if window.minimum is None else window.minimum.amount
    if compat == TREX and not window.counts_events:
        return least < ago and (window.maximum is None or ago < window.maximum.amount)
    return event.number < anchor.number and least <= ago and (window.maximum is None or ago <= window.maximum.amount)


def between_window(event: Occurrence, one: Occurrence, two: Occurrence, compat: str) -> bool:
    """WithinP(Occurs(C, l2), time(l0), time(l1) - time(l0)): strictly between both, whichever comes first.

    Source: thesis, 2.3.3. In compatibility with T-Rex, between their times.
    """
    if compat == TREX:
        return min(one.time, two.time) < event.time < max(one.time, two.time)
    return min(one.number, two.number) < event.number < max(one.number, two.number)


def after_window(window: t.EventWindow, event: Occurrence, start: Occurrence) -> bool:
    """Futr: later than the start, and its time at most x after it."""
    return start.number < event.number and event.time <= start.time + (window.far or 0)


# --- constraints and candidates -------------------------------------------------------------------------


def with_parameters(part: t.Predicate | t.Aggregate, selected: Selected, own: Attributes) -> Selected:
    """Return the selection with the parameters that a predicate binds for an event or fact (thesis, 3.3.2)."""
    for each in part.assignments:
        parameter = value(each.value, selected, own)
        selected = replace(selected, parameters={**selected.parameters, each.name: parameter})
    return selected


def accept(predicate: PlacedPredicate, selected: Selected, own: Attributes) -> Selected | None:
    """Return the selection with the predicate's parameters for an event or fact; None if a constraint does not hold.

    Pred_1 and ... and Pred_m (thesis, 2.3.3), after the assignments; a constraint that is null does not hold.
    """
    selected = with_parameters(predicate.part, selected, own)
    return selected if all(value(each, selected, own) is True for each in predicate.part.constraints) else None


def with_event(predicate: PlacedPredicate, selected: Selected, event: Occurrence) -> Selected | None:
    """Return the selection extended by an event; None if the event does not satisfy the predicate's constraints."""
    assert isinstance(predicate.part, t.Predicate)
    own, name = predicate.attributes(event.values), predicate.part.name
    held = accept(predicate, selected, own)
    return held and replace(
        held,
        events=(*held.events, event),
        indices=(*held.indices, predicate.index),
        values={**held.values, name: own},
        named={**held.named, name: event},
    )


def with_fact(predicate: PlacedPredicate, selected: Selected, row: int) -> Selected | None:
    """Return the selection extended by a fact; None if the fact does not satisfy the predicate's constraints."""
    assert isinstance(predicate.part, t.Predicate)
    own = predicate.attributes(predicate.past.facts[predicate.part.type][row])
    held = accept(predicate, selected, own)
    return held and replace(held, facts=(*held.facts, row), values={**held.values, predicate.part.name: own})


def events_in_range(predicate: PlacedPredicate, selected: Selected) -> list[Occurrence]:
    """Return the events l with Occurs(type, l) in the window, in their order."""
    window, compat = predicate.part.window, predicate.past.compat
    return [
        event
        for event in predicate.past.history
        if event.type == predicate.part.type and in_window(window, event, selected, compat)
    ]


def candidates(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """Return the selection extended by each candidate: a fact, or an event in range, not in the match, not consumed.

    Source: thesis, 2.4.5: a consumed event is skipped, by `first` and `last` too. Facts: 3.3.2, ThereIs.
    """
    if predicate.past.rules.declarations[predicate.part.type].fact:
        grown = [with_fact(predicate, selected, row) for row in order_facts(predicate)]
    else:
        grown = [
            with_event(predicate, selected, event)
            for event in events_in_range(predicate, selected)
            if event not in selected.events and not predicate.past.is_consumed(predicate.rule, predicate.index, event)
        ]
    return [each for each in grown if each is not None]


def order_facts(predicate: PlacedPredicate) -> list[int]:
    """Return the indices of fact rows in the stated order, ties by index; nulls come before all values.

    Source: thesis, 3.3.2 (order by, lexicographically; ties by label).
    """
    rows = predicate.past.facts.get(predicate.part.type, ())
    positions = predicate.past.rules.declarations[predicate.part.type].positions
    indices = list(range(len(rows)))
    for by in reversed(predicate.part.ordering):  # the first one has the highest priority
        indices.sort(key=lambda row: sort_key(rows[row][positions[by.name]]), reverse=by.descending)
    return indices


# --- operators: extend a selection by one predicate -----------------------------------------------------


def take_of(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """`each`: Occurs(CE, lab(r, {l0, l1})) for every l1 in the window; `first` and `last`: for the one at that end.

    Source: thesis, 2.3.3 (`first`: no other candidate l2 precedes l1; `last`: none follows it); for facts 3.3.2.
    """
    return candidates(predicate, selected)[predicate.part.policy.takes]


def none_of(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """`not`: there is no l1 in the window, whether or not it is in the match or consumed.

    Source: thesis, 2.3.3; for facts 3.3.2. Parameters bound in it are visible only there.
    """
    return [] if satisfying(predicate, selected) else [selected]


def await_absence(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """`absent`: not yet decided; the predicate and the current selection are stored until the deadline."""
    return [replace(selected, absent=(predicate, selected))]


def aggregate_of(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """`$y = AGGR(...)`: the parameter is AGGR(S), where S are the events in the window that satisfy the constraints.

    Source: thesis, 2.3.3; for facts 3.3.2. Consumed events count, too.
    """
    part = predicate.part
    assert isinstance(part, t.Aggregate)
    # An event or fact is counted whatever its attributes are; of an attribute only non-null values are.
    values = [own[part.attribute] if part.attribute else True for own in satisfying(predicate, selected)]
    domain = predicate.past.rules.declarations[part.type].domains.get(part.attribute or "")
    aggregate = aggregate_row(part).over(values, domain)
    return [replace(selected, parameters={**selected.parameters, part.parameter: aggregate})]


def satisfying(predicate: PlacedPredicate, selected: Selected) -> list[Attributes]:
    """Return the attributes of all events in range, or of all facts, that satisfy the constraints."""
    if predicate.past.rules.declarations[predicate.part.type].fact:
        rows = predicate.past.facts.get(predicate.part.type, ())
    else:
        rows = [event.values for event in events_in_range(predicate, selected)]
    return [own for own in map(predicate.attributes, rows) if accept(predicate, selected, own) is not None]


FORMULAS: dict[t.Policy, Callable[[PlacedPredicate, Selected], list[Selected]]] = {
    **{policy: take_of for policy in t.Policy if policy.selects},
    t.Policy.NOT: none_of,
    t.Policy.ABSENT: await_absence,
    t.Policy.AGGREGATE: aggregate_of,
}
"""The formula for each policy except the trigger's, which is part of the rule."""


def grow(predicate: PlacedPredicate, selected: Selected) -> list[Selected]:
    """Return the selection extended by a part, by its formula: a list of selections."""
    return FORMULAS[predicate.part.policy](predicate, selected)


def selections(past: Happened, number: int, rule: t.Rule, trigger: Occurrence) -> list[Selected]:
    """Return all lists s of events and facts to which a rule applies when its trigger is processed, in their order.

    Occurs(CE, lab(r, s)) only if Occurs(SE, l0) for the trigger l0 in s (thesis, 2.3.3); predicate by predicate, each
    for the selections before it.
    """
    start = with_event(PlacedPredicate(past, rule.trigger, number, 0), Selected(), trigger)
    matches = [] if start is None else [start]
    for index, part in enumerate(rule.predicates, 1):
        predicate = PlacedPredicate(past, part, number, index)
        matches = [grown for selected in matches for grown in grow(predicate, selected)]
    return matches
