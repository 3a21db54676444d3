"""The engine `aip`."""

from __future__ import annotations

from workbench.rules.engines.engine import EngineSettings, RuleEngine
from workbench.rules.engines.table import RuleEngineRow
from workbench.rules.occurrence import Facts
from workbench.rules.rule_set import RuleSet


def _make(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.rules.engines.aip.matcher import AIPMatcher
    from workbench.rules.engines.publisher import Publisher

    return Publisher("aip", rules, facts, settings, AIPMatcher)


ROW = RuleEngineRow("aip", "automata that advance with every event (algorithm 1 of Cugola and Margara)", _make, rank=1)
