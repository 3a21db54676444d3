"""Questions about rule sets that have an answer rather than a truth value, each shown by a shortest stream of events.

Each module answers one question, from verdicts on models of the rules, and states which parts are proved, within
which bounds; `verify.analysis` lists them.
"""

from workbench.verify.rules.capacities import capacities, effects
from workbench.verify.rules.coverage import covers
from workbench.verify.rules.firing import cascade, fires
from workbench.verify.rules.rule_order import order
from workbench.verify.rules.rule_subject import RuleSubject
from workbench.verify.rules.variants import competition, droppable

__all__ = ["RuleSubject", "capacities", "cascade", "competition", "covers", "droppable", "effects", "fires", "order"]
