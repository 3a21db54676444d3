"""Inspect the first rows of a log: the columns, and the inputs that they belong to.

The rule of this module: nothing is run, and a missing column is not an error; errors of cells are those of a run.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

from workbench.core.domain import Domain
from workbench.core.program import Ported
from workbench.core.readable import plural
from workbench.errors import did_you_mean, listed
from workbench.events.account import Reporter
from workbench.events.cells import plain_cell
from workbench.events.column_map import ColumnMap, leaves
from workbench.events.inputs import LogPath, log_files
from workbench.events.read import lenient, lenient_ports, open_log, share_columns
from workbench.events.reading_options import Reading
from workbench.events.rows import RowReader
from workbench.events.values import INTEGER, NUMBER, TRUTH, Unheld, UnreadableError

ROWS = 1000
"""Number of rows of a file that are inspected."""
PADDED = re.compile(r"[+-]?0[0-9]")
"""A pattern for numbers with leading zeros, as in codes and identifiers: 007 differs from 7."""
WORDS = {
    int: "whole numbers", float: "numbers", bool: "truth values", str: "texts",
    dict: "objects", list: "arrays", Unheld: "numbers that no float holds",
}  # fmt: skip


@dataclass(frozen=True)
class InspectedColumn:
    """One column of a file.

    Attributes
    ----------
    kind: its type in the file; for texts, what the first rows contain.
    nulls: the number of empty cells.
    inputs: the inputs that use it: `x: int`, `e.user: int`.
    wrong: the error of the first cell that cannot be read; empty if there is none.
    """

    name: str
    kind: str
    nulls: int
    inputs: tuple[str, ...]
    wrong: str = ""


@dataclass(frozen=True)
class InspectedFile:
    """One file of a log.

    Attributes
    ----------
    rows: the number of rows that have been inspected.
    missing: the inputs without a column, with suggestions.
    """

    file: str
    rows: int
    columns: tuple[InspectedColumn, ...]
    missing: tuple[str, ...]

    def __str__(self) -> str:
        rows = [("column", "type", "empty", "input")]
        for each in self.columns:
            inputs = ", ".join(each.inputs) or "ignored"
            rows.append(
                (listed([each.name]), each.kind, str(each.nulls), inputs + (f" ({each.wrong})" if each.wrong else ""))
            )
        widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
        lines = ("  ".join([*map(str.ljust, row, widths), row[-1]]).rstrip() for row in rows)
        return "\n".join([f"{self.file}, first {plural(f'{self.rows:,}', 'row')}", *lines, *self.missing])


def look(path: LogPath | Sequence[LogPath], program: Ported, reading: Reading) -> Iterator[InspectedFile]:
    """Yield the columns of each file of a log.

    Raises
    ------
    InputError: a file cannot be read, or a column that the user names does not exist.
    """
    ports = share_columns(path, program.ports, reading)
    needed = [port.name for port in ports.inputs if not (port.optional or port.shared)]
    for file in log_files(path):
        with _leniently(file, ports, reading) as (reader, lines, file_name):
            kinds, cells = reader.sample(lines, file_name, ROWS)
            yield _describe_file(reader, file_name, kinds, cells, needed)


def samples(
    path: LogPath | Sequence[LogPath], program: Ported, reading: Reading, count: int
) -> Iterator[tuple[str, dict[str, list[Any]], Callable[[str, Sequence[Any]], str]]]:
    """Yield the name of each file, the cells of its columns in its first rows, and a function for their kinds."""
    for file in log_files(path):
        with _leniently(file, program, reading) as (reader, lines, file_name):
            kinds, cells = reader.sample(lines, file_name, count)
            known = {} if reader.typed else kinds  # the format names the types of typed columns
            if not reader.typed:
                cells = {name: [plain_cell(cell, reading) or None for cell in some] for name, some in cells.items()}
            yield file_name, cells, partial(_column_kind, known, reader.typed)


def _column_kind(known: Mapping[str, str], typed: bool, name: str, cells: Sequence[Any]) -> str:
    return known.get(name) or guess_type(cells, typed)


def _leniently(
    file: LogPath, program: Ported, reading: Reading
) -> AbstractContextManager[tuple[RowReader, io.TextIOWrapper, str]]:
    """Open a file of a log with all avoidable errors suppressed."""
    return open_log(file, lenient_ports(program), lenient(reading), Reporter())


def _describe_file(
    reader: RowReader, file_name: str, kinds: dict[str, str], cells: dict[str, list[Any]], needed: Sequence[str]
) -> InspectedFile:
    names = list(cells)
    columns = reader.match_columns(names)
    fed = _inputs(columns)
    descriptions = []
    for i, name in enumerate(names):
        inputs = fed.get(i, [])
        plain = cells[name] if reader.typed else [plain_cell(cell, reader.reading) for cell in cells[name]]
        empty = sum(cell is None or (not reader.typed and not cell.strip()) for cell in plain)
        wrong = next(filter(None, (_wrong(reader, name, domain, cells[name]) for _, domain in inputs)), "")
        input_texts = tuple(f"{path}: {domain}" for path, domain in inputs)
        descriptions.append(
            InspectedColumn(name, kinds.get(name) or guess_type(plain, reader.typed), empty, input_texts, wrong)
        )
    missing = (
        f"there is no column for input '{name}': {reader.domains[name]} ({did_you_mean(name, names)})"
        for name in needed
        if name not in columns.inputs
    )
    return InspectedFile(file_name, max(map(len, cells.values()), default=0), tuple(descriptions), tuple(missing))


def _inputs(columns: ColumnMap) -> dict[int, list[tuple[str, Domain]]]:
    inputs: dict[int, list[tuple[str, Domain]]] = {}
    for name, indices in columns.inputs.items():
        for i, domain, path in leaves(indices, columns.domains[name], name):
            inputs.setdefault(i, []).append((path, domain))
    return inputs


def _wrong(reader: RowReader, name: str, domain: Domain, cells: Sequence[Any]) -> str:
    for number, cell in enumerate(cells, 1):
        try:
            reader.cell(cell, domain)
        except UnreadableError as error:
            try:
                reader.read_date(cell, domain, f"column '{name}'", error)
            except UnreadableError as final:
                return f"row {number}: expected {final}, not {reader.format_cell(cell)}"
    return ""


def guess_type(cells: Sequence[Any], typed: bool = False) -> str:
    """Guess the type of cells; in `typed` data, a text is a text."""
    kinds = dict.fromkeys(_kind(cell, typed) for cell in cells if cell is not None and (typed or cell != ""))
    if kinds.keys() == {"whole numbers", "numbers"}:
        return "numbers"
    return " and ".join(kinds) or "nothing"


def _kind(cell: Any, typed: bool) -> str:
    if typed or not isinstance(cell, str):
        return WORDS.get(type(cell), type(cell).__name__)
    text = cell.strip()
    if PADDED.match(text):
        return "texts"
    if INTEGER.fullmatch(text):
        return "whole numbers"
    if NUMBER.fullmatch(text):
        return "numbers"
    return "truth values" if text.lower() in TRUTH else "JSON" if text[:1] in ("{", "[") else "texts"
