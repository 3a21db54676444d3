"""Questions about rule sets that have an answer rather than a truth value, each shown by a shortest stream of events.

Each module answers one, from verdicts on models of the rules, and says which of its parts are proved, within which
bounds.
"""

from collections.abc import Callable, Mapping
from typing import Any

from workbench.errors import refuse_unknown
from workbench.tesla.rule_set import RuleSet
from workbench.verify.rules.capacities import capacities
from workbench.verify.rules.cascade import cascade
from workbench.verify.rules.competition import competition
from workbench.verify.rules.covers import covers
from workbench.verify.rules.droppable import droppable
from workbench.verify.rules.effects import effects
from workbench.verify.rules.finding import RuleFinding
from workbench.verify.rules.fires import fires
from workbench.verify.rules.rule_order import order

QUESTIONS: Mapping[str, Callable[..., tuple[RuleFinding, ...]]] = {
    "fires": fires,
    "covers": covers,
    "droppable": droppable,
    "competition": competition,
    "order": order,
    "cascade": cascade,
    "capacity": capacities,
    "effects": effects,
}
"""What can be asked, in the order in which it is told."""


def answers(rules: RuleSet, question: str, **options: Any) -> tuple[RuleFinding, ...]:
    """The answers to a question about rules, one of `QUESTIONS`."""
    refuse_unknown("question about rules", question, QUESTIONS)
    return QUESTIONS[question](rules, **options)


__all__ = [
    "QUESTIONS", "answers", "capacities", "cascade", "competition", "covers", "droppable", "effects", "fires", "order",
]  # fmt: skip
