"""How matches of a rule are counted without a look at any: as sums over columns, which grow as events come.

The rule of this module: what an event adds to a sum is known when it comes. The matches of a trigger are a sum of
products over the events of each predicate; the last predicate's sum is done first, and what is left of it are numbers
that the events it hangs on have from the beginning: the sum over the window before them, or two sums since the
beginning whose difference is the sum between two events. So the last sum is a polynomial in numbers of the trigger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from workbench.core.domain import STR
from workbench.core.ops import AND, NOT, OR
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.operators import row_of
from workbench.tesla.rule_set import RuleSet

MOST_TERMS = 64
"""Products in a polynomial; what needs more is looked at match by match."""

SumOf = tuple[int, int, bool]
"""A sum: the predicate over whose events it goes, which of their weights it is of, and whether the event that knows it
is among them, if it can be: what comes between it and another is all but that."""
Weight = tuple[SumOf, ...]
"""What an event counts in a sum: the product of sums that it knows."""


@dataclass
class CountedStep:
    """A predicate in the sums.

    Attributes
    ----------
    filters: what an event is asked, as expressions of its own.
    keys: its attributes that are equal to something.
    window: the least and greatest age of events that are counted, None for no end; None: all since the beginning.
    reach: how long before a trigger there are events at most that know its sums; None: nothing bounds it.
    probes: of each predicate whose sums an event of this one knows, its attributes that are equal to the keys there.
    weights: those of its events, each a sum.
    """

    step: RuleStep
    filters: list[t.Expression]
    keys: list[str] = field(default_factory=list)
    window: tuple[int, int | None] | None = None
    reach: int | None = None
    probes: dict[int, list[str]] = field(default_factory=dict)
    weights: list[Weight] = field(default_factory=list)


@dataclass(frozen=True)
class MatchCount:
    """How the matches of a rule are counted.

    Attributes
    ----------
    name: of the rule.
    steps: the trigger and the other predicates, in their order.
    terms: products of sums that the trigger knows, and how often each is added.
    """

    name: str
    steps: list[CountedStep]
    terms: Mapping[Weight, int]


class _Uncounted(Exception):
    """Why matches are not counted so."""


def match_count(plan: RulePlan, rules: RuleSet) -> MatchCount | str:
    """How the matches of a rule are counted, or why they have to be looked at."""
    try:
        return _Counting(plan, rules).count()
    except _Uncounted as reason:
        return str(reason)


class _Counting:
    """The sums of one rule, as they are found.

    Attributes
    ----------
    order: pairs of predicates: events of the first are earlier than those of the second.
    equal: attributes that equations make equal, by their text.
    """

    def __init__(self, plan: RulePlan, rules: RuleSet) -> None:
        self.plan, self.rules = plan, rules
        self.numbers = {step.part.name: step.number for step in plan.steps if isinstance(step.part, t.Predicate)}
        self.names = {number: name for name, number in self.numbers.items()}
        self.of_slot = {step.slot: step.number for step in plan.steps}
        self.parameters: dict[str, t.Expression] = {}
        self.equal: dict[str, set[t.OtherAttribute]] = {}
        self.order: set[tuple[int, int]] = set()
        self.steps: list[CountedStep] = []

    def count(self) -> MatchCount:
        plan, rule = self.plan, self.plan.rule
        for wrong, why in (
            (plan.absent is not None, "it waits for what must not come"),
            (rule.limit is not None, "it stops at a limit"),
            (plan.pause is not None, "it is silent at times"),
        ):
            if wrong:
                raise _Uncounted(why)
        for step in plan.steps:
            self._step(step)
        for condition in rule.where_clause:
            found = self._resolved(condition, plan.trigger)
            places = {self.numbers[name] for name in _names(found)} or {0}
            if len(places) > 1:
                raise _Uncounted(f"`where {condition}` compares events")
            (place,) = places
            self.steps[place].filters.append(self._own(found, plan.steps[place]))
        return MatchCount(rule.name, self.steps, self._summed())

    # --- predicates -------------------------------------------------------------------------------------

    def _step(self, step: RuleStep) -> None:
        part = step.part
        if isinstance(part, t.Aggregate):
            raise _Uncounted(f"it has an aggregate, {part.function} of {part.type}")
        if step.fact or (step.number and not part.policy.many):
            raise _Uncounted(f"`{part.policy.value} {part.name}` is not `each` of some events")
        if part.type in self.rules.composites:
            raise _Uncounted(f"{part.type} is what a rule emits")
        for each in part.assignments:
            self.parameters[each.name] = self._resolved(each.value, step)
        if step.code.joint:
            raise _Uncounted(f"`{step.code.joint[0]}` compares events, and is no equation")
        made = CountedStep(step, [self._own(self._resolved(each, step), step) for each in step.code.local])
        self.steps.append(made)
        if step.number:
            anchors = self._window(made)
            equations = [
                (self._attribute(own, step), self._attribute(other, step)) for own, other in step.code.equations
            ]
            for mine, bound in equations:
                self._key(made, mine, bound, anchors)
            for mine, bound in equations:
                both = self.equal.get(str(mine), {mine}) | self.equal.get(str(bound), {bound})
                self.equal |= dict.fromkeys(map(str, both), both)

    def _window(self, made: CountedStep) -> list[int]:
        """Where a predicate looks; the predicates that its window hangs on, the later one first."""
        step, window, part = made.step, made.step.window, made.step.part
        assert window is not None
        anchors = [self.of_slot[slot] for slot in window.anchors]
        if window.counted:
            raise _Uncounted("it counts events in the order")
        if window.between:
            anchors = self._later_first(anchors)
            if (anchors[1], anchors[0]) not in self.order:
                raise _Uncounted(f"which event comes first `{part.window}` leaves open")
        else:
            made.window = window.least, window.most
        self.order |= {(step.number, anchors[0]), *((earlier, step.number) for earlier in anchors[1:])}
        while more := {(a, d) for a, b in self.order for c, d in self.order if b == c} - self.order:
            self.order |= more
        for other in self.steps[1:-1]:
            pair = other.step.number, step.number
            if other.step.type == step.type and pair not in self.order and pair[::-1] not in self.order:
                raise _Uncounted(f"an event of {self.names[pair[0]]} must not be that of {self.names[pair[1]]}")
        for anchor in anchors:
            self.steps[anchor].probes[step.number] = []
        reaches = [self.plan.horizons[slot] for slot in window.anchors]
        made.reach = None if None in reaches else max(each or 0 for each in reaches)
        return anchors

    def _later_first(self, steps: list[int]) -> list[int]:
        return sorted(steps, key=lambda each: sum((other, each) in self.order for other in steps), reverse=True)

    def _key(self, made: CountedStep, mine: t.OtherAttribute, bound: t.OtherAttribute, anchors: Iterable[int]) -> None:
        """An equation as a key, which each event knows that the predicate's window hangs on."""
        made.keys.append(mine.name)
        for anchor in anchors:
            among = (bound, *self.equal.get(str(bound), ()))
            known = next((each for each in among if self.numbers[each.of] == anchor), None)
            if known is None:
                raise _Uncounted(
                    f"`{mine} == {bound}` says nothing of {self.names[anchor]}, where the window begins or ends"
                )
            if self._domain(known) != self._domain(mine):
                raise _Uncounted(f"`{mine} == {known}` compares values of two types")
            self.steps[anchor].probes[made.step.number].append(known.name)

    # --- expressions ------------------------------------------------------------------------------------

    def _attribute(self, side: t.Expression, step: RuleStep) -> t.OtherAttribute:
        found = self._resolved(side, step)
        if not isinstance(found, t.OtherAttribute):
            raise _Uncounted(f"`{side}` is more than an attribute")
        return found

    def _domain(self, attribute: t.OtherAttribute) -> object:
        return self.plan.steps[self.numbers[attribute.of]].declared.domains[attribute.name]

    def _resolved(self, expression: t.Expression, step: RuleStep) -> t.Expression:
        """The same of attributes of named events only."""
        if isinstance(expression, t.OwnAttribute):
            return (
                t.OtherAttribute(step.part.name, expression.name) if isinstance(step.part, t.Predicate) else expression
            )
        if isinstance(expression, t.BoundParameter):
            return self.parameters[expression.name]
        if isinstance(expression, t.TimeOf):
            raise _Uncounted(f"`{expression}` is asked")
        if isinstance(expression, t.Operation):
            operands = tuple(self._resolved(each, step) for each in expression.operands)
            texts = expression.operator not in ("==", "!=") and any(self._is_text(each) for each in operands)
            row = row_of(expression)  # nothing else leaves 64 bits, or divides
            if texts or not (row.holds or row in (AND, OR, NOT)):
                raise _Uncounted(f"`{expression}` is {'an order of texts' if texts else 'computed'}")
            return t.Operation(expression.operator, operands)
        return expression

    def _is_text(self, side: t.Expression) -> bool:
        if isinstance(side, t.Literal):
            return isinstance(side.value, str)
        return isinstance(side, t.OtherAttribute) and self._domain(side) == STR

    def _own(self, expression: t.Expression, step: RuleStep) -> t.Expression:
        """The same of attributes of the event itself."""
        if isinstance(expression, t.OtherAttribute):
            return t.OwnAttribute(expression.name)
        if isinstance(expression, t.Operation):
            return t.Operation(expression.operator, tuple(self._own(each, step) for each in expression.operands))
        return expression

    # --- sums -------------------------------------------------------------------------------------------

    def _summed(self) -> Mapping[Weight, int]:
        """The matches of a trigger, as a polynomial in what it knows; predicates are given their weights."""
        terms: dict[tuple[Weight, ...], int] = {((),) * len(self.steps): 1}
        for made in reversed(self.steps[1:]):
            u = made.step.number
            assert made.step.window is not None
            anchors = self._later_first([self.of_slot[slot] for slot in made.step.window.anchors])
            found: dict[tuple[Weight, ...], int] = {}
            for term, times in terms.items():
                if term[u] not in made.weights:
                    made.weights.append(term[u])
                for sign, anchor in zip((1, -1), anchors, strict=False):
                    parts = [() if i == u else part for i, part in enumerate(term)]
                    among = sign < 0 and self.plan.steps[anchor].type == made.step.type
                    sum_of = u, made.weights.index(term[u]), among
                    parts[anchor] = tuple(sorted((*parts[anchor], sum_of)))
                    found[tuple(parts)] = found.get(tuple(parts), 0) + sign * times
            terms = {term: times for term, times in found.items() if times}
            if len(terms) > MOST_TERMS:
                raise _Uncounted(f"it would take {len(terms)} products")
        return {term[0]: times for term, times in terms.items()}


def _names(expression: t.Expression) -> set[str]:
    return {each.of for each in t.within(expression) if isinstance(each, t.OtherAttribute)}
