"""The plan of a rule set, for people: as text, as data, and as a picture.

The rule of this module: it only shows the plan and its reasons. In pictures columns are on the left,
rules on the right, and an arrow leads from a column to each predicate that searches it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.core.readable import plural
from workbench.core.units import format_time
from workbench.errors import Refused
from workbench.executors.compiled.rules.search_order import search_order
from workbench.extensions import later
from workbench.show.dot import FAINT, digraph, quote
from workbench.show.rule_graph import LAYOUT, as_table
from workbench.tesla import tree as t
from workbench.tesla.engines.matches import MatchedRules
from workbench.tesla.engines.rule_sample import RulesSampled
from workbench.tesla.engines.rule_split import rule_split
from workbench.tesla.engines.set_plan import PlannedColumn, PlannedStep, SetPlan, find_dependences
from workbench.tesla.rule_set import RuleSet

banded_attribute = later("workbench.executors.compiled.rules.range_constraints", "find_banded_attribute")
refuse_unsupported = later("workbench.executors.compiled.rules.refusals", "refuse_unsupported")
"""Imported on first use because they need numpy, which pictures do not."""

MAX_LISTED = 8
"""Maximum number of predicates that are listed with a column; for more, their number is shown."""


def plan_data(plan: SetPlan, written: RuleSet, *, timed: bool, sample: RulesSampled | None = None) -> dict[str, Any]:
    """Return the plan as data.

    Parameters
    ----------
    written: the rules with the windows as written.
    timed: whether windows are in microseconds; else they are in the unit of the log.
    sample: the candidates that predicates have found in the first events of a log.
    """
    return {
        "rules": plan.rules.name,
        "columns": [
            {
                "number": each.number, "type": each.type, "filters": list(map(str, each.filters)),
                "keys": list(map(str, each.keys)), "ordered_by": list(map(str, each.ordering)), "facts": each.fact,
                "banded_by": banded_attribute(plan, each), "reach": _describe_retention(each, timed),
                "used_by": _users(plan, each),
            }
            for each in plan.columns
        ],
        "triggers": {type: list(_indexes(plan, type)) for type in plan.triggered},
        "steps": [
            {"rule": of.rule.name, "trigger": str(of.trigger.part), "where": _conditions(plan, number, 0),
             "searched": _list_searched(plan, number), "steps": [
                {"predicate": str(part), "column": each.column, "access": each.access,
                 "reason": each.reason,
                 "asked": list(map(str, each.constraints)), **_sample_data(sample, number, each),
                 "where": _conditions(plan, number, each.step.number)}
                for part, each in zip(_all_parts(rule), _all_steps(plan, number), strict=True)
            ]}
            for number, (of, rule, absent) in enumerate(zip(plan.plans, written.rules, plan.absent, strict=True))
        ],
        "engine": _engine(plan),
        "threads": _threads(plan, timed),
        "matches": _matches(plan),
        "gpu": _devices(plan),
    }  # fmt: skip


def plan_text(plan: SetPlan, written: RuleSet, *, timed: bool, sample: RulesSampled | None = None) -> str:
    """Return the plan as lines of text."""
    data = plan_data(plan, written, timed=timed, sample=sample)
    lines = ["columns"]
    for column, each in zip(plan.columns, data["columns"], strict=True):
        banded = f" in bands of {each['banded_by']}" * bool(each["banded_by"])
        lines.append(f"  {column.number}: {column}{banded}, {each['reach']}; for {_some(each['used_by'])}")
    lines.append("triggers")
    lines += [f"  {type}: {'; '.join(indexes)}" for type, indexes in data["triggers"].items()]
    engine = data["engine"]
    lines += ["engine", f"  {engine['name']}" + f" ({engine['reason']})" * bool(engine["reason"])]
    lines += ["threads", *(f"  {line}" for line in _split_lines(data["threads"]))]
    for each, search, gpu in zip(data["steps"], data["matches"], data["gpu"], strict=True):
        lines += [f"rule {each['rule']}", f"  from {each['trigger']}", *_where(each)]
        for step in each["steps"]:
            lines += [f"  {step['predicate']}", f"    column {step['column']}: {step['access']} ({step['reason']})"]
            lines += _describe_sample(step)
            lines += _where(step)
        searched = ", ".join(each["searched"])
        lines += [f"  order in which compiled searches: {searched}"] if searched else []
        lines.append(f"  matches {search['found']}" + (f": {search['reason']}" if search["reason"] else ""))
        lines.append(f"  on a GPU: {gpu['text']}")
    return "\n".join(lines) + "\n"


def _sample_data(sample: RulesSampled | None, rule: int, planned: PlannedStep) -> dict[str, Any]:
    """Return the sample of a predicate; empty if it was not sampled."""
    step = None if sample is None else sample.rules[rule].steps.get(planned.step.number)
    if sample is None or step is None or planned.step.policy.later:
        return {}
    pairs = zip(step.constraints, step.passed, strict=True)
    return {"sample": {
        "events": sample.events, "begun": sample.rules[rule].begun, "asked": step.evaluated, "looked": step.looked,
        "candidates": step.candidates, "fitting": step.fitting, "found": step.matched,
        "passed": [{"constraint": constraint, "candidates": count} for constraint, count in pairs],
    }}  # fmt: skip


def _describe_sample(step: dict[str, Any]) -> Iterator[str]:
    """Describe the sample of a predicate, and the order in which constraints are checked."""
    if "sample" not in step:
        return
    sample = step["sample"]
    summary = f"searched for {sample['asked']:,} partial matches, found {sample['found']:,}"
    yield f"    in {sample['events']:,} events {summary}"
    if sample["candidates"]:
        note = "; ".join(f"{each['constraint']}: {_part(each['candidates'], sample)}" for each in sample["passed"])
        each = sample["candidates"] / sample["looked"]
        yield f"    {each:,.1f} candidates each, fitting {_part(sample['fitting'], sample)}" + f" ({note})" * bool(note)
    if len(step["asked"]) > 1:
        yield f"    constraints in the order of their evaluation, the cheapest first: {'; '.join(step['asked'])}"


def _part(count: int, sample: dict[str, Any]) -> str:
    return f"{100 * count / sample['candidates']:.3g} %"


def _list_searched(plan: SetPlan, rule: int) -> list[str]:
    """Return the predicates of a rule in the order in which they are searched; empty if that is the written one."""
    steps = [each.step for each in search_order(plan, rule)[1:] if each.searches]
    return [] if steps == plan.plans[rule].steps[1:] else [part_head(step.part) for step in steps]


def _some(names: list[str]) -> str:
    return ", ".join(names[:MAX_LISTED]) + (f" and {len(names) - MAX_LISTED} more" * (len(names) > MAX_LISTED))


TOGETHER = "a thread for each trigger"
WALKED, MADE = "are searched one by one", "are derived from composites"
"""The ways of finding matches if no composite is needed (`workbench run --matches`)."""


def _matches(plan: SetPlan) -> list[dict[str, str]]:
    """Return the way in which matches of each rule are found, and the reason."""
    return [
        {"rule": rule.name, "found": MADE if reason else WALKED, "reason": reason}
        for rule, reason in zip(plan.rules.rules, MatchedRules(plan.rules).reasons, strict=True)
    ]


def _devices(plan: SetPlan) -> list[dict[str, str]]:
    """Return the way in which a GPU runs each rule, or the reason why it does not."""
    dependences = find_dependences(plan)
    return [
        {
            "rule": rule.name,
            "text": f"refused, since {dependences[rule.name]}" if rule.name in dependences else TOGETHER,
        }
        for rule in plan.rules.rules
    ]


def _engine(plan: SetPlan) -> dict[str, str]:
    """Return the engine that runs the rules on many events, and the reason if it is not the fastest."""
    try:
        refuse_unsupported(plan.plans)
    except Refused as error:
        return {"name": "cdp", "reason": "; ".join(filter(None, [error.what, str(error.where or "")]))}
    return {"name": "compiled", "reason": ""}


def _threads(plan: SetPlan, timed: bool) -> dict[str, Any]:
    """Return the ways to divide the work among threads."""
    split = rule_split(plan.rules)
    names = [[plan.rules.rules[rule].name for rule in group] for group in split.groups]
    time = {"fed": split.time.fed, "reason": split.time.reason}
    time |= {} if split.time.reason else {"reach": _span(split.time.lookback, timed)}
    return {"groups": names, "keys": dict(split.keys), "reason": split.in_turn, "time": time}


def _split_lines(split: dict[str, Any]) -> Iterator[str]:
    if split["reason"]:
        yield f"one: {split['reason']}"
    if len(groups := split["groups"]) > 1:
        group_names = " | ".join(
            ", ".join(group[:MAX_LISTED]) + ", ..." * (len(group) > MAX_LISTED) for group in groups[:8]
        )
        yield f"{len(groups)} groups of rules do not feed each other: {group_names}{' | ...' * (len(groups) > 8)}"
    if split["keys"]:
        yield f"events can be partitioned by {', '.join(f'{type}.{key}' for type, key in split['keys'].items())}"
    time = split["time"]
    if time["reason"]:
        yield from () if split["reason"] else (f"time cannot be cut: {time['reason']}",)
    else:
        again = "processed" if time["fed"] else "put into columns"
        yield f"time can be cut: the events of the {time['reach']} before a time slice are {again} for it again"


def draw_plan(plan: SetPlan) -> str:
    """Return the plan as DOT text."""
    lines = [f"    c{each.number} [label=<{_column_table(each)}>];" for each in plan.columns]
    for number, of in enumerate(plan.plans):
        lines.append(f'    subgraph cluster_{number} {{ label="{quote(of.rule.name)}"; color="{FAINT}";')
        steps = [of.trigger, *(each.step for each in _all_steps(plan, number))]
        lines += [
            f"        s{number}_{i} [label=<{as_table(part_head(each.part), [])}>];" for i, each in enumerate(steps)
        ]
        lines.append("    }")
        for i, each in enumerate(_all_steps(plan, number), 1):
            lines.append(f'    c{each.column} -> s{number}_{i} [label="{quote(each.access.split(",")[0])}"];')
    return digraph(plan.name, lines, LAYOUT.replace("rankdir=RL", "rankdir=LR"), 12)


def _column_table(column: PlannedColumn) -> str:
    more = [f"by {', '.join(map(str, column.keys))}"] if column.keys else []
    return as_table(column.type, [*map(str, column.filters), *more])


def _all_steps(plan: SetPlan, rule: int) -> list[PlannedStep]:
    absent = plan.absent[rule]
    return [*plan.steps[rule], *([absent] if absent else [])]


def part_head(part: t.Predicate | t.Aggregate) -> str:
    """Return the policy and the name of a predicate, or the function and the type of an aggregate."""
    if isinstance(part, t.Aggregate):
        return f"{part.function} of {part.type}"
    return f"{part.policy.value} {part.name}".strip()


def _users(plan: SetPlan, column: PlannedColumn) -> list[str]:
    return [f"{plan.plans[rule].rule.name}: {part_head(step.part)}" for rule, step in column.users]


def _all_parts(rule: t.Rule) -> list[t.Predicate | t.Aggregate]:
    """Return the parts after the trigger, in the order of the steps."""
    return sorted(rule.predicates, key=lambda part: part.policy.later)


def _where(entry: dict[str, Any]) -> list[str]:
    return [f"    where {', '.join(entry['where'])}: evaluated here, as soon as it is known"] if entry["where"] else []


def _conditions(plan: SetPlan, rule: int, step: int) -> list[str]:
    conditions = plan.conditions(rule)
    return [str(each) for each in conditions[step]] if step < len(conditions) else []


def _indexes(plan: SetPlan, type: str) -> Iterator[str]:
    """Describe how the rules that a type triggers are found."""
    groups: dict[str, int] = {}
    for rule in plan.triggered[type]:
        index = plan.index(rule)
        name = plan.rules.declarations[type].attributes[index.attribute].name if index else ""
        how = f"found by {name} {index.operator} a constant" if index else "evaluated each time"
        groups[how] = groups.get(how, 0) + 1
    yield from (f"{plural(count, 'rule')} {how}" for how, count in groups.items())


def _describe_retention(column: PlannedColumn, timed: bool) -> str:
    """Describe how long events are retained."""
    if column.fact:
        return "facts"
    if column.retention is None:
        return "forever"
    if column.latest:
        more = f" and for {_span(column.retention, timed)}" if column.retention else ""
        return f"retained of the latest {column.latest} events{more}"
    return f"retained for {_span(column.retention, timed)}"


def _span(duration: int, timed: bool) -> str:
    """Format a duration."""
    return format_time(duration) if timed else str(duration)
