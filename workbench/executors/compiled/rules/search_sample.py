"""Which orders rules choose on the first events of a log, and by which figures.

The rule of this module: the program itself runs, in Python, and what it has learned is read from its constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from workbench.errors import Refused, WorkbenchError
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.searching import ENTERED, OF_SEARCHES, ORDER_NOW, SEARCH_WORDS, placed_order
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.search_order import RuleSearches, SampledOrder
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet


def sampled_orders(
    rules: RuleSet, facts: Facts, events: Sequence[Occurrence]
) -> Mapping[tuple[int, int], SampledOrder]:
    """Of rules and levels what was seen; nothing of rules that machine code does not have."""
    try:
        engine = CompiledRules(rules, facts, EngineSettings(plain=True))
    except Refused:
        return {}
    program, found = engine.program, dict[tuple[int, int], SampledOrder]()
    if not program.learning:
        return {}
    with suppress(WorkbenchError):  # whoever runs them on the log is told
        for event in events:
            engine.process(event)
    for (rule, level), at in program.learning.items():
        steps, words = RuleSearches(program.plan, rule).groups[level].steps, program.C[at:].tolist()
        seen = [tuple(words[OF_SEARCHES + SEARCH_WORDS * i :][:SEARCH_WORDS]) for i in range(len(steps))]
        order = tuple(steps[place] for place in placed_order(words[ORDER_NOW], len(steps)))
        found[rule, level] = SampledOrder(words[ENTERED], order, dict(zip(steps, seen, strict=True)))
    return found
