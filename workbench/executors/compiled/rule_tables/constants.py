"""Indexes of rules by a constant that an attribute of their trigger is to be equal to.

The rule of this module: which rules have an index, and by which attribute, is said by the plan of the rule set; this
writes hash tables, in which rules of one hash value are a chain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.kernel.index import scatter
from workbench.tesla.engines.set_plan import SetPlan


def find_constants(plan: SetPlan, word: Callable[[Any], int]) -> Mapping[int, tuple[int, int]]:
    """The rules that are found by a constant: the attribute of their trigger, and the constant as a word.

    Floats are not among them, for equal ones may have different words.
    """
    found = {}
    for rule in range(len(plan.plans)):
        index = plan.index(rule)
        if index is not None and index.operator == "==" and not isinstance(index.constant, float):
            found[rule] = index.attribute, word(index.constant)
    return found


def index_constants(
    tables: records.PlanTables, triggers: Sequence[int], constants: Mapping[int, tuple[int, int]]
) -> records.PlanTables:
    """Add the indexes to tables.

    Parameters
    ----------
    triggers: of each rule the type that triggers it.
    """
    cells = sorted({(triggers[rule], cell) for rule, (cell, _) in constants.items()})
    indexes, chains, entries = list[tuple[int, ...]](), list[int](), list[tuple[int, ...]]()
    for type_, cell in cells:
        rules = [rule for rule, (at, _) in constants.items() if at == cell and triggers[rule] == type_]
        begin, mask = len(chains), (1 << len(rules).bit_length()) - 1
        indexes.append((cell, begin, mask))
        chains += [records.NONE] * (mask + 1)
        for rule in rules:
            chain = begin + (scatter(constants[rule][1]) & mask)  # type: ignore[no-untyped-call]
            entries.append((constants[rule][1], rule, chains[chain]))
            chains[chain] = len(entries) - 1
    types = [type_ for type_, _ in cells]
    return tables._replace(
        constant_indexes=records.table(indexes, records.CONSTANT_INDEX),
        constant_chains=np.array([*chains, records.NONE], np.int64),
        constants=records.table(entries, records.CONSTANT),
        indexes_of_type=np.searchsorted(types, np.arange(len(tables.rules_of_type))).astype(np.int64),
    )
