"""Indexes of rules by a constant that an attribute of their trigger must equal.

The rule of this module: the plan of the rule set determines which rules have an index, and by which attribute; this
module writes hash tables, in which rules of one hash value are adjacent.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.kernel.index import scatter
from workbench.tesla import tree as t
from workbench.tesla.engines.set_plan import SetPlan, TriggerIndex, index_of
from workbench.tesla.resolved import expand_parameters


def constant_index(plan: SetPlan, rule: int) -> TriggerIndex | None:
    """Return the index by which a rule is found, if it has one.

    There is none by a float, for equal floats may have different words.
    """
    index = plan.index(rule)
    return index if index and index.operator == "==" and not isinstance(index.constant, float) else None


def list_remaining_constraints(plan: SetPlan, rule: int) -> list[t.Expression]:
    """Return the constraints of a rule's trigger, without the one that its index decides."""
    index, constraints = constant_index(plan, rule), plan.plans[rule].trigger.part.constraints
    return [each for each in constraints if index is None or index_of(expand_parameters(each, own=True)) != index]


def find_constants(plan: SetPlan, word: Callable[[Any], int]) -> Mapping[int, tuple[int, int]]:
    """Map each rule that has an index to the attribute of its trigger and the constant, as a word."""
    indexes = ((rule, constant_index(plan, rule)) for rule in range(len(plan.plans)))
    return {rule: (index.attribute, word(index.constant)) for rule, index in indexes if index is not None}


def index_constants(
    tables: records.PlanTables, triggers: Sequence[int], constants: Mapping[int, tuple[int, int]]
) -> records.PlanTables:
    """Add the constant indexes to the tables.

    Parameters
    ----------
    triggers: the trigger type of each rule.
    """
    cells = sorted({(triggers[rule], cell) for rule, (cell, _) in constants.items()})
    indexes, chains, entries = list[tuple[int, ...]](), list[int](), list[tuple[int, ...]]()
    for type_, cell in cells:
        rules = [rule for rule, (at, _) in constants.items() if at == cell and triggers[rule] == type_]
        mask = (1 << len({constants[rule][1] for rule in rules}).bit_length()) - 1
        buckets = {rule: scatter(constants[rule][1]) & mask for rule in rules}  # type: ignore[no-untyped-call]
        rules.sort(key=buckets.__getitem__)
        indexes.append((cell, len(chains), mask))
        starts: Any = np.searchsorted([buckets[rule] for rule in rules], np.arange(mask + 2))
        chains.extend(len(entries) + starts)
        entries += [(constants[rule][1], rule) for rule in rules]
    types = [type_ for type_, _ in cells]
    return tables._replace(
        constant_indexes=records.table(indexes, records.CONSTANT_INDEX),
        constant_chains=np.array(chains or [0], np.int64),
        constants=records.table(entries, records.CONSTANT),
        indexes_of_type=np.searchsorted(types, np.arange(len(tables.rules_of_type))).astype(np.int64),
    )
