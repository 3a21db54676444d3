"""Which rules of a plan run on a device, and why the others do not.

The rule of this module: a rule runs on a device if triggers can be taken together there, for nothing that it looks at
comes of other rules; and if there is code for all it says. The host takes the others, in the same run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.errors import Refused
from workbench.executors.compiled.rules_gpu.kernel_source import KernelSource
from workbench.tesla.engines.set_plan import SetPlan


@dataclass(frozen=True)
class RulePlacement:
    """Where rules run.

    Attributes
    ----------
    sources: of the rules on a device, by their places, the kernels.
    host: of the others, why they are not there.
    columns: of each planned column the number of the one on a device.
    """

    sources: Mapping[int, KernelSource]
    host: Mapping[int, str]
    columns: Mapping[int, int]


def rule_placement(plan: SetPlan) -> RulePlacement:
    """Where the rules of a plan run."""
    columns, sources, host = column_places(plan), dict[int, KernelSource](), dict[int, str]()
    for group in plan.rules.graph.groups:
        for rule in group:
            reason = _fed(plan, group) or _counting(plan)
            try:
                if not reason:
                    sources[rule] = KernelSource(plan, rule, columns)
            except Refused as error:
                reason = error.what
            if reason:
                host[rule] = reason
    return RulePlacement(sources, dict(sorted(host.items())), columns)


def column_places(plan: SetPlan) -> dict[int, int]:
    """Of each planned column the number of the one on a device, where keys make no difference."""
    places: dict[object, int] = {}
    found = {}
    for each in plan.columns:
        name = each.type, tuple(map(str, each.filters)), tuple(map(str, each.ordering))
        found[each.number] = places.setdefault(name, len(places))
    return found


def _fed(plan: SetPlan, group: list[int]) -> str:
    """Why triggers of rules that look at each other's composites cannot be taken together."""
    rules = [plan.rules.rules[rule] for rule in group]
    for rule in rules:
        for other in rules:
            if rule.emits in other.types:
                return f"'{other.name}' looks at what '{rule.name}' emits, so events come one after the other"
    return ""


def _counting(plan: SetPlan) -> str:
    """Whether any rule counts events in windows: then all rules' composites have to be counted together."""
    for rule in plan.rules.rules:
        if any(getattr(part.window, "counted", False) for part in rule.parts):
            return f"'{rule.name}' counts events in a window, those of all rules among them"
    return ""
