"""Steps of a match: what a predicate selects, rejects or aggregates, from a column of events or from facts.

The rule of this module: constraints on an event alone are tested once, when it arrives. The others are tested on the
slice of its key's column that lies in the window, from the end at which the policy begins.

Sources: Cugola and Margara, 4.2, 4.3 and 5.2; Di Pilla's thesis, 4.4 (predicate processors).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from workbench.tesla import tree as t
from workbench.tesla.engines.columns import Placewise
from workbench.tesla.engines.facts import fact_tables
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.occurrence import Facts, sort_facts

ExtendsMatch = Callable[[PartialMatch], Iterable[PartialMatch]]
"""A function from a partial match to its extensions by one predicate, in order."""
Fits = Callable[[PartialMatch, Any], tuple[Any, ...] | None]
"""A test of an event with a partial match, which returns the assigned values, or None if it does not fit."""
FindsCandidates = Callable[[PartialMatch], tuple[Placewise, int, int]]
"""A function from a partial match to a sequence that holds the candidates of a predicate, and a range in it."""


def fact_extension(step: RuleStep, facts: Facts) -> ExtendsMatch:
    """Return a function that extends a partial match by a step on facts."""
    tables = fact_tables(facts)
    table = None if tables is None else tables.table(step.type)
    if tables is None or table is None:
        return extension(step, _find_rows(step, facts.get(step.type, ())), step.fits)
    from workbench.tesla.engines.facts.query import drop_failed, find_in_table

    find, fits, aggregate_of = find_in_table(step, table, tables)
    extend = extension(step, find, fits, aggregate_of=aggregate_of)
    return drop_failed(extend, partial(tables.drop, step.type)) if tables.settings.failure == "drop" else extend


def _find_rows(step: RuleStep, rows: Sequence[Any]) -> FindsCandidates:
    """Return a function that finds the rows with the key of a match, in the order of selection."""
    by_key: dict[Any, list[Any]] = {}
    for row in sort_facts(step.part, step.declared, rows):
        key = step.accepts(row)
        if key is not None:
            by_key.setdefault(key, []).append(row)
    key_of = step.key if step.is_keyed else lambda _: True

    def find(match: PartialMatch) -> tuple[Placewise, int, int]:
        selected = by_key.get(key_of(match), ())
        return selected, 0, len(selected)

    return find


def extension(
    step: RuleStep,
    find: FindsCandidates,
    fits: Fits | None,
    consumed: Any = None,
    rivals: Sequence[int] = (),
    aggregate_of: Callable[[PartialMatch], Any] | None = None,
) -> ExtendsMatch:
    """Return a function that extends a partial match by a step.

    Parameters
    ----------
    fits: the test of candidates; None: there is no test, and nothing is assigned.
    consumed: numbers of events that cannot be selected.
    rivals: slots of the match that may hold an event of this predicate's type.
    aggregate_of: computes the aggregate of a match without visiting candidates, if that is possible.
    """
    if isinstance(step.part, t.Aggregate):
        if aggregate_of is not None:
            return lambda match: ((*match, aggregate_of(match)),)
        return _extend_by_aggregate(step, find, fits)
    if step.policy.forbids:
        return _extend_unless(find, fits)
    by_each = _extend_by_each(fits, find, _make_exclusion(consumed, rivals), newest_first=step.policy.newest)
    if step.policy.many:
        return by_each
    if step.policy.ends:
        return lambda match: islice(by_each(match), 1)
    return lambda match: list(by_each(match))[step.policy.takes]


def _make_exclusion(consumed: Any, rivals: Sequence[int]) -> Callable[[PartialMatch, Any], bool] | None:
    """Return a test whether an event cannot be selected for a match; None if every event can."""
    if consumed is None and not rivals:
        return None
    gone = {} if consumed is None else consumed
    return lambda match, event: event.number in gone or any(match[slot] is event for slot in rivals)


def _extend_by_each(
    fits: Fits | None, find: FindsCandidates, closed: Callable[[PartialMatch, Any], bool] | None, *, newest_first: bool
) -> ExtendsMatch:
    def extend(match: PartialMatch) -> Iterator[PartialMatch]:
        events, low, high = find(match)
        for at in range(high - 1, low - 1, -1) if newest_first else range(low, high):
            event = events[at]
            if closed is not None and closed(match, event):
                continue
            if fits is None:
                yield (*match, event)
            elif (assigned := fits(match, event)) is not None:
                yield (*match, event, *assigned)

    return extend


def _extend_unless(find: FindsCandidates, fits: Fits | None) -> ExtendsMatch:
    def extend(match: PartialMatch) -> Sequence[PartialMatch]:
        events, low, high = find(match)
        if fits is None:
            return () if low < high else (match,)
        return () if any(fits(match, events[at]) is not None for at in range(low, high)) else (match,)

    return extend


def _extend_by_aggregate(step: RuleStep, find: FindsCandidates, fits: Fits | None) -> ExtendsMatch:
    at = step.attribute
    computed = step.aggregate.compute(step.values)

    def extend(match: PartialMatch) -> Sequence[PartialMatch]:
        events, low, high = find(match)
        if fits is None and at is None:
            return ((*match, max(0, high - low)),)
        members: Iterable[Any] = (events[index] for index in range(low, high))
        if fits is not None:
            members = [event for event in members if fits(match, event) is not None]
        if at is None:
            return ((*match, len(list(members))),)
        values = [event[at] for event in members] if step.fact else [event.values[at] for event in members]
        return ((*match, computed([value for value in values if value is not None])),)

    return extend


# --- growth of partial matches, depth first: in order, and in little memory ------------------------------


def grow_sequences(extends: Sequence[ExtendsMatch], start: PartialMatch) -> Iterator[PartialMatch]:
    """Yield all extensions of a partial match through all steps."""
    if not extends:
        yield start
        return
    stack, last = [iter(extends[0](start))], len(extends)
    while stack:
        if len(stack) == last:
            yield from stack.pop()
        elif (partial := next(stack[-1], None)) is None:
            stack.pop()
        else:
            stack.append(iter(extends[len(stack)](partial)))


def count_extensions(extend: ExtendsMatch, counted: Callable[[PartialMatch], object]) -> ExtendsMatch:
    """Wrap an extension so that it reports each partial match to `counted`."""

    def extended(match: PartialMatch) -> Iterator[PartialMatch]:
        for each in extend(match):
            counted(each)
            yield each

    return extended
