"""Decode blocks of a log into batches, and count their rows.

The rule of this module: a row is counted when it has been decoded, in a column or singly, so that consumers count no
rows, and `--head` means the same to all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from functools import partial

from workbench.errors import WorkbenchError
from workbench.events.account import BLANK, Account
from workbench.events.batch import Columns, LogBatch, take
from workbench.events.files import readable
from workbench.events.reading_options import Reading
from workbench.events.rows import InputEvents, LogBlock


def decode(
    blocks: Iterator[LogBlock], account: Account, size: Callable[[bool], int], *, columns: bool, numbered: bool
) -> Iterator[LogBatch]:
    """Decode the rows of blocks (`count_blocks`) into batches, each when the caller takes it.

    A row that cannot be read ends them: its error follows the rows before it.

    Parameters
    ----------
    size: returns the maximum number of rows of the next batch, with columns or without.
    columns: whether rows may be columns.
    numbered: whether the numbers of rows are needed.
    """
    for block in blocks:
        block_columns = block.columns() if columns else None
        if block_columns is None:
            yield from _rows(block, account, size, numbered)
        else:
            yield from _parts(block_columns, account, size, block.file)


def _parts(columns: Columns, account: Account, size: Callable[[bool], int], file: str) -> Iterator[LogBatch]:
    rows = next((each.rows for each in columns.values()), 0)
    rest = LogBatch(range(account.rows + 1, account.rows + rows + 1), columns=columns, file=file)
    while len(rest):
        max_rows = size(True)
        part = rest if len(rest) <= max_rows else rest.part(slice(max_rows))
        rest = rest.part(slice(len(part), None))
        account.take(part.columns or {})
        yield part


def _rows(block: LogBlock, account: Account, size: Callable[[bool], int], numbered: bool) -> Iterator[LogBatch]:
    steps, ended, numbers = block.steps(), False, list[int]()
    steps = _note_numbers(steps, account, numbers) if numbered else steps
    while not ended:
        numbers.clear()
        max_rows = size(False)
        rows, failed = take(steps, max_rows, WorkbenchError)
        ended = failed is not None or len(rows) < max_rows
        if rows or failed is not None:
            of_rows = numbers.copy() if numbered else range(1, len(rows) + 1)
            yield LogBatch(of_rows, rows, file=block.file, failed=failed)


def _note_numbers(steps: Iterator[InputEvents], account: Account, numbers: list[int]) -> Iterator[InputEvents]:
    for step in steps:
        numbers.append(account.rows)
        yield step


def count_blocks(blocks: Iterator[LogBlock], file_name: str, reading: Reading, account: Account) -> Generator[LogBlock]:
    """Limit blocks to `--head` rows; the account counts their steps."""
    account.is_exact &= reading.head is None
    for block in blocks:
        account.read += block.rows or 0
        steps = partial(_count_block, block, file_name, reading, account)
        yield replace(block, steps=steps, columns=partial(_first_columns, block, reading, account), file=file_name)
        if enough(reading, account):
            return


def _count_block(block: LogBlock, file_name: str, reading: Reading, account: Account) -> Iterator[InputEvents]:
    before = account.rows + account.ignored[BLANK]
    with readable(file_name):
        for step in block.steps():
            account.rows += 1
            account.events_in += 1 if account.rows_are_events else len(step)
            yield step
            if account.rows == reading.head:
                break
    if block.rows is None:
        account.read += account.rows + account.ignored[BLANK] - before


def _first_columns(block: LogBlock, reading: Reading, account: Account) -> Columns | None:
    """Return the columns of the rows up to `--head`."""
    columns = block.columns()
    if columns is None or reading.head is None:
        return columns
    left = reading.head - account.rows
    return {name: each.part(slice(left)) for name, each in columns.items()}


def enough(reading: Reading, account: Account) -> bool:
    """Whether `--head` rows have been read."""
    return reading.head is not None and account.rows >= reading.head
