"""Composites out of the words that a rule program has written: as single events, or as a block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from typing import Any

import numpy as np

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published, Run, RunColumns
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Occurrence


def composites(made: Published, program: RuleProgram, texts: Mapping[int, str]) -> list[Occurrence]:
    """What has been published, in this order."""
    if not len(made.offsets):
        return []
    rules, declarations = program.plan.rules.rules, program.plan.rules.declarations
    numbers, reals = made.words.tolist(), made.words.view(np.float64).tolist()
    found = list[Occurrence]()
    for o in made.offsets.tolist():
        number = numbers[o + at.RULE]
        rule, size = rules[number], int(program.R[number, at.SIZE])
        domains = list(declarations[rule.emits].domains.values())
        behind, columns = at.RECORD + len(domains), program.runs.get(number) if made.runs else None
        if columns is not None:
            run = Run(numbers, reals, o, size, columns)
            parts = _run_values(run, domains, texts), run.numbers(), run.rows(map(run.of, range(behind, size)))
            found += map(Occurrence, repeat(rule.emits), run.of(at.WHEN), *parts, repeat(rule.name))
            continue
        gaps = numbers[o + at.GAPS]
        values = tuple(
            None if gaps >> i & 1 else value_of(domain, numbers[o + at.RECORD + i], reals[o + at.RECORD + i], texts)
            for i, domain in enumerate(domains)
        )
        sources = tuple(numbers[o + behind : o + size])
        found.append(Occurrence(rule.emits, numbers[o + at.WHEN], values, numbers[o + at.ID], sources, rule.name))
    return found


def _run_values(run: Run, domains: Sequence[Domain | None], texts: Mapping[int, str]) -> Iterable[tuple[Any, ...]]:
    """The values of each composite of a run."""
    gaps = list(run.of(at.GAPS))
    columns = []
    for i, domain in enumerate(domains):
        column = run.of(at.RECORD + i, real=domain == FLOAT)
        if domain not in (FLOAT, INT):
            column = [value_of(domain, word, None, texts) for word in column]
        if any(gaps):
            column = [None if gap >> i & 1 else value for gap, value in zip(gaps, column, strict=True)]
        columns.append(column)
    return run.rows(columns)


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
