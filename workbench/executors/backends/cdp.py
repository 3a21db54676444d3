"""The engine `cdp` of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.executors.table import KEY, RULE_SET, BackendRow

if TYPE_CHECKING:
    from workbench.tesla.engines.engine import EngineSettings, RuleEngine
    from workbench.tesla.occurrence import Facts
    from workbench.tesla.rule_set import RuleSet


def _engine(rules: RuleSet, facts: Facts, settings: EngineSettings) -> RuleEngine:
    from workbench.tesla.engines.cdp.matcher import CDPMatcher
    from workbench.tesla.engines.publisher import Publisher

    return Publisher("cdp", rules, facts, settings, CDPMatcher)


ROW = BackendRow(
    "cdp",
    "columns of events, looked at when a trigger comes (algorithm 2 of Cugola and Margara)",
    kinds=(RULE_SET,),
    engine=_engine,
    options=(KEY,),
    rank=3,
)
