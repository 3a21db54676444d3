"""Whether triggers of one rule compete: a later one would have matched what an earlier one has consumed.

A rule competes with itself where it emits something else than it would if it consumed nothing. Source: design of rules
in the model, "do triggers of one rule compete for an event that it consumes".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla import tree as t
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.subject import RuleSubject
from workbench.verify.rules.variants import Variation, with_rule


def competition(subject: RuleSubject) -> tuple[Finding, ...]:
    """For each rule that consumes whether its triggers compete, with the shortest stream on which they do.

    Raises
    ------
    Refused: the rules have no finite model.
    """

    def compare(number: int, rule: t.Rule) -> Iterator[Finding]:
        what = ", ".join(rule.consuming)
        variation = Variation(
            with_rule(subject.rules, number, replace(rule, consuming=())),
            ("as it is", "consuming nothing"),
            ("compete", "do not compete"),
            (
                f"triggers compete for {what}: what one consumes another would have selected",
                f"triggers do not compete for {what}: it emits the same if it consumes nothing",
            ),
        )
        yield variation.compare(subject, rule.name)

    consuming = [(number, rule) for number, rule in enumerate(subject.rules.rules) if rule.consuming]
    return findings_in_turn([(rule.name, partial(compare, number, rule)) for number, rule in consuming])
