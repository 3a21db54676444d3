"""In which order a rule looks for its predicates, for people: as data and as lines of text, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.tesla import tree as t
from workbench.tesla.engines.rule_prefixes import SharedPrefix
from workbench.tesla.engines.rule_sample import RulesSampled
from workbench.tesla.engines.search_order import RuleSearches, SearchGroup
from workbench.tesla.engines.set_plan import SetPlan


def part_head(part: t.Predicate | t.Aggregate) -> str:
    """What a part is called."""
    if isinstance(part, t.Aggregate):
        return f"{part.function} of {part.type}"
    return f"{part.policy.value} {part.name}".strip()


def search_data(
    plan: SetPlan, rule: int, shared: SharedPrefix | None, sample: RulesSampled | None
) -> dict[str, Any] | None:
    """What is looked for in which order; None where no more than one thing is.

    Parameters
    ----------
    sample: what has been seen in the first events of a log.
    """
    searches = RuleSearches(plan, rule)
    if len(searches.of.steps) < 3:
        return None
    groups = [] if shared else [_group_data(searches, each, sample) for each in searches.groups.values()]
    return {"groups": groups, "reason": "" if groups else _as_written(searches, shared)}


def _group_data(searches: RuleSearches, group: SearchGroup, sample: RulesSampled | None) -> dict[str, Any]:
    def named(number: int) -> str:
        return part_head(searches.of.steps[number].part)

    behind = named(searches.loops[group.level - 1]) if group.level else "the trigger"
    found: dict[str, Any] = {
        "behind": behind, "predicates": list(map(named, group.steps)), "orders": len(group.orders),
    }  # fmt: skip
    seen = None if sample is None else sample.orders.get((searches.rule, group.level))
    if seen is None or sample is None:
        return found
    told = [
        {"predicate": named(n), "searched": searched, "candidates": taken / searched, "found": 1 - missed / searched}
        for n, (searched, missed, taken) in seen.searches.items() if searched
    ]  # fmt: skip
    chosen = list(map(named, seen.order))
    return {**found, "chosen": chosen, "sample": {"events": sample.events, "entered": seen.entered, "seen": told}}


def _as_written(searches: RuleSearches, shared: SharedPrefix | None) -> str:
    """Why there is no order to choose."""
    steps = searches.of.steps[1:]
    if shared:
        return "it shares what is first with other rules, for which that is looked for once"
    if any(step.policy.many and not step.fact and not searches.gathered(step) for step in steps):
        return "the limit ends what 'each' looks for, so that this is not looked for before its turn"
    if any(step.fact for step in steps):
        return "facts are asked where they are written, and the rest hangs on them or on each other"
    return "each hangs on what another one finds, or stands behind an 'each' that hangs on one, and may find nothing"


def describe_searches(found: dict[str, Any] | None) -> Iterator[str]:
    """The same in words."""
    if found is None:
        return
    if found["reason"]:
        yield f"  looked for in the order that is written: {found['reason']}"
    for group in found["groups"]:
        how = f"the order of {group['orders']} that takes least" if group["orders"] > 1 else "in this order"
        yield f"  behind {group['behind']} compiled looks for {', '.join(group['predicates'])}: {how}"
        if "sample" not in group:
            continue
        told = "; ".join(
            f"{each['predicate']}: {each['candidates']:,.3g} candidates, something in {100 * each['found']:.3g} %"
            for each in group["sample"]["seen"]
        )
        events, entered = group["sample"]["events"], group["sample"]["entered"]
        yield f"    in {events:,} events {entered:,} times; by what each takes and finds ({told or 'nothing yet'})"
        yield f"    it comes to this order: {', '.join(group['chosen'])}"
