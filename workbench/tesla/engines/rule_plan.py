"""A rule as engines run it: where a match has what, what each predicate asks, and how far back its windows reach.

The rule of this module: a partial match is a tuple that grows from the left, one predicate after the other as they are
written: the event or the row that is bound, then what it assigns; of an aggregate its value. It says what is asked
and computed, never how matches are found.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from workbench.core.domain import FLOAT, Domain
from workbench.tesla import tree as t
from workbench.tesla.aggregate import AggregateRow
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.engines.expressions import EVENT, PythonLines, as_tuple, combines
from workbench.tesla.lookback import Lookback, lookbacks
from workbench.tesla.operators import readings
from workbench.tesla.resolved import OWN, ResolvedRule, slots

PartialMatch = tuple[Any, ...]


class RuleStep:
    """One predicate or aggregate of a rule.

    Its constraints are of three kinds: what an event of its own decides, which is asked when it arrives; equations
    between a value of its own and one that is bound before, which are a key; and the rest.

    Attributes
    ----------
    part: its names are resolved.
    place: its place among the parts of the rule; the trigger's is 0.
    number: the same without what must not come after the trigger.
    slot: where a partial match has what it binds, its first slot.
    layout: where a partial match has what.
    window: of events; None of the trigger and of facts.
    anchors: the slots of the events on which the window depends.
    lookback: how far before the trigger its events lie; nothing of facts.
    indexed: whether equations are a key; else they are asked like the rest.
    local: constraints that an event of its own decides.
    equations: an expression of its own, and one of what is bound before, which have to be equal.
    joint: the other constraints.
    """

    def __init__(
        self, plan: RulePlan, place: int, number: int, slot: int, anchors: tuple[int, ...], lookback: Lookback
    ) -> None:
        part = plan.rule.parts[place]
        self.part, self.place, self.number, self.slot = part, place, number, slot
        self.window, self.anchors, self.lookback, self.layout = part.window, anchors, lookback, plan.layout
        self.type = part.type
        self.policy = part.policy
        self.declared = plan.declared[part.type]
        self.fact = self.declared.fact
        self.indexed = plan.indexed
        self._own_values: list[t.Assigned] = []
        own = set[str]()
        for each in part.assignments:
            if not _is_foreign(each.value, own):
                self._own_values.append(each)
                own.add(each.name)
        self.local, self.joint = list[t.Expression](), list[t.Expression]()
        self.equations = list[tuple[t.Expression, t.Expression]]()
        for constraint in part.constraints:
            if not _is_foreign(constraint, own):
                self.local.append(constraint)
            elif (pair := _find_equation(constraint, own)) is not None:
                self.equations.append(pair)
            else:
                self.joint.append(constraint)

    @property
    def selects(self) -> bool:
        """Whether it binds an event that came before the trigger."""
        return self.policy.selects and not self.fact

    @property
    def is_keyed(self) -> bool:
        """Whether it has equations that are a key."""
        return self.indexed and bool(self.equations)

    @property
    def linking_constraints(self) -> list[t.Expression]:
        """The constraints that more than the event decides, equations among them."""
        return [*(t.Operation("==", pair) for pair in self.equations), *self.joint]

    @property
    def residual(self) -> list[t.Expression]:
        """The constraints that more than the event and its key decides."""
        return self.joint if self.indexed else self.linking_constraints

    # --- functions --------------------------------------------------------------------------------------

    @cached_property
    def accepts(self) -> Callable[[Any], Any]:
        """Of an event: its key, True without equations; None where it is none that the predicate is about."""
        return self.compile_acceptance(self.equations if self.is_keyed else ())

    def compile_acceptance(self, equations: Iterable[tuple[t.Expression, t.Expression]]) -> Callable[[Any], Any]:
        """The same with a key of these equations."""
        code = PythonLines(self.layout, "e")
        code.assign(self._own_values)
        code.require(self.local)
        code.key(own for own, _ in equations)
        return code.function()

    @cached_property
    def key(self) -> Callable[[Any], Any]:
        """Of a partial match: the key of the events that fit; None where none does."""
        code = PythonLines(self.layout, "m")
        code.key(bound for _, bound in self.equations)
        return code.function()

    @cached_property
    def fits(self) -> Callable[[Any, Any], tuple[Any, ...] | None] | None:
        """Of a partial match and an event of its key: what is assigned, None where it does not fit.

        Itself None where everything fits and nothing is assigned.
        """
        return self.compile_test(self.residual)

    def compile_test(self, constraints: Sequence[t.Expression]) -> Callable[[Any, Any], tuple[Any, ...] | None] | None:
        """The same where these constraints are tested."""
        assignments = self.part.assignments
        if not (constraints or assignments):
            return None
        code = PythonLines(self.layout, "m, e")
        code.assign(assignments)
        code.require(constraints)
        code.lines.append(f"return {as_tuple(f'a_{each.name}' for each in assignments)}")
        return code.function()

    # --- aggregates -------------------------------------------------------------------------------------

    @property
    def attribute(self) -> int | None:
        """The place of the attribute that is aggregated."""
        named = self.part.attribute
        return None if named is None else self.declared.positions[named]

    @property
    def values(self) -> Domain | None:
        """The type of the attribute that is aggregated."""
        named = self.part.attribute
        return None if named is None else self.declared.domains[named]

    @cached_property
    def aggregate(self) -> AggregateRow:
        """The aggregate that it is."""
        assert isinstance(self.part, t.Aggregate)
        return aggregate_row(self.part, combines)


class RulePlan:
    """A rule, ready to be run.

    Attributes
    ----------
    declared: all types of events and facts, by name.
    layout: where a partial match has what is bound.
    steps: the trigger, then the other parts as they are written, without what must not come after it.
    absent: what must not come after the trigger.
    pause, timeout: how long it is silent (None: it never is), and how long it waits for what must not come.
    indexed: whether equations are a key.
    """

    def __init__(self, rule: ResolvedRule, indexed: bool = True) -> None:
        self.rule, self.declared, self.indexed = rule, rule.declarations, indexed
        self.emitted = self.declared[rule.emits]
        self.steps: list[RuleStep] = []
        self.absent: RuleStep | None = None
        self.layout: dict[tuple[int, str], int] = {}
        slot, found = 0, lookbacks(rule)
        for place in range(len(rule.parts)):
            anchors = self._event_slots(rule.anchors[place])
            step = RuleStep(self, place, len(self.steps), slot, anchors, found.get(place, Lookback()))
            if step.policy.later:
                self.absent = step
                continue
            self.steps.append(step)
            slot += self._bind(step)
        self.pause = None if rule.pause is None else int(rule.pause.amount)
        self.timeout = rule.timeout

    def _bind(self, step: RuleStep) -> int:
        """Lay out what a step binds; how many slots that takes."""
        if isinstance(step.part, t.Aggregate):
            bound = [f"${step.part.parameter}"]
        else:
            bound = [EVENT, *(f"${each.name}" for each in step.part.assignments)] if step.policy.binds else []
        self.layout |= {(step.place, name): slot for slot, name in enumerate(bound, step.slot)}
        return len(bound)

    def _event_slots(self, places: Iterable[int]) -> tuple[int, ...]:
        """The slots of the events that the parts at these places bind."""
        return tuple(self.layout[place, EVENT] for place in places)

    @property
    def trigger(self) -> RuleStep:
        """The first part."""
        return self.steps[0]

    @cached_property
    def start(self) -> Callable[[Any], PartialMatch | None]:
        """Of an event: the partial match that it begins."""
        accepts, fits = self.trigger.accepts, self.trigger.fits

        def start(event: Any) -> PartialMatch | None:
            if accepts(event) is None:
                return None
            if fits is None:
                return (event,)
            assigned = fits((), event)
            return None if assigned is None else (event, *assigned)

        return start

    @cached_property
    def where(self) -> Callable[[PartialMatch], Any]:
        """Of a match: None where it does not count."""
        code = PythonLines(self.layout, "m")
        code.require(self.rule.where_clause)
        code.lines.append("return True")
        return code.function()

    @cached_property
    def values(self) -> Callable[[PartialMatch], tuple[Any, ...]]:
        """Of a match: the attributes of what is emitted."""
        code = PythonLines(self.layout, "m")
        given = {each.name: each.value for each in self.rule.evaluations}
        parts = [code.value(given[a.name], as_real=a.domain == FLOAT) for a in self.emitted.attributes]
        code.lines.append(f"return ({''.join(f'{part}, ' for part in parts)})")
        return code.function()

    @cached_property
    def per(self) -> Callable[[PartialMatch], tuple[Any, ...]]:
        """Of a match: the values for which the rule is silent on its own; no number is equal to itself here."""
        code = PythonLines(self.layout, "m")
        parts = [code.value(each) for each in self.rule.per]
        for i, part in enumerate(parts):
            code.lines.append(f"k{i} = {part}")
        names = (f"k{i} if k{i} == k{i} else 'nan', " for i in range(len(parts)))
        code.lines.append(f"return ({''.join(names)})")
        return code.function()

    @cached_property
    def binding(self) -> dict[int, RuleStep]:
        """Slots of events and rows to the predicates that bind them."""
        return {step.slot: step for step in self.steps if step.policy.binds}

    def binders(self, *expressions: t.Expression) -> frozenset[int]:
        """The numbers of the steps that bind what expressions name; not those of their own."""
        places = {slot.place for slot in slots(*expressions)}
        return frozenset(self.numbers[place] for place in places if place in self.numbers)

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """The numbers of the steps, by the places of their parts."""
        return {step.place: step.number for step in self.steps}

    @cached_property
    def event_slots(self) -> tuple[int, ...]:
        """The slots of a match that hold events."""
        return self._event_slots(self.rule.events)

    @cached_property
    def consumed_slots(self) -> tuple[int, ...]:
        """The slots of a match whose events are consumed."""
        return self._event_slots(self.rule.consumed)


def _is_foreign(expression: t.Expression, own: set[str]) -> bool:
    """Whether it takes more than an event of its own to tell its value; `own` are parameters that need no more."""
    return any(leaf.place != OWN or (leaf.is_parameter and leaf.name[1:] not in own) for leaf in slots(expression))


def _find_equation(constraint: t.Expression, own: set[str]) -> tuple[t.Expression, t.Expression] | None:
    """A side that an event of its own tells, and one that it has nothing to do with."""
    for sign, mine, bound in readings(constraint):
        if sign == "==" and all(leaf.place != OWN for leaf in slots(bound)) and not _is_foreign(mine, own):
            return mine, bound
    return None
