"""Events as columns of Spark, both ways; what the columns are, `events/columns` says."""

from __future__ import annotations

from typing import Any

from workbench.core.domain import Bool, Domain, Value
from workbench.core.program import Ported
from workbench.errors import DomainError, InputError
from workbench.events.columns import as_json, has_array, kind, to_column
from workbench.events.values import UnreadableError, from_json, parse_json, short

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


# --- events from columns --------------------------------------------------------------------------------------


class InputColumn:
    """The events of one input in the rows of a batch.

    Attributes
    ----------
    values: an array of bools, whole numbers or floats, or a list of Python values.
    present: an array that says which rows have an event; None where all have.
    """

    def __init__(self, domain: Domain, column: Any) -> None:
        self.present = None if column.null_count == 0 else column.is_valid().to_numpy(zero_copy_only=False)
        if kind(domain) != "string":
            nothing = False if isinstance(domain, Bool) else 0
            filled = column.fill_null(nothing) if column.null_count else column
            self.values: Any = filled.to_numpy(zero_copy_only=False)
        elif as_json(domain):
            self.values = _each(column, lambda text: _parsed(text, domain))
        else:
            self.values = column.to_pylist()

    def part(self, first: int, last: int) -> tuple[Any, Any]:
        """Values and presence of some of the rows."""
        present = None if self.present is None else self.present[first:last]
        return self.values[first:last], present


def _each(column: Any, parse: Any) -> list[Value]:
    """Every text parsed, those that are alike once."""
    encoded = column.dictionary_encode()
    known = [parse(text) for text in encoded.dictionary.to_pylist()]
    return [None if i is None else known[i] for i in encoded.indices.to_pylist()]


def _parsed(text: str, domain: Domain) -> Value:
    try:
        return from_json(parse_json(text), domain)
    except UnreadableError as error:
        raise DomainError(f"expected {error}, not {short(text)}") from error
    except ValueError as error:
        raise DomainError(str(error)) from error


# --- columns from events --------------------------------------------------------------------------------------


def arrays_to_column(domain: Domain, output: Any, name: str) -> Any:
    """An Arrow array of what a compiled executor gives for an output."""
    from workbench.events.buffers import shown_column

    if has_array(domain):
        return shown_column(domain, output.array)
    return to_column(domain, output.events(), f"output '{name}'")
