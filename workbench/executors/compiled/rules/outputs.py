"""Composites out of the words that a rule program has written: as single events, or as a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.domain import BOOL, FLOAT, STR
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.arrays import RuleArrays
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Occurrence


def composites(memory: RuleArrays, program: RuleProgram, texts: Mapping[int, str]) -> list[Occurrence]:
    """What has been published, in this order."""
    count = int(memory.V[at.PUBLISHED])
    if not count:
        return []
    rules, declarations = program.plan.rules.rules, program.plan.rules.declarations
    words = memory.O[: int(memory.V[at.MADE])]
    numbers, reals = words.tolist(), words.view(np.float64)
    found = []
    for o in memory.B[:count].tolist():
        rule = rules[numbers[o + at.RULE]]
        domains = list(declarations[rule.emits].domains.values())
        behind, end = o + at.RECORD + len(domains), o + int(program.R[numbers[o + at.RULE], at.SIZE])
        values = tuple(
            value_of(domain, numbers[place], reals[place], texts) if not numbers[o + at.GAPS] >> i & 1 else None
            for i, (domain, place) in enumerate(zip(domains, range(o + at.RECORD, behind), strict=True))
        )
        sources = tuple(numbers[behind:end])
        found.append(Occurrence(rule.emits, numbers[o + at.WHEN], values, numbers[o + at.ID], sources, rule.name))
    return found


def value_of(domain: Any, word: int, real: Any, texts: Mapping[int, str]) -> Any:
    """The value of a type that a word says, which is `real` as a float."""
    if domain == FLOAT:
        return float(real)
    return texts[word] if domain == STR else word != 0 if domain == BOOL else word


def composite_block(memory: RuleArrays, program: RuleProgram, texts: Mapping[int, str], *, sources: bool) -> EventBlock:
    """What has been published, as a block."""
    count, rules = int(memory.V[at.PUBLISHED]), program.plan.rules
    offsets = memory.B[:count].copy()
    words, reals = memory.O, memory.O.view(np.float64)
    made = words[offsets + at.RULE]
    types = program.R[made, at.EMITS]
    places: Any = np.zeros(count, np.int64)
    columns = []
    for y, name in enumerate(rules.events):
        mine = np.flatnonzero(types == y)
        places[mine] = np.arange(len(mine))
        begins = offsets[mine]
        gaps = words[begins + at.GAPS]
        some = bool(gaps.any())
        columns.append(
            tuple(
                AttributeColumn(
                    reals[begins + at.RECORD + i] if domain == FLOAT
                    else words[begins + at.RECORD + i] != 0 if domain == BOOL
                    else words[begins + at.RECORD + i],
                    (gaps >> i & 1).astype(bool) if some and (gaps >> i & 1).any() else None,
                )
                for i, domain in enumerate(rules.declarations[name].domains.values())
            )
        )  # fmt: skip
    starts = numbers = None
    if sources:
        begin = at.RECORD + program.R[made, at.GIVEN]
        lengths = program.R[made, at.SIZE] - begin
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        numbers = words[np.repeat(offsets + begin - starts[:-1], lengths) + np.arange(int(starts[-1]))]
    return EventBlock(
        rules.events, types.astype(np.uint16), words[offsets + at.WHEN], places, tuple(columns), texts,
        words[offsets + at.ID], made.astype(np.int32), tuple(rule.name for rule in rules.rules), starts, numbers,
    )  # fmt: skip
