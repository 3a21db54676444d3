"""The engine `cdp`."""

from __future__ import annotations

from workbench.rules.engines.engine import EngineSettings, RuleEngine
from workbench.rules.engines.table import RuleEngineRow
from workbench.rules.occurrence import Facts
from workbench.rules.rule_set import RuleSet


def _make(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.rules.engines.cdp.matcher import CDPMatcher
    from workbench.rules.engines.publisher import Publisher

    return Publisher("cdp", rules, facts, settings, CDPMatcher)


ROW = RuleEngineRow("cdp", "columns of events, looked at when a trigger comes (algorithm 2)", _make, rank=0)
