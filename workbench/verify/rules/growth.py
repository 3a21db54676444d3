"""Streams that make a column, or what one event causes, grow without end: one event of them comes again and again.

Where nothing bounds how often an event comes, the clock may stand still meanwhile. That each further one adds
something is measured on the running engine, up to `ROUNDS` times; that it goes on is concluded where the rule looks at
nothing else that changes.

Source: design of rules in the model: without an assumption on rates columns are unbounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.model.frame import absence
from workbench.tesla.rule_set import RuleSet
from workbench.verify.rules.measured import MeasuredRules, MeasuredStep, ModelInputs

ROUNDS = 4
"""How often an event is repeated."""
StepMeasure = Callable[[MeasuredStep], int]
"""What is to be great, of what was measured at a step."""


class Growth(NamedTuple):
    """A stream, the step of it whose event is repeated, and by how much at least something grows each time.

    Attributes
    ----------
    endless: whether that is proved to go on.
    """

    inputs: ModelInputs
    place: int
    by: int
    endless: bool = True

    @property
    def type(self) -> str:
        """The type of the event that is repeated."""
        (found,) = self.inputs[self.place]
        return found

    def repeated(self, rounds: int = ROUNDS) -> ModelInputs:
        """The stream with so many more of it."""
        return (*self.inputs[: self.place], *[self.inputs[self.place]] * rounds, *self.inputs[self.place :])


def growths(
    measured: MeasuredRules, rules: RuleSet, rule: t.Rule, inputs: ModelInputs, measure: StepMeasure
) -> Iterator[Growth]:
    """The events of a stream on which a rule fires last that make more of it the more often they come."""
    rates = measured.model.frame.rates
    for place, step in enumerate(inputs):
        (name,) = step
        if name not in rules.primitives or name in rates:
            continue
        found = Growth(inputs, place, 0)
        values = list[int]()
        for rounds in range(ROUNDS + 1):
            run = measured.run(found.repeated(rounds))
            if len(run) < len(inputs) + rounds:
                break  # it leaves the values of the model
            values.append(measure(run[-1]))
        by = min((other - one for one, other in pairwise(values)), default=0)
        if by > 0:
            last = place == len(inputs) - 1
            endless = by_triggers(rules, rule, name) if last else by_copies(rules, rule, name)
            yield found._replace(by=by, endless=endless)


def by_triggers(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether a rule makes the same of each further trigger of this type, of one time.

    It does where it looks for nothing that a trigger is or causes, so that it finds what it has found before.
    """
    others = {part.type for part in rule.predicates}
    consumes = set(rule.consuming) - {rule.trigger.name}
    return _plain(rule) and type == rule.trigger.type and not consumes and not others & touched(rules, type)


def by_copies(rules: RuleSet, rule: t.Rule, type: str) -> bool:
    """Whether each further event of this type, beside one that a rule has found, gives it a further match.

    It does where the rule selects each of them, and nothing else in it looks at what they are or cause.
    """
    parts = [part for part in rule.predicates if part.type in touched(rules, type)]
    each = [part for part in parts if isinstance(part, t.Predicate) and part.policy is t.Policy.EACH]
    alone = len(parts) == 1 and len(each) == 1 and each[0].type == type
    return _plain(rule) and rule.limit is None and alone and rule.trigger.type in set(rules.primitives) - {type}


def _plain(rule: t.Rule) -> bool:
    """Whether a rule has no memory of what it has emitted, and no window that counts events."""
    windows = (part.window for part in rule.predicates)
    counted = any(isinstance(window, t.WithinWindow) and window.counted for window in windows)
    return rule.pause is None and absence(rule) is None and not counted


def touched(rules: RuleSet, type: str) -> set[str]:
    """The types of events that one of a type is or causes."""
    found, todo = {type}, [type]
    while todo:
        name = todo.pop()
        fresh = {rule.emits for rule in rules.rules if rule.trigger.type == name} - found
        found |= fresh
        todo += fresh
    return found
