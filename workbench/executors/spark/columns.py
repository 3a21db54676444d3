"""The columns of the rows of a pipeline on Spark, the events in them, and where in the log a row is.

The rule of this module: what a column is for events of a domain, `events/columns` says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, cast

from workbench.core.domain import Domain, Value
from workbench.core.program import Ported
from workbench.errors import DomainError, InputError, WorkbenchError
from workbench.events.batch import Columns, LogBatch, rows_of
from workbench.events.column_map import has_columns
from workbench.events.columns import as_json, kind
from workbench.events.values import UnreadableError, from_json, parse_json, short
from workbench.executors.keyed import keyless, told
from workbench.executors.spark.carry import PlacedError

STEP = "step"
"""The column of the outputs that says in which step of its key an event came out."""


def output_schema(program: Ported, key: str, key_type: str) -> str:
    """The columns of what a program makes of each key, as Spark writes schemas.

    Raises
    ------
    InputError: two of them would have one name.
    """
    shown = program.ports.shown
    for name in shown:
        if name.lower() in (key.lower(), STEP):
            whose = "step" if name.lower() == STEP else "key"
            raise InputError(
                f"output '{name}' would have the name of the column for the {whose}",
                hint="give the output another name: `-> total: int`",
            )
    if key.lower() == STEP:
        raise InputError(f"the key '{key}' would have the name of the column for the step", hint="rename the column")
    made = (f"`{name}` {kind(domain)}" for name, domain in shown.items())
    return ", ".join([f"`{key}` {key_type}", f"{STEP} long", *made])


class RowError(Exception):
    """An error in a row of a batch.

    Attributes
    ----------
    row: its number in the batch.
    """

    def __init__(self, row: int, error: WorkbenchError) -> None:
        self.row, self.error = row, error


def read_events(domains: Mapping[str, Domain], columns: Sequence[Any], count: int) -> LogBatch:
    """Read the events of each input in so many rows from their Arrow columns.

    Raises
    ------
    RowError: the first row in which JSON text is no event of an input.
    """
    from workbench.events.input_columns import decode_column

    given = dict(zip(domains, columns, strict=True))
    arrays = {n: decode_column(d, given[n], stored=True) if has_columns(d) else None for n, d in domains.items()}
    if None not in arrays.values():
        return LogBatch(range(count), columns=cast("Columns", arrays))
    lists, wrong = dict[str, list[Any]](), list[tuple[int, DomainError]]()
    for name, domain in domains.items():
        cells = lists[name] = given[name].to_pylist()
        if as_json(domain):
            known = {text: _parse(text, domain, name) for text in cells if text is not None}
            lists[name] = values = [known.get(text) for text in cells]
            wrong += [(row, value) for row, value in enumerate(values) if isinstance(value, DomainError)][:1]
    if wrong:
        raise RowError(*min(wrong, key=itemgetter(0)))
    return LogBatch(range(count), list(rows_of(lists)) if lists else [{}] * count)


def _parse(text: str, domain: Domain, name: str) -> Value | DomainError:
    """The event of an input that is JSON text, or what is wrong with that."""
    try:
        return from_json(parse_json(text), domain)
    except UnreadableError as error:
        return DomainError(f"input '{name}': expected {error}, not {short(text)}")
    except ValueError as error:
        return DomainError(f"input '{name}': {error}")


@dataclass(frozen=True)
class Layout:
    """The columns of the rows that a worker gets: the key, what they are ordered by, and one per input.

    Attributes
    ----------
    key: what the user calls the key.
    orders: what the user calls the columns that order the rows; those of the place in the log come after them.
    places: what the last columns of the order are: a row's `file`, or the `task` that has read it (or neither, where
        there is one), and its number among those, `row`.
    parts: how many columns of the layout stand for `orders`; None if each stands for itself.
    """

    key: str
    orders: tuple[str, ...]
    places: tuple[str, ...] = ()
    parts: int | None = None

    @property
    def named(self) -> int:
        """How many columns stand for what the user orders by."""
        return len(self.orders) if self.parts is None else self.parts

    @property
    def texts(self) -> int | None:
        """Which column of the order holds a text, unless a number orders the row; None where it cannot be both."""
        return 2 if self.places and self.named == 3 else None

    @property
    def width(self) -> int:
        """How many columns order the rows."""
        return self.named + len(self.places)

    def format_order(self, order: Sequence[Any]) -> str:
        """What a row is ordered by, as the user wrote it, from its columns of order."""
        if self.texts is not None:  # a text, a whole number, or a number
            number, whole, text = order[:3]
            return text or str(whole if whole == number else number)
        return ", ".join(map(str, order[: self.named]))

    def names(self, inputs: int) -> list[str]:
        """The names of the columns."""
        return ["key", *(f"o{i}" for i in range(self.width)), *(f"x{i}" for i in range(inputs))]

    def located(self, key: Any, order: Sequence[Any] | None, error: WorkbenchError) -> Exception:
        """An error as it is raised, with the row that it is about.

        Parameters
        ----------
        key: that of the row; None where it has none.
        order: the columns of order of the row; None for the end of the key's streams.
        """
        if not self.places:
            return error if key is None else error.retold(f"key {key!r}: {error.what}", where=error.where)
        group, row = (0, None) if order is None else (0, *order[-len(self.places) :])[-2:]
        if self.places[0] != "file":
            return PlacedError(error, (None if key is None else repr(key), group, row))
        file = group or "the log"
        return keyless(self.key, row, file) if key is None else told(self.key, repr(key), row, file, error)


def mixed(layout: Layout, key: Any, number: Sequence[Any], text: Sequence[Any], before: str) -> Exception:
    """The error for two rows of a key, one ordered by a number (that was there `before`), one by a text."""
    what = f"'{layout.orders[0]}' is a text here ({layout.format_order(text)}), and a number {before}"
    hint = "numbers and texts have no order between them: correct the column, or order by another one"
    return layout.located(key, text, InputError(f"{what} ({layout.format_order(number)})", hint=hint))
