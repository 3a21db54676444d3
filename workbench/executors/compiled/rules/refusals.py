"""The constructs that the rules kernel does not run, and their detection.

The rule of this module: an unsupported construct is a row here; all others are written into tables without further
checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.errors import Refused
from workbench.executors.compiled.rules.records import GREATEST_WORD, LEAST_WORD, MAX_ATTRIBUTES, StepKind
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.scope import RuleScope

HINT = "--backend cdp runs it"
POLICIES: dict[t.Policy, StepKind] = {
    t.Policy.TRIGGER: StepKind.TRIGGER, t.Policy.EACH: StepKind.EACH, t.Policy.FIRST: StepKind.FIRST,
    t.Policy.LAST: StepKind.LAST, t.Policy.NOT: StepKind.NOT, t.Policy.ABSENT: StepKind.NOT,
}  # fmt: skip
AGGREGATES: Mapping[str, Mapping[Domain | None, StepKind]] = {
    "COUNT": dict.fromkeys((INT, FLOAT, STR, BOOL, None), StepKind.COUNT),
    "SUM": {INT: StepKind.SUM, FLOAT: StepKind.SUM_REAL},
    "MIN": {INT: StepKind.MIN, FLOAT: StepKind.MIN_REAL, STR: StepKind.MIN_TEXT},
    "MAX": {INT: StepKind.MAX, FLOAT: StepKind.MAX_REAL, STR: StepKind.MAX_TEXT},
    "AVG": {INT: StepKind.AVG, FLOAT: StepKind.AVG_REAL},
    "MEDIAN": {INT: StepKind.MEDIAN, FLOAT: StepKind.MEDIAN_REAL},
}  # fmt: skip
"""The aggregates of the kernel, by domain of values; None: of events and facts."""


def refuse_unsupported(plans: list[RulePlan]) -> None:
    """Refuse rules with a construct that the kernel does not support, naming the construct and the rule."""
    for plan in plans:
        for what, find in CONSTRUCTS.items():
            if construct := next(find(plan), None):
                text = f"backend 'compiled' has no {what}: {construct} (rule '{plan.rule.name}')"
                raise Refused(text, where=plan.rule.where, hint=HINT)


def _leaves(plan: RulePlan) -> Iterator[t.Expression]:
    """Yield all expressions of a rule and of the aggregates that it uses, and their parts."""
    for expression in plan.rule.expressions:
        yield from t.within(expression)
    for declared in _list_declared(plan):
        yield from t.within(declared.start)
        yield from t.within(find_combined_value(declared)) if declared.combined is not None else ()


def _list_declared(plan: RulePlan) -> Iterator[t.DeclaredAggregate]:
    for step in plan.steps:
        if step.part.declared is not None:
            yield step.part.declared


def find_combined_value(declared: t.DeclaredAggregate) -> t.Expression:
    """Return the expression by which a declared aggregate combines two values, which are its own attributes there."""
    assert declared.combined is not None
    return RuleScope(declared.scope).resolve(declared.combined)


def _long_literals(plan: RulePlan) -> Iterator[str]:
    literals = (leaf.value for leaf in _leaves(plan) if isinstance(leaf, t.Literal))
    return (str(each) for each in literals if isinstance(each, int) and not LEAST_WORD <= each <= GREATEST_WORD)


def _python_functions(plan: RulePlan) -> Iterator[str]:
    for part in (step.part for step in plan.steps if isinstance(step.part, t.Aggregate)):
        if part.function not in AGGREGATES if part.declared is None else part.declared.combined is None:
            yield part.function


def _other_policies(plan: RulePlan) -> Iterator[str]:
    parts = (step.part for step in plan.steps if isinstance(step.part, t.Predicate))
    return (part.policy.value for part in parts if part.policy not in POLICIES)


def _wide_types(plan: RulePlan) -> Iterator[str]:
    return (name for name in plan.rule.types if len(plan.declared[name].attributes) > MAX_ATTRIBUTES)


CONSTRUCTS: Mapping[str, Callable[[RulePlan], Iterator[str]]] = {
    "aggregates that are functions of Python": _python_functions,
    "policy": _other_policies,
    "whole numbers of more than 64 bits in expressions": _long_literals,
    f"types with more than {MAX_ATTRIBUTES} attributes": _wide_types,
}
"""Unsupported constructs by name, each with the function that finds those of a rule."""
