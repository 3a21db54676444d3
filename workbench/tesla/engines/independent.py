"""Rules whose triggers can be matched in any order, as on a GPU: what one match does makes no difference to another."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.set_plan import SetPlan


def find_dependences(plan: SetPlan) -> Mapping[str, str]:
    """Find why triggers of rules depend on each other: by the names of the rules that do."""
    found = {}
    for each in plan.plans:
        reason = _feeding(plan, each) or _dependence(each)
        if reason:
            found[each.rule.name] = reason
    return found


def _feeding(plan: SetPlan, of: RulePlan) -> str:
    """Which rule looks at what a rule emits."""
    reader = next((each for each in plan.rules.rules if of.rule.emits in each.types), None)
    return f"'{reader.name}' looks at what it emits" if reader is not None else ""


def _dependence(plan: RulePlan) -> str:
    """Why the matches of a rule depend on those of other triggers."""
    parts = [step.part for step in plan.steps]
    reasons = {
        "it consumes events": bool(plan.consumed_slots),
        "it emits something at most once in a time": plan.pause is not None,
        "'absent' waits for a clock": plan.absent is not None,
        "it counts events in a window, composites among them":
            any(step.window is not None and step.window.counted for step in plan.steps),
        "a declared aggregate needs a row of its own":
            any(isinstance(part, t.Aggregate) and part.declared is not None for part in parts),
    }  # fmt: skip
    return next((reason for reason, holds in reasons.items() if holds), "")
