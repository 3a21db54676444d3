"""The plan of a rule set: its columns, their users, and the way in which each predicate finds its events.

The rule of this module: a plan is data. It states what the compiled engine does and why, and changes no result: `first`
and `last`, consumption and the order of composites are those of the rules.

Sources: Cugola and Margara, 4.2 and 6 (columns shared by predicates, and their costs); Di Pilla's thesis, 4.4.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from workbench.budget import suspend_collection
from workbench.core.domain import FLOAT, INT, STR
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import effort
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.operators import readings
from workbench.tesla.resolved import expand_parameters, own_comparisons
from workbench.tesla.rule_set import RuleSet

MAX_CHOSEN = 16
"""Maximum number of columns of one type with constant filters: each event is tested for all of them."""
MIN_INDEXED_RULES = 8
"""Minimum number of rules with one trigger type for an index, which is slower for fewer rules."""
CROWDED = (
    "; its constant filter is evaluated there: too many filters of this type to evaluate for each event",
    "; its constants are part of the key: too many filters of this type to evaluate for each event",
)
"""Reasons why a predicate has no column for its filter: with a test of candidates, and without."""


@dataclass
class PlannedColumn:
    """The events or facts of a type that predicates find in the same way.

    Attributes
    ----------
    filters: constraints that are tested on arrival; all events in the column satisfy them.
    keys: expressions of the event by which it is found, newest first; empty: found by time.
    ordering: the order of facts.
    retention: the maximum age of events that are selected; None: unbounded.
    latest: the number of latest events among which those of the type are selected at any age.
    users: the predicates that search it, each with the position of its rule.
    """

    number: int
    type: str
    filters: tuple[t.Expression, ...]
    keys: tuple[t.Expression, ...]
    fact: bool = False
    ordering: tuple[t.OrderedBy, ...] = ()
    retention: int | None = 0
    latest: int = 0
    users: list[tuple[int, RuleStep]] = field(default_factory=list)

    def __str__(self) -> str:
        text = f"{self.type}({', '.join(map(str, self.filters))})" if self.filters else self.type
        text += f" by {', '.join(map(str, self.keys))}" if self.keys else ""
        return text + (f" ordered by {', '.join(map(str, self.ordering))}" if self.ordering else "")


@dataclass(frozen=True)
class PlannedStep:
    """The way in which a predicate or aggregate finds its events.

    Attributes
    ----------
    column: the number of the column that it searches.
    equations: the column's keys, and the expressions that they have to equal.
    filtered: whether events in the column satisfy the predicate's own filter.
    access, reason: how it searches, and the reason.
    """

    step: RuleStep
    column: int
    equations: tuple[tuple[t.Expression, t.Expression], ...]
    filtered: bool
    access: str
    reason: str

    @property
    def constraints(self) -> list[t.Expression]:
        """The constraints to test on candidates; they are strict, so the cheapest comes first."""
        passed = set(map(id, self.step.local)) if self.filtered else set()
        tests = [each for each in self.step.part.constraints if id(each) not in passed]
        return tests if len(tests) < 2 else sorted(tests, key=lambda each: effort(expand_parameters(each, own=True)))


@dataclass(frozen=True)
class TriggerIndex:
    """A constraint of a trigger on an attribute, by which rules are indexed.

    Attributes
    ----------
    attribute: its index.
    operator: `==`, or `>`, `>=`, `<`, `<=` with the attribute on the left.
    """

    attribute: int
    operator: str
    constant: Any


class SetPlan:
    """The plan of a rule set whose windows are whole numbers.

    Parameters
    ----------
    indexed: whether columns have keys; otherwise all events of a window are scanned, as in the paper.

    Attributes
    ----------
    name: the name of the rule set.
    plans: the plan of each rule.
    columns: the columns.
    steps: for each rule the steps after the trigger.
    absent: for each rule the `absent` step, or None.
    """

    @suspend_collection()
    def __init__(self, rules: RuleSet, *, indexed: bool = True) -> None:
        self.rules, self.name, self.indexed = rules, rules.name, indexed
        self.plans = [RulePlan(rule, indexed) for rule in rules.resolved]
        self.columns: list[PlannedColumn] = []
        self._column_by_key: dict[Any, PlannedColumn] = {}
        candidates = {
            (step.type, own_filters(step), tuple(own for own, _ in own_equations(step)))
            for _, step in self._column_steps()
        }
        per_type = Counter(type for type, filters, _ in candidates if filters)
        self._crowded = {type for type, count in per_type.items() if indexed and count > MAX_CHOSEN}
        by_id = {id(step): self._step(rule, step) for rule, step in self._column_steps()}
        self.steps = [[by_id[id(step)] for step in plan.steps[1:]] for plan in self.plans]
        self.absent = [None if plan.absent is None else by_id[id(plan.absent)] for plan in self.plans]

    def _column_steps(self) -> Iterator[tuple[int, RuleStep]]:
        for rule, plan in enumerate(self.plans):
            for step in [*plan.steps[1:], *([plan.absent] if plan.absent else [])]:
                yield rule, step

    # --- columns ----------------------------------------------------------------------------------------

    def _step(self, rule: int, step: RuleStep) -> PlannedStep:
        filters, equations = own_filters(step), own_equations(step)
        ordering = step.part.ordering
        crowded = not step.fact and step.type in self._crowded and bool(filters)
        named = tuple(filter(None, map(constant_equation, filters))) if crowded else ()
        equations = tuple(sorted(equations + named, key=lambda pair: str(pair[0])))
        keys = tuple(own for own, _ in equations)
        column = self._column(step.type, () if crowded or step.fact else filters, keys, step.fact, ordering)
        column.users.append((rule, step))
        lookback, latest = step.lookback.time, step.lookback.count
        if lookback is None and latest is not None:
            lookback, column.latest = 0, max(column.latest, latest)
        column.retention = None if None in (column.retention, lookback) else max(column.retention or 0, lookback or 0)
        filtered = not step.fact and not crowded
        decided = not step.fact and len(named) == (len(filters) if crowded else 0)
        access, reason = self._access(step, column, CROWDED[decided] if crowded else "", decided)
        return PlannedStep(step, column.number, equations, filtered, access, reason)

    def _column(
        self, type: str, filters: tuple[t.Expression, ...], keys: tuple[t.Expression, ...], fact: bool,
        ordering: tuple[t.OrderedBy, ...],
    ) -> PlannedColumn:  # fmt: skip
        name = type, tuple(map(str, filters)), tuple(map(str, keys)), tuple(map(str, ordering))
        if name not in self._column_by_key:
            column = PlannedColumn(len(self.columns), type, filters, keys, fact, ordering)
            self.columns.append(column)
            self._column_by_key[name] = column
        return self._column_by_key[name]

    @staticmethod
    def _access(step: RuleStep, column: PlannedColumn, later: str, decided: bool) -> tuple[str, str]:
        more = " and the other constraints" if step.residual else ""
        alone = decided and not step.residual
        if column.fact:
            keyed = f"the rows whose {_join_keys(column.keys)} is equal" if column.keys else "all rows"
            return f"{keyed}, in their order", "facts do not change" + later
        if column.keys:
            how = f"a chain of events with the same {_join_keys(column.keys)}, newest first"
            end = ", up to the first that fits" if step.policy.newest_first else ", back to the window's end"
            if isinstance(step.part, t.Aggregate) and alone:
                end += ", with combined results of groups where there are many"
            return how + end, f"an equation{more}{later}"
        if isinstance(step.part, t.Aggregate) and step.attribute is None and alone:
            return "only the ends of the window, found by time", "only the window selects"
        if step.policy.newest_first:
            return "the window's events, newest first, up to the first that fits", "no equation" + later
        return "the window's events, found by time", "no equation" + later

    # --- triggers ---------------------------------------------------------------------------------------

    @cached_property
    def triggered(self) -> Mapping[str, list[int]]:
        """The rules that each type triggers, in their order."""
        by_type: dict[str, list[int]] = {}
        for rule, plan in enumerate(self.plans):
            by_type.setdefault(plan.trigger.type, []).append(rule)
        return by_type

    @cached_property
    def _constants(self) -> Mapping[tuple[str, int, str], int]:
        """The number of constants that triggers compare an attribute with, by type, attribute and operator."""
        by_comparison: dict[tuple[str, int, str], set[Any]] = {}
        for plan in self.plans:
            for each in find_indexes(plan.trigger):
                by_comparison.setdefault((plan.trigger.type, each.attribute, each.operator), set()).add(each.constant)
        return {name: len(constants) for name, constants in by_comparison.items()}

    def index(self, rule: int) -> TriggerIndex | None:
        """Return the constraint by which a rule is indexed; None if it is tested for each event of its type.

        Equations are preferred, and among them the attribute that distinguishes most rules.
        """
        step = self.plans[rule].trigger
        if not self.indexed or len(self.triggered[step.type]) < MIN_INDEXED_RULES:
            return None

        def telling(each: TriggerIndex) -> tuple[bool, int]:
            return each.operator == "==", self._constants[step.type, each.attribute, each.operator]

        return max(find_indexes(step), key=telling, default=None)

    # --- filters ----------------------------------------------------------------------------------------

    def conditions(self, rule: int) -> list[list[t.Expression]]:
        """Return the conditions of `where` by the step that completes their names; the last entry for all steps."""
        plan = self.plans[rule]
        by_step: list[list[t.Expression]] = [[] for _ in plan.steps]
        for condition in plan.rule.where_clause:
            by_step[max(plan.binders(condition), default=0)].append(condition)
        return by_step


def needs_of(plan: RulePlan, step: RuleStep) -> frozenset[int]:
    """Return the steps that bind names in a step's constraints, parameters and window."""
    anchors = {plan.numbers[index] for index in plan.rule.anchors[step.place]}
    return plan.binders(*t.expressions_of(step.part)) | anchors


def own_filters(step: RuleStep) -> tuple[t.Expression, ...]:
    """Return the constraints of a predicate that an event alone decides."""
    return tuple(expand_parameters(each, own=True) for each in step.local)


def own_equations(step: RuleStep) -> tuple[tuple[t.Expression, t.Expression], ...]:
    """Return the equations that form a key: pairs of an expression of the event and one of bound values."""
    return tuple((expand_parameters(one, own=True), other) for one, other in step.equations if step.indexed)


def constant_equation(condition: t.Expression) -> tuple[t.Expression, t.Expression] | None:
    """Return an expression of the event and a constant, if the condition requires them to be equal."""
    for sign, own, constant in readings(condition):
        if sign == "==" and _is_constant(constant) and not _is_constant(own):
            return own, constant
    return None


def _is_constant(expression: t.Expression) -> bool:
    return all(isinstance(each, t.Operation | t.Literal) for each in t.within(expression))


def find_indexes(step: RuleStep) -> list[TriggerIndex]:
    """Return the constraints of a trigger that an index can serve."""
    return [index for each in own_filters(step) if (index := index_of(each)) is not None]


def index_of(condition: t.Expression) -> TriggerIndex | None:
    """Return a comparison of an attribute with a constant of its type as an index, if the condition is one."""
    for attribute, operator, constant in own_comparisons(condition):
        if operator != "!=" and isinstance(constant, t.Literal):
            domain, value = attribute.domain, constant.value
            same = (domain == INT and type(value) is int) or (domain == FLOAT and type(value) in (int, float))
            if same or (domain == STR and operator == "=="):
                fitted = float(value) if domain == FLOAT else value
                if fitted == value:
                    return TriggerIndex(attribute.index, operator, fitted)
    return None


def _join_keys(keys: Sequence[t.Expression]) -> str:
    return " and ".join(map(str, keys))


# --- dependences between triggers -----------------------------------------------------------------------


def find_dependences(plan: SetPlan) -> Mapping[str, str]:
    """Find why triggers of rules cannot be matched in any order, as on a GPU: by the names of the rules."""
    reasons = {each.rule.name: next(_dependences(plan.rules, each), "") for each in plan.plans}
    return {name: reason for name, reason in reasons.items() if reason}


def _dependences(rules: RuleSet, plan: RulePlan) -> Iterator[str]:
    """Yield reasons why the matches of a rule depend on those of other triggers."""
    if reader := next((each.name for each in rules.rules if plan.rule.emits in each.types), ""):
        yield f"'{reader}' reads its composites"
    if plan.consumed_slots:
        yield "it consumes events"
    if plan.pause is not None:
        yield "it emits composites at most once in a time"
    if plan.absent is not None:
        yield "'absent' waits for a clock"
    if any(step.window is not None and step.window.counts_events for step in plan.steps):
        yield "it counts events in a window, including composites"
    if any(step.part.declared is not None for step in plan.steps):
        yield "a declared aggregate needs a row of its own"
