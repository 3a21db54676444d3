"""Composites out of the words that a rule program has written: as single events, or as a block."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from workbench.core.domain import BOOL, FLOAT, STR, Domain
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Occurrence


class Published(NamedTuple):
    """What has been published: the words of composites, and in the order of publication where each of them begins."""

    words: Any
    offsets: Any


def composites(made: Published, program: RuleProgram, texts: Mapping[int, str]) -> list[Occurrence]:
    """What has been published, in this order."""
    if not len(made.offsets):
        return []
    rules, declarations = program.plan.rules.rules, program.plan.rules.declarations
    numbers, reals = made.words.tolist(), made.words.view(np.float64)
    found = []
    for o in made.offsets.tolist():
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


def value_of(domain: Domain | None, word: int, real: Any, texts: Mapping[int, str]) -> Any:
    """The value of a type that a word says, which is `real` as a float."""
    if domain == FLOAT:
        return float(real)
    return texts[word] if domain == STR else word != 0 if domain == BOOL else word


def composite_block(made: Published, program: RuleProgram, texts: Mapping[int, str], *, sources: bool) -> EventBlock:
    """What has been published, as a block."""
    rules, (words, offsets) = program.plan.rules, made
    count, reals = len(offsets), words.view(np.float64)
    by = words[offsets + at.RULE]
    types = program.R[by, at.EMITS]
    places: Any = np.zeros(count, np.int64)
    columns, all_of = [], np.bincount(types, minlength=len(rules.events)).tolist()
    for y, (name, here) in enumerate(zip(rules.events, all_of, strict=True)):
        domains = rules.declarations[name].domains.values()
        if here == 0:  # which most are, where there are many
            columns.append(tuple(map(_nothing, domains)))
            continue
        mine = np.flatnonzero(types == y) if here < count else slice(None)
        places[mine] = np.arange(here)
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
                for i, domain in enumerate(domains)
            )
        )  # fmt: skip
    starts = numbers = None
    if sources:
        begin = at.RECORD + program.R[by, at.GIVEN]
        lengths = program.R[by, at.SIZE] - begin
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        numbers = words[np.repeat(offsets + begin - starts[:-1], lengths) + np.arange(int(starts[-1]))]
    return EventBlock(
        rules.events, types.astype(np.uint16), words[offsets + at.WHEN], places, tuple(columns), texts,
        words[offsets + at.ID], by.astype(np.int32), tuple(rule.name for rule in rules.rules), starts, numbers,
    )  # fmt: skip


@cache
def _nothing(domain: Domain) -> AttributeColumn:
    """A column without rows."""
    kind: Any = np.float64 if domain == FLOAT else np.bool_ if domain == BOOL else np.int64
    return AttributeColumn(np.zeros(0, kind), None)
