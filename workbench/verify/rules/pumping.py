"""Streams that make a column, or what one event causes, grow without end: an event, or all, comes again and again.

Where nothing bounds how often an event comes, the clock may stand still meanwhile. That each further one adds
something is measured on the running engine, up to `ROUNDS` times; that it goes on is concluded where the rule looks at
nothing else that changes, or finds only what is last.

Source: design of rules in the model: without an assumption on rates columns are unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

from workbench.tesla import tree as t
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.growth import ROUNDS, Growth, InputSteps
from workbench.verify.rules.measurement import MeasuredRules, MeasuredStep

StepMeasure = Callable[[MeasuredStep], int]
"""What is to be great, of what was measured at a step."""


def growths(
    measured: MeasuredRules, rules: RuleSet, rule: t.Rule, inputs: InputSteps, measure: StepMeasure
) -> Iterator[Growth]:
    """The events of a stream on which a rule fires last that make more of it the more often they come, or all of it."""
    free = set(rules.primitives) - set(measured.model.frame.rates)
    whole = [Growth(inputs, 0, 0, length=len(inputs))] if len(inputs) > 1 else []
    for found in (*(Growth(inputs, place, 0) for place in range(len(inputs))), *whole):
        if not free.issuperset(name for step in found.again for name in step):
            continue
        values = list[int]()
        for rounds in range(ROUNDS + 1):
            run = measured.run(repeated := found.repeated(rounds))
            if len(run) < len(repeated):
                break  # a cascade has no end
            values.append(measure(run[-1]))
        by = min((other - one for one, other in pairwise(values)), default=0)
        if by > 0:
            if found.length > 1:
                endless = by_rounds(measured, rules, rule, found)
            elif found.start == len(inputs) - 1:
                endless = by_triggers(rules, rule, found.types)
            else:
                endless = by_copies(rules, rule, found.types)
            yield found._replace(by=by, endless=endless)


def by_triggers(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether a rule makes the same of each further trigger of this type, of one time.

    It does where it looks for nothing that a trigger is or causes, so that it finds what it has found before.
    """
    others = {part.type for part in rule.predicates}
    consumes = set(rule.consuming) - {rule.trigger.name}
    return _plain(rule) and type == rule.trigger.type and not consumes and others.isdisjoint(rules.graph.led_to([type]))


def by_copies(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether each further event of this type, beside one that a rule has found, gives it a further match.

    It does where the rule selects each of them, and nothing else in it looks at what they are or cause.
    """
    parts = [part for part in rule.predicates if part.type in rules.graph.led_to([type])]
    each = [part for part in parts if part.policy.many]
    alone = len(parts) == 1 and len(each) == 1 and each[0].type == type
    return _plain(rule) and rule.limit is None and alone and rule.trigger.type in set(rules.primitives) - {type}


def by_rounds(measured: MeasuredRules, rules: RuleSet, rule: t.Rule, growth: Growth) -> bool:
    """Whether a rule, and those that it depends on, make the same composites in each further round of a whole stream.

    They do where they ask only for the last event of a kind, or whether there is one, no time passes, and as many
    rounds as a rule has predicates, and two, have made the same: what a predicate finds, or does not, in a history with
    so many equal rounds behind each other, it finds, or does not, in one with a round more.
    """
    names = rules.graph.sources([rule.name])
    asked = [each for each in rules.rules if each.name in names]
    column = measured.model.frame.layout.columns.get(rule.emits)
    if measured.model.trex or column is None or column.limit < 0 or not all(_last_only(rules, each) for each in asked):
        return False
    enough = max(len(each.predicates) for each in asked) + 2
    run = measured.run(growth.repeated(enough))
    made = [[(c.rule, c.type, repr(c.values)) for c in step.made if c.rule in names] for step in run]
    rounds = [made[start : start + growth.length] for start in range(0, len(made), growth.length)]
    return all(each == rounds[-1] for each in rounds[-enough:])


def _last_only(rules: RuleSet, rule: t.Rule) -> bool:
    """Whether a rule asks only for last events, or whether there are any, whenever they came."""
    parts = [part for part in rule.predicates if isinstance(part, t.Predicate)]
    kinds = all(part.policy.newest_first for part in parts) and len(parts) == len(rule.predicates)
    events = not any(rules.declarations[part.type].fact for part in parts)
    times = any(isinstance(leaf, t.TimeOf) for each in rule.expressions for leaf in t.within(each))
    return _plain(rule) and kinds and events and not times and not rule.consuming


def _plain(rule: t.Rule) -> bool:
    """Whether a rule has no memory of what it has emitted, and no window that counts events."""
    return rule.pause is None and rule.absence is None and not rule.counts_events
