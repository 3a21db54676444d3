"""Runs of composites, as words: how many they are, what each of them has, and the same one by one.

The rule of this module: what is read here is written by `RunSource`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.program import RuleProgram


class Published(NamedTuple):
    """What has been published: the words of composites, and in the order of publication where each of them begins.

    Attributes
    ----------
    runs: whether the rules that write runs have done so; else these are single ones, too.
    """

    words: Any
    offsets: Any
    runs: bool = False


class RunColumns:
    """The words of composites, by what they mean.

    Parameters
    ----------
    chosen: of which of what has been published.

    Attributes
    ----------
    counts: how many each run is, 1 where it is none; None where all are single ones.
    """

    def __init__(self, made: Published, program: RuleProgram, chosen: Any = slice(None)) -> None:
        self.words, self.begins = made.words, made.offsets[chosen]
        self.by = self.words[self.begins + at.RULE]
        self.counts: Any = None
        if made.runs and (runs := program.R[self.by, at.RUN] != 0).any():
            self._differs, self._columns = program.differs, self.begins + program.R[self.by, at.SIZE]
            self.counts = np.ones(len(self.by), np.int64)
            self.counts[runs] = self.words[self._columns[runs]]
            self._ends = self.counts.cumsum()

    def __len__(self) -> int:
        return len(self.by) if self.counts is None else int(self._ends[-1])

    def each(self, heads: Any) -> Any:
        """What is the same in all of a run, for each of them."""
        return heads if self.counts is None else np.repeat(heads, self.counts)

    def numbers(self) -> Any:
        """Their places in the order."""
        first = self.words[self.begins + at.ID]
        if self.counts is None:
            return first
        return np.repeat(first - self._ends + self.counts, self.counts) + np.arange(len(self))

    def at(self, place: Any) -> Any:
        """A word of each, at a place that may differ from run to run."""
        found = self.each(self.words[self.begins + place])
        if self.counts is None:
            return found
        columns = self._differs[self.by, place]
        own = np.flatnonzero(columns >= 0)
        if len(own):
            counts, ends = self.counts[own], self._ends[own]
            begins = self._columns[own] + at.RUN_WORDS + columns[own] * counts
            all_of = np.arange(int(counts.sum()))
            first = counts.cumsum() - counts
            into = all_of if len(own) == len(self.by) else all_of + np.repeat(ends - counts - first, counts)
            found[into] = self.words[all_of + np.repeat(begins - first, counts)]
        return found


class Run:
    """One run, composite by composite.

    Parameters
    ----------
    words, reals: all words, and the same as floats.
    o, size: where it begins there, and the words of a composite.
    columns: at which of these the columns belong.
    """

    def __init__(self, words: list[int], reals: list[float], o: int, size: int, columns: Sequence[int]) -> None:
        self._words, self._reals, self._begin, self._count = words, reals, o, words[o + size]
        first = o + size + at.RUN_WORDS
        self._own = {place: first + column * self._count for column, place in enumerate(columns)}

    def of(self, place: int, *, real: bool = False) -> Iterable[Any]:
        """A word of each."""
        words: list[Any] = self._reals if real else self._words
        own = self._own.get(place)
        return repeat(words[self._begin + place], self._count) if own is None else words[own : own + self._count]

    def numbers(self) -> Iterable[int]:
        """Their places in the order."""
        first = self._words[self._begin + at.ID]
        return range(first, first + self._count)

    def rows(self, columns: Iterable[Iterable[Any]]) -> Iterable[tuple[Any, ...]]:
        """What columns have for each, together."""
        found = list(columns)
        return zip(*found, strict=True) if found else repeat((), self._count)


def singled(made: Published, program: RuleProgram) -> Published:
    """The same one by one, in words of its own; what is no run stays where it is."""
    found = RunColumns(made, program)
    if found.counts is None:
        return Published(made.words, made.offsets)
    words, offsets, numbers = [made.words], found.each(made.offsets), found.numbers()
    sizes, end = program.R[found.by, at.SIZE] * program.R[found.by, at.RUN], len(made.words)
    for size in np.unique(sizes[sizes > 0]).tolist():
        chosen = sizes == size
        mine, own = np.flatnonzero(found.each(chosen)), RunColumns(made, program, chosen)
        rows: Any = np.empty((len(mine), size), np.int64)
        for place in range(size):
            rows[:, place] = numbers[mine] if place == at.ID else own.at(place)
        offsets[mine] = end + size * np.arange(len(mine))
        words.append(rows.ravel())
        end += rows.size
    return Published(np.concatenate(words), offsets)


def kept(made: Published, program: RuleProgram, _: Any) -> Published:
    """What stays when the program goes on, one by one."""
    single = singled(made, program)
    return Published(single.words.copy(), single.offsets.copy()) if single.words is made.words else single
