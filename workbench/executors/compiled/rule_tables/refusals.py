"""What the rules kernel does not run, and how that is recognised.

The rule of this module: a construct that is not for the kernel is a row here; what has none is written into tables
without a further question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.core.domain import INT, STR
from workbench.errors import Refused
from workbench.executors.compiled.rule_tables.records import GREATEST_WORD, LEAST_WORD, MOST_ATTRIBUTES, StepKind
from workbench.tesla import tree as t
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.resolved import domain_of

HINT = "--backend compiled or --backend cdp runs it"
AGGREGATES: Mapping[str, StepKind] = {
    "COUNT": StepKind.COUNT, "SUM": StepKind.SUM, "MIN": StepKind.MIN, "MAX": StepKind.MAX, "AVG": StepKind.AVG,
}  # fmt: skip
"""The aggregates that the kernel has."""


def refuse_unsupported(plans: list[RulePlan], settings: EngineSettings) -> None:
    """Raise Refused, with the construct and its rule, where rules or settings are not for the kernel."""
    for what, wanted in SETTINGS.items():
        if wanted(settings):
            raise Refused(f"backend 'tables' has no {what}", hint=HINT)
    for plan in plans:
        for what, occurs in CONSTRUCTS.items():
            if occurs(plan):
                text = f"backend 'tables' has no {what} yet (rule '{plan.rule.name}')"
                raise Refused(text, where=plan.rule.where, hint=HINT)


def _steps(plan: RulePlan) -> list[RuleStep]:
    return [*plan.steps, *([] if plan.absent is None else [plan.absent])]


def _operations(plan: RulePlan) -> Iterator[t.Operation]:
    for expression in plan.rule.expressions:
        yield from (each for each in t.within(expression) if isinstance(each, t.Operation))


def _orders_or_joins_texts(plan: RulePlan) -> bool:
    operations = (each for each in _operations(plan) if each.operator not in ("==", "!="))
    return any(STR in map(domain_of, each.operands) for each in operations)


def _has_long_literals(plan: RulePlan) -> bool:
    literals = (leaf.value for each in plan.rule.expressions for leaf in t.within(each) if isinstance(leaf, t.Literal))
    return any(isinstance(value, int) and not LEAST_WORD <= value <= GREATEST_WORD for value in literals)


def _has_other_aggregates(plan: RulePlan) -> bool:
    parts = (step.part for step in _steps(plan) if isinstance(step.part, t.Aggregate))
    return any(part.declared is not None or part.function not in AGGREGATES for part in parts)


def _aggregates_other_values(plan: RulePlan) -> bool:
    steps = (step for step in _steps(plan) if isinstance(step.part, t.Aggregate) and step.attribute is not None)
    return any(step.values != INT and not step.aggregate.counts for step in steps)


SETTINGS: Mapping[str, Callable[[EngineSettings], bool]] = {
    "account of what rules cost": lambda settings: settings.profiled,
}
CONSTRUCTS: Mapping[str, Callable[[RulePlan], bool]] = {
    "facts": lambda plan: any(step.fact for step in _steps(plan)),
    "aggregates but COUNT, SUM, MIN, MAX and AVG": _has_other_aggregates,
    "aggregates of floats and texts": _aggregates_other_values,
    "texts that are joined or compared by their order": _orders_or_joins_texts,
    "whole numbers of more than 64 bits in expressions": _has_long_literals,
    f"types with more than {MOST_ATTRIBUTES} attributes":
        lambda plan: any(len(plan.declared[name].attributes) > MOST_ATTRIBUTES for name in plan.rule.types),
}  # fmt: skip
"""Constructs of rules by their names, and whether a rule has one."""
