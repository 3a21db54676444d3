"""Write the outputs of a program to files of their own.

The rule of this module: a run passes its rows to one writer, whether there is one file or several. The files take their
names together, when all of them are complete; if one fails, none does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Value
from workbench.core.program import Ports
from workbench.errors import InputError, did_you_mean
from workbench.events.table import FormatRow
from workbench.events.write import Stays, write_events
from workbench.events.writers import EventWriter
from workbench.interrupts import hold


@dataclass(frozen=True)
class OutputRows:
    """The selection of the rows and columns of one output.

    Parameters
    ----------
    ports: the columns.
    column: the column that decides about a row; empty: all rows are selected.
    value: the required value of that column; None: any.
    """

    ports: Ports
    column: str
    value: Value | None = None

    def has(self, row: Mapping[str, Value]) -> bool:
        """Whether a row is selected."""
        if self.value is None:
            return not self.column or self.column in row
        return bool(row.get(self.column) == self.value)

    def of_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the selected columns of a row."""
        return {name: row[name] for name in self.ports.outputs_by_name if name in row}

    def of_table(self, table: Any) -> Any:
        """Return the selected rows and columns of an Arrow table."""
        selection = table.select(list(self.ports.outputs_by_name))
        if not self.column:
            return selection
        cells = table.column(self.column)
        if self.value is None:
            return selection.filter(cells.is_valid()) if cells.null_count else selection
        from workbench.events import compute as pc

        return selection.filter(pc.equal(cells, self.value))


def rows_of_outputs(ports: Ports, names: Sequence[str], *, steps: bool = False) -> dict[str, OutputRows]:
    """Return the selection of each of these outputs, with the columns that belong to no output.

    Parameters
    ----------
    ports: the columns of all rows.
    steps: whether each step has a row in each file, also without an event of its output.
    """
    selections = {}
    for name in names:
        columns = tuple(port for port in ports.outputs if port.name == name or port.name not in names)
        selections[name] = OutputRows(replace(ports, outputs=columns), "" if steps else name)
    return selections


class SplitWriter(EventWriter):
    """Passes the rows of each output to its own writer."""

    def __init__(self, parts: Sequence[tuple[OutputRows, EventWriter]]) -> None:
        self._parts = parts
        self.live = any(writer.live for _, writer in parts)

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        for rows, writer in self._parts:
            writer.write(rows.of_row(outputs))

    def row(self, events: Mapping[str, Value]) -> None:
        for rows, writer in self._parts:
            if rows.has(events):
                writer.row(rows.of_row(events))

    def ready(self, table: Any) -> Callable[[], object]:
        tables = [(rows.of_table(table), writer) for rows, writer in self._parts]
        ready = [writer.ready(some) for some, writer in tables if some.num_rows]

        def put() -> None:
            for each in ready:
                each()

        return put

    def flush(self) -> None:
        for _, writer in self._parts:
            writer.flush()

    def drain(self) -> None:
        for _, writer in self._parts:
            writer.drain()


@contextmanager
def write_outputs(
    files: Mapping[str, str],
    outputs: Mapping[str, OutputRows],
    of: str,
    format: Callable[[str], FormatRow],
    *,
    live: bool,
    stays: Stays | None = None,
) -> Iterator[SplitWriter]:
    """Yield a writer of the rows of each output to its file; other outputs are not written.

    Parameters
    ----------
    files: the files by the names of outputs.
    of: the program, for messages.
    format: returns the format of a file.
    live, stays: as in `write_events`.

    Raises
    ------
    InputError: there is no such output.
    """
    for name, file in files.items():
        if name not in outputs:
            hint = did_you_mean(name, outputs) or "without names of outputs, all rows go to one file"
            what = f"{of} has no output '{name}': --output {name}={file}"
            raise InputError(what, hint=f"{hint}; a file that is called so is ./{name}={file}")
    with ExitStack() as appearing:
        with ExitStack() as written:
            yield SplitWriter([
                (rows, written.enter_context(write_events(
                    file, rows.ports, format=format(file), live=live, appearing=appearing, stays=stays
                )))
                for rows, file in ((outputs[name], file) for name, file in files.items())
            ])  # fmt: skip
        with hold():
            appearing.close()
