"""What a loop needs of memory that is slow to answer is asked for some steps before it is read or written."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from workbench.executors.compiled.lower.tables import array_names
from workbench.ir.system import System

EARLIER = 24
"""Steps before one that needs a row, at which memory is told of it."""

LARGE = 1 << 16
"""Rows of a table, from which on memory is told: fewer are at hand anyway."""


def rows_soon(system: System, body: Sequence[str], reads: Mapping[str, str]) -> list[str]:
    """Statements that tell memory of the rows of large tables in which a later step looks for what arrives then.

    Parameters
    ----------
    body: the statements of a step.
    reads: by the name that these have for what arrives, how it is read, given the number of the step.
    """
    arrays, lines = array_names(system), list[str]()
    for memory in (each for each in system.memories if each.keyed):
        used, *rest = (arrays[column] for column in memory.columns)
        sought = {name for line in body for name in re.findall(rf"find\({used}, \w+, (\w+)\)", line)}
        made = [line for line in body if line.partition(" = ")[0] in sought]
        found = sought.union(*(re.findall(r"\bi\d+\b", line) for line in made))
        later = {name: read.format(f"min(i + {EARLIER}, last - 1)") for name, read in reads.items()}
        rows = [f"first_row({used}, {later[name]})" for name in sorted(found & reads.keys())]
        pairs = {pair for line in body for pair in re.findall(rf"find_pair\({used}, \w+, \w+, (\w+), (\w+)\)", line)}
        rows += [
            f"first_row_of_pair({used}, {later[a]}, {later[b]})" for a, b in sorted(pairs) if {a, b} <= reads.keys()
        ]
        told = []
        for row in rows:
            told.append(f"e = {row}")
            told += [f"soon({array}, e)" for array in (used, *rest)]
        if told:
            lines += [f"if len({used}) > {LARGE}:", *(f"    {line}" for line in told)]
    return lines
