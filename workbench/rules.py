"""Rules for complex events: `wb.rules.load_rules("fire.tesla")`, which `wb.run` runs and `wb.check` checks."""

from __future__ import annotations

TYPE_CHECKING = False
"""The flag of `typing`, whose import takes a while."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.tesla.check import load_rules as load_rules, parse_rules as parse_rules
    from workbench.tesla.model.build import RuleBounds as RuleBounds
    from workbench.tesla.running_rules import RunningRules as RunningRules
    from workbench.tesla.rule_explanation import RuleExplanation as RuleExplanation
    from workbench.tesla.rule_set import RuleSet as RuleSet
# fmt: on
# isort: on

if not TYPE_CHECKING:  # type checkers would take any name for one of ours
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
