"""Whether triggers of one rule compete: a later one would have matched what an earlier one has consumed.

A rule competes with itself where it emits something else than it would if it consumed nothing. Source: design of rules
in the model, "do triggers of one rule compete for an event that it consumes".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.settings import Settings
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.droppable import without_it
from workbench.verify.rules.problems import WITH_TIME
from workbench.verify.rules.variants import compared


def competition(
    rules: RuleSet, bounds: RuleBounds | None = None, settings: Settings = WITH_TIME, *, deepen: bool = True
) -> tuple[Finding, ...]:
    """For each rule that consumes whether its triggers compete, with the shortest stream on which they do.

    Parameters
    ----------
    deepen: whether larger models are asked where bounds are met.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    bounds = bounds or RuleBounds()

    def compare(number: int, rule: t.Rule) -> Iterator[Finding]:
        variant = without_it(rules, number, replace(rule, consuming=()))
        what = ", ".join(rule.consuming)
        says = (
            f"triggers compete for {what}: what one consumes another would have selected",
            f"triggers do not compete for {what}: it emits the same if it consumes nothing",
        )
        sets = {"as it is": rules, "consuming nothing": variant}
        yield compared(rule.name, sets, ("compete", "do not compete"), says, bounds, settings, deepen=deepen)

    asked = [(rule.name, partial(compare, number, rule)) for number, rule in enumerate(rules.rules) if rule.consuming]
    return findings_in_turn(asked)
