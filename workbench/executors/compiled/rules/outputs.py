"""Composites out of the words that a rule program has written: as single events, or as a block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from workbench.core.domain import BOOL, FLOAT, STR, Domain
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published, RunColumns, run_rows
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Occurrence


def composites(made: Published, program: RuleProgram, texts: Mapping[int, str]) -> list[Occurrence]:
    """What has been published, in this order."""
    if not len(made.offsets):
        return []
    rules, declarations = program.plan.rules.rules, program.plan.rules.declarations
    numbers, reals = made.words.tolist(), made.words.view(np.float64)
    found = []
    for o in made.offsets.tolist():
        number = numbers[o + at.RULE]
        rule, size = rules[number], int(program.R[number, at.SIZE])
        domains = list(declarations[rule.emits].domains.values())
        behind, columns = at.RECORD + len(domains), program.runs.get(number) if made.runs else None
        if columns is None:
            rows: Iterable[tuple[list[int], Any]] = [(numbers[o : o + size], reals[o : o + size])]
        else:
            rows = run_rows(numbers, reals, o, size, columns)
        for row, real in rows:
            values = tuple(
                value_of(domain, row[place], real[place], texts) if not row[at.GAPS] >> i & 1 else None
                for i, (domain, place) in enumerate(zip(domains, range(at.RECORD, behind), strict=True))
            )
            found.append(Occurrence(rule.emits, row[at.WHEN], values, row[at.ID], tuple(row[behind:]), rule.name))
    return found


def value_of(domain: Domain | None, word: int, real: Any, texts: Mapping[int, str]) -> Any:
    """The value of a type that a word says, which is `real` as a float."""
    if domain == FLOAT:
        return float(real)
    return texts[word] if domain == STR else word != 0 if domain == BOOL else word


def composite_block(made: Published, program: RuleProgram, texts: Mapping[int, str], *, sources: bool) -> EventBlock:
    """What has been published, as a block."""
    rules, whole = program.plan.rules, RunColumns(made, program)
    count, kinds = len(whole), program.R[whole.by, at.EMITS]
    types = whole.each(kinds.astype(np.uint16))
    places: Any = np.arange(count)
    columns = list(rules.no_columns)
    for y in np.flatnonzero(np.bincount(kinds)).tolist():
        domains = rules.declarations[rules.events[y]].domains.values()
        chosen = kinds == y
        own = whole if chosen.all() else RunColumns(made, program, chosen)
        if own is not whole:
            places[types == y] = np.arange(len(own))
        gaps = own.at(at.GAPS) if domains else places[:0]
        some = bool(gaps.any())
        columns[y] = tuple(
            AttributeColumn(
                _valued(own.at(at.RECORD + i), domain),
                (gaps >> i & 1).astype(bool) if some and (gaps >> i & 1).any() else None,
            )
            for i, domain in enumerate(domains)
        )
    starts = numbers = None
    if sources:
        starts, numbers = _sources(whole, program)
    return EventBlock(
        rules.events, types, whole.each(whole.words[whole.begins + at.WHEN]), places, tuple(columns), texts,
        whole.numbers(), whole.each(whole.by.astype(np.int32)), rules.rule_names,
        starts, numbers,
    )  # fmt: skip


def _sources(whole: RunColumns, program: RuleProgram) -> tuple[Any, Any]:
    """Where the sources of each composite begin, and the numbers of all of them."""
    begins = at.RECORD + program.R[whole.by, at.GIVEN]
    lengths = program.R[whole.by, at.SIZE] - begins
    most, all_of = int(lengths.max(initial=0)), whole.each(lengths)
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(all_of)])
    rows: Any = np.empty((len(whole), most), np.int64)
    for i in range(most):  # of shorter ones the last is told again, and left out below
        rows[:, i] = whole.at(begins + np.minimum(i, lengths - 1))
    same = int(lengths.min(initial=most)) == most
    return starts, rows.ravel() if same else rows[np.arange(most) < all_of[:, None]]


def _valued(words: Any, domain: Domain) -> Any:
    """A column of values out of words."""
    return words.view(np.float64) if domain == FLOAT else words != 0 if domain == BOOL else words
