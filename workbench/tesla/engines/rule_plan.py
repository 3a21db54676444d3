"""Plans of rules for engines: the layout of matches, the constraints of each predicate, and its lookback.

The rule of this module: a partial match is a tuple that grows to the right, one predicate after the other as they are
written: the bound event or row, then the values that it assigns; for an aggregate its value. A plan determines what is
tested and computed, never how matches are found.
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
    """A predicate or aggregate of a rule.

    Its constraints are of three kinds: those that an event alone decides, which are tested when it arrives; equations
    between a value of the event and one that is already bound, which form a key; and the rest.

    Attributes
    ----------
    part: the predicate or aggregate, with resolved names.
    place: its index among the parts of the rule; the trigger's is 0.
    number: its index among the parts other than `absent`.
    slot: the first slot of what it binds in a partial match.
    layout: the slots of a partial match.
    window: for events; None for the trigger and for facts.
    anchors: the slots of the events on which the window depends.
    lookback: how far before the trigger its events lie; zero for facts.
    indexed: whether equations form a key; otherwise they are tested like the rest.
    local: constraints that an event alone decides.
    equations: pairs of an expression of the event and an expression of bound values, which have to be equal.
    joint: the other constraints.
    """

    def __init__(
        self, plan: RulePlan, index: int, number: int, slot: int, anchors: tuple[int, ...], lookback: Lookback
    ) -> None:
        part = plan.rule.parts[index]
        self.part, self.place, self.number, self.slot = part, index, number, slot
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
        """Whether it has equations that form a key."""
        return self.indexed and bool(self.equations)

    @property
    def linking_constraints(self) -> list[t.Expression]:
        """The constraints that an event alone does not decide, including equations."""
        return [*(t.Operation("==", pair) for pair in self.equations), *self.joint]

    @property
    def residual(self) -> list[t.Expression]:
        """The constraints that an event and its key do not decide."""
        return self.joint if self.indexed else self.linking_constraints

    # --- functions --------------------------------------------------------------------------------------

    @cached_property
    def accepts(self) -> Callable[[Any], Any]:
        """A function from an event to its key, True if there are no equations; None if the event cannot be selected."""
        return self.compile_acceptance(self.equations if self.is_keyed else ())

    def compile_acceptance(self, equations: Iterable[tuple[t.Expression, t.Expression]]) -> Callable[[Any], Any]:
        """Compile the function `accepts` with a key of these equations."""
        code = PythonLines(self.layout, "e")
        code.assign(self._own_values)
        code.require(self.local)
        return code.key_function(own for own, _ in equations)

    @cached_property
    def key(self) -> Callable[[Any], Any]:
        """A function from a partial match to the key of the events that fit; None if no event can fit."""
        return PythonLines(self.layout, "m").key_function(bound for _, bound in self.equations)

    @cached_property
    def fits(self) -> Callable[[Any, Any], tuple[Any, ...] | None] | None:
        """A function from a match and an event with its key to the assigned values, or None if it does not fit.

        The attribute itself is None if everything fits and nothing is assigned.
        """
        return self.compile_test(self.residual)

    def compile_test(self, constraints: Sequence[t.Expression]) -> Callable[[Any, Any], tuple[Any, ...] | None] | None:
        """Compile the function `fits` with these constraints."""
        assignments = self.part.assignments
        if not (constraints or assignments):
            return None
        code = PythonLines(self.layout, "m, e")
        code.assign(assignments)
        code.require(constraints)
        return code.function(as_tuple(f"a_{each.name}" for each in assignments))

    # --- aggregates -------------------------------------------------------------------------------------

    @property
    def attribute(self) -> int | None:
        """The index of the aggregated attribute."""
        named = self.part.attribute
        return None if named is None else self.declared.positions[named]

    @property
    def values(self) -> Domain | None:
        """The type of the aggregated attribute."""
        named = self.part.attribute
        return None if named is None else self.declared.domains[named]

    @cached_property
    def aggregate(self) -> AggregateRow:
        """The row of its aggregate."""
        assert isinstance(self.part, t.Aggregate)
        return aggregate_row(self.part, combines)


class RulePlan:
    """A rule, prepared for engines.

    Attributes
    ----------
    declared: all types of events and facts, by name.
    layout: the slots of a partial match.
    steps: the trigger, then the other parts in their order, except `absent`.
    absent: the `absent` predicate; None if there is none.
    pause, timeout: the time of silence after emission (None: none), and the time from a trigger to the deadline.
    indexed: whether equations form a key.
    """

    def __init__(self, rule: ResolvedRule, indexed: bool = True) -> None:
        self.rule, self.declared, self.indexed = rule, rule.declarations, indexed
        self.emitted = self.declared[rule.emits]
        self.steps: list[RuleStep] = []
        self.absent: RuleStep | None = None
        self.layout: dict[tuple[int, str], int] = {}
        slot, by_part = 0, lookbacks(rule)
        for index in range(len(rule.parts)):
            anchors = self._event_slots(rule.anchors[index])
            step = RuleStep(self, index, len(self.steps), slot, anchors, by_part.get(index, Lookback()))
            if step.policy.later:
                self.absent = step
                continue
            self.steps.append(step)
            slot += self._bind(step)
        self.pause = None if rule.pause is None else int(rule.pause.amount)
        self.timeout = rule.timeout

    def _bind(self, step: RuleStep) -> int:
        """Lay out the slots of a step, and return their number."""
        if isinstance(step.part, t.Aggregate):
            bound = [f"${step.part.parameter}"]
        else:
            bound = [EVENT, *(f"${each.name}" for each in step.part.assignments)] if step.policy.binds else []
        self.layout |= {(step.place, name): slot for slot, name in enumerate(bound, step.slot)}
        return len(bound)

    def _event_slots(self, indices: Iterable[int]) -> tuple[int, ...]:
        """Return the slots of the events bound by the parts with these indices."""
        return tuple(self.layout[index, EVENT] for index in indices)

    @property
    def trigger(self) -> RuleStep:
        """The step of the trigger."""
        return self.steps[0]

    @cached_property
    def start(self) -> Callable[[Any], PartialMatch | None]:
        """A function from an event to the partial match that it starts; None if it does not satisfy the trigger."""
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
        """A function that tests `where` on a match, and returns None if it fails."""
        code = PythonLines(self.layout, "m")
        code.require(self.rule.where_clause)
        return code.function("True")

    @cached_property
    def values(self) -> Callable[[PartialMatch], tuple[Any, ...]]:
        """A function from a match to the attributes of its composite."""
        code = PythonLines(self.layout, "m")
        expressions = {each.name: each.value for each in self.rule.evaluations}
        parts = [code.value(expressions[a.name], as_real=a.domain == FLOAT) for a in self.emitted.attributes]
        return code.function(as_tuple(parts))

    @cached_property
    def per(self) -> Callable[[PartialMatch], tuple[Any, ...]]:
        """A function from a match to the values of `per`, in which NaN equals itself."""
        code = PythonLines(self.layout, "m")
        parts = [code.value(each) for each in self.rule.per]
        for i, part in enumerate(parts):
            code.lines.append(f"k{i} = {part}")
        return code.function(as_tuple(f"k{i} if k{i} == k{i} else 'nan'" for i in range(len(parts))))

    @cached_property
    def binding(self) -> dict[int, RuleStep]:
        """The predicates that bind events or rows, by slot."""
        return {step.slot: step for step in self.steps if step.policy.binds}

    def binders(self, *expressions: t.Expression) -> frozenset[int]:
        """Return the numbers of the steps that bind names in expressions, except own ones."""
        indices = {slot.part for slot in slots(*expressions)}
        return frozenset(self.numbers[index] for index in indices if index in self.numbers)

    @cached_property
    def numbers(self) -> Mapping[int, int]:
        """The numbers of the steps, by the place of their parts."""
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
    """Whether an expression needs more than its own event; `own` are the parameters that do not."""
    return any(leaf.part != OWN or (leaf.is_parameter and leaf.name[1:] not in own) for leaf in slots(expression))


def _find_equation(constraint: t.Expression, own: set[str]) -> tuple[t.Expression, t.Expression] | None:
    """Split an equation into a side that depends only on its own event, and one that is independent of it."""
    for sign, own_side, bound in readings(constraint):
        if sign == "==" and all(leaf.part != OWN for leaf in slots(bound)) and not _is_foreign(own_side, own):
            return own_side, bound
    return None
