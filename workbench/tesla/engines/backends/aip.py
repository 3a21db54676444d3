"""The engine `aip`."""

from __future__ import annotations

from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.engines.table import RuleEngineRow
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet


def _make(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.tesla.engines.aip.matcher import AIPMatcher
    from workbench.tesla.engines.publisher import Publisher

    return Publisher("aip", rules, facts, settings, AIPMatcher)


ROW = RuleEngineRow("aip", "automata that advance with every event (algorithm 1 of Cugola and Margara)", _make, rank=1)
