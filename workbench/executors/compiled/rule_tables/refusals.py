"""What the rules kernel does not run, and how that is recognised.

The rule of this module: a construct that is not for the kernel is a row here; what has none is written into tables
without a further question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.errors import Refused
from workbench.executors.compiled.rule_tables.records import GREATEST_WORD, LEAST_WORD, MOST_ATTRIBUTES, StepKind
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.scope import RuleScope

HINT = "--backend compiled or --backend cdp runs it"
AGGREGATES: Mapping[str, Mapping[Domain | None, StepKind]] = {
    "COUNT": dict.fromkeys((INT, FLOAT, STR, BOOL, None), StepKind.COUNT),
    "SUM": {INT: StepKind.SUM, FLOAT: StepKind.SUM_REAL},
    "MIN": {INT: StepKind.MIN, FLOAT: StepKind.MIN_REAL, STR: StepKind.MIN_TEXT},
    "MAX": {INT: StepKind.MAX, FLOAT: StepKind.MAX_REAL, STR: StepKind.MAX_TEXT},
    "AVG": {INT: StepKind.AVG, FLOAT: StepKind.AVG_REAL},
    "MEDIAN": {INT: StepKind.MEDIAN, FLOAT: StepKind.MEDIAN_REAL},
}  # fmt: skip
"""The aggregates that the kernel has, by the types of values; None: of events and facts."""


def refuse_unsupported(plans: list[RulePlan]) -> None:
    """Raise Refused, with the construct and its rule, where rules are not for the kernel."""
    for plan in plans:
        for what, occurs in CONSTRUCTS.items():
            if occurs(plan):
                text = f"backend 'tables' has no {what} yet (rule '{plan.rule.name}')"
                raise Refused(text, where=plan.rule.where, hint=HINT)


def _leaves(plan: RulePlan) -> Iterator[t.Expression]:
    """All expressions of a rule and of the aggregates that it uses, and their parts."""
    for expression in plan.rule.expressions:
        yield from t.within(expression)
    for declared in _declared(plan):
        yield from t.within(declared.start)
        yield from t.within(combined_value(declared)) if declared.combined is not None else ()


def _declared(plan: RulePlan) -> Iterator[t.DeclaredAggregate]:
    for step in plan.steps:
        if isinstance(step.part, t.Aggregate) and step.part.declared is not None:
            yield step.part.declared


def combined_value(declared: t.DeclaredAggregate) -> t.Expression:
    """What a declared aggregate makes of two values, which are its own attributes there."""
    assert declared.combined is not None
    return RuleScope(declared.scope).resolve(declared.combined)


def _has_long_literals(plan: RulePlan) -> bool:
    literals = (leaf.value for leaf in _leaves(plan) if isinstance(leaf, t.Literal))
    return any(isinstance(value, int) and not LEAST_WORD <= value <= GREATEST_WORD for value in literals)


def _calls_python(plan: RulePlan) -> bool:
    parts = (step.part for step in plan.steps if isinstance(step.part, t.Aggregate))
    return any(
        part.function not in AGGREGATES if part.declared is None else part.declared.combined is None for part in parts
    )


CONSTRUCTS: Mapping[str, Callable[[RulePlan], bool]] = {
    "aggregates that are functions of Python": _calls_python,
    "whole numbers of more than 64 bits in expressions": _has_long_literals,
    f"types with more than {MOST_ATTRIBUTES} attributes":
        lambda plan: any(len(plan.declared[name].attributes) > MOST_ATTRIBUTES for name in plan.rule.types),
}  # fmt: skip
"""Constructs of rules by their names, and whether a rule has one."""
