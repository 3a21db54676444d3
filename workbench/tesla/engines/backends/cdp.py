"""The engine `cdp`."""

from __future__ import annotations

from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.engines.table import RuleEngineRow
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet


def _make(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.tesla.engines.cdp.matcher import CDPMatcher
    from workbench.tesla.engines.publisher import Publisher

    return Publisher("cdp", rules, facts, settings, CDPMatcher)


ROW = RuleEngineRow("cdp", "columns of events, looked at when a trigger comes (algorithm 2)", _make, rank=0)
