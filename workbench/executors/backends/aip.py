"""The engine `aip` of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.executors.table import KEY, RULE_SET, BackendRow

if TYPE_CHECKING:
    from workbench.tesla.engines.engine import EngineSettings, RuleEngine
    from workbench.tesla.occurrence import Facts
    from workbench.tesla.rule_set import RuleSet


def _engine(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.tesla.engines.aip.matcher import AIPMatcher
    from workbench.tesla.engines.publisher import Publisher

    return Publisher("aip", rules, facts, settings, AIPMatcher)


ROW = BackendRow(
    "aip",
    "automata that advance with every event (algorithm 1 of Cugola and Margara)",
    kinds=(RULE_SET,),
    engine=_engine,
    options=(KEY,),
    rank=4,
)
