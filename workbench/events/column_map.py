"""Map the columns of a log to inputs.

The rule of this module: an input has the column that the user names, or else that of its own name. A tuple or record
may also have a column for each field: `e.user`, or `user` if no other input or field has that name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from workbench.core.domain import Domain
from workbench.core.fields import Record, Tuple
from workbench.core.program import Ports
from workbench.errors import InputError, did_you_mean, listed, suggest_option
from workbench.events.batch import EventArray
from workbench.events.clock import Times
from workbench.events.columns import as_json, has_array
from workbench.events.reading_options import Reading
from workbench.events.values import padding

T = TypeVar("T")
ColumnPlaces = int | tuple["ColumnPlaces", ...] | None
"""The position of a column, or a tuple of those of the fields of a tuple; None if there is none."""


@dataclass(frozen=True)
class ColumnMap:
    """The columns of a log, and the inputs that they belong to.

    Attributes
    ----------
    names: the names of the columns.
    inputs: the columns of each input that has some.
    domains: the domains of the inputs.
    """

    names: tuple[str, ...]
    inputs: Mapping[str, ColumnPlaces]
    domains: Mapping[str, Domain]

    @property
    def used_columns(self) -> dict[int, Domain]:
        """The domain of each column that an input uses, by position."""
        input_leaves = (leaves(columns, self.domains[name]) for name, columns in self.inputs.items())
        return {i: domain for some in input_leaves for i, domain, _ in some}

    @property
    def ignored(self) -> list[str]:
        """The columns that no input uses."""
        used = self.used_columns
        return [name for i, name in enumerate(self.names) if i not in used]

    def arrays(
        self, column_events: Callable[[int, Domain], EventArray | None], pads: bool = False
    ) -> dict[str, EventArray] | None:
        """Combine the events of single columns into those of all inputs; None where some are not plain.

        Parameters
        ----------
        pads: whether an empty field of a record is read as 0, false or the empty text.
        """
        return self.each_input(lambda columns, domain: _array(columns, domain, column_events, pads))

    def each_input(self, make: Callable[[ColumnPlaces, Domain], T | None]) -> dict[str, T] | None:
        """Apply a function to the columns of each input; None if it returns None for one."""
        results = {}
        for name, columns in self.inputs.items():
            if (result := make(columns, self.domains[name])) is None:
                return None
            results[name] = result
        return results


def leaves(columns: ColumnPlaces, domain: Domain, path: str = "") -> Iterator[tuple[int, Domain, str]]:
    """Yield the single columns, each with its domain and its name, which begins with that of the input (`path`)."""
    if isinstance(columns, int):
        yield columns, domain, path
    elif columns is not None and isinstance(domain, Tuple):
        for label, part, field in zip(domain.names(), columns, domain.fields, strict=True):
            yield from leaves(part, field, f"{path}.{label}")


def has_arrays(domain: Domain) -> bool:
    """Whether all single values in an event of the domain have arrays."""
    return all(map(has_arrays, domain.fields)) if isinstance(domain, Tuple) else has_array(domain)


def has_columns(domain: Domain) -> bool:
    """Whether events of the domain that are in arrays can be written as a column."""
    return has_arrays(domain) and (not isinstance(domain, Tuple) or domain.scalars > 0)


def has_cells(domain: Domain) -> bool:
    """Whether all single values in an event of the domain are plain cells, texts included, times excluded."""
    return (
        all(map(has_cells, domain.fields))
        if isinstance(domain, Tuple)
        else not isinstance(domain, Times) and not as_json(domain)
    )


def _array(
    columns: ColumnPlaces, domain: Domain, column_events: Callable[[int, Domain], EventArray | None], pads: bool
) -> EventArray | None:
    parts = [column_events(i, field) if has_arrays(field) else None for i, field, _ in leaves(columns, domain)]
    arrays = [part for part in parts if part is not None]
    if not arrays or len(arrays) < len(parts):
        return None
    if pads and isinstance(domain, Tuple) and isinstance(columns, tuple) and all(isinstance(i, int) for i in columns):
        gaps = [each.present is not None for each in arrays]
        if all(gaps) or any(gap and padding(field) is None for gap, field in zip(gaps, domain.fields, strict=True)):
            return None
        arrays = [each.padded() for each in arrays]
    first = arrays[0]
    if len(arrays) == 1 and isinstance(columns, int):
        return first
    for other in arrays[1:]:  # an event has all its fields, or is absent
        if (other.present is None) != (first.present is None) or (
            first.present is not None and (other.present != first.present).any()
        ):
            return None
    return first._replace(events=_nest_columns(columns, iter([part.events for part in arrays])))


def _nest_columns(columns: ColumnPlaces, parts: Iterator[T]) -> object:
    return tuple(_nest_columns(each, parts) for each in columns) if isinstance(columns, tuple) else next(parts)


def match(names: Sequence[str], ports: Ports, reading: Reading, *, what: str = "column") -> ColumnMap:
    """Map columns of these names to the inputs of a program.

    Parameters
    ----------
    what: `column`, if each input needs one; or `key`, if rows may lack some.

    Raises
    ------
    InputError: a column is missing, duplicate, or unused and refused, or the user names one that does not exist.
    """
    return _Matching(tuple(names), ports, reading, what).match()


def see_inputs(ports: Ports, reading: Reading) -> list[str]:
    """Return the names for which the user may choose a column: of inputs, and of their fields.

    Raises
    ------
    InputError: the user chooses one for another name.
    """
    paths = [path for name, domain in ports.domains.items() for path in list_paths(name, domain)]
    for name, column in reading.columns.items():
        if name not in paths:
            raise InputError(f"there is no input '{name}' for column '{column}'", hint=did_you_mean(name, paths))
    return paths


class _Matching:
    def __init__(self, names: tuple[str, ...], ports: Ports, reading: Reading, what: str) -> None:
        self.names, self.ports, self.reading, self.what = names, ports, reading, what
        self.places = {name: i for i, name in enumerate(names)}
        self.paths = see_inputs(ports, reading)
        self.shared = {port.name for port in ports.inputs if port.shared}
        own = [path for port in ports.inputs if not port.copied for path in list_paths(port.name, port.domain)]
        self.short = Counter(path.rpartition(".")[2] for path in own)

    def match(self) -> ColumnMap:
        domains = self.ports.domains
        inputs = {name: self.columns(name, domain) for name, domain in domains.items()}
        column_map = ColumnMap(
            self.names, {name: columns for name, columns in inputs.items() if columns is not None}, domains
        )
        if self.reading.strict and column_map.ignored:
            name = column_map.ignored[0]
            what = f"{self.what} '{name}' is not an input of the {self.ports.kind}"
            raise InputError(what, hint=did_you_mean(name, self.paths))
        optional = {port.name for port in self.ports.inputs if port.optional}
        own = {port.name for port in self.ports.inputs if not (port.copied or port.clock)}
        if not own.isdisjoint(column_map.inputs):  # a file without any input is hardly intended
            optional |= self.shared
        for name, columns in inputs.items():  # after unused columns: one of these may be a misspelt name
            if columns is None and self.what != "key" and name not in optional:
                raise self.missing(name)
        return column_map

    def columns(self, path: str, domain: Domain) -> ColumnPlaces:
        """Return the columns of an input, or of a field of one."""
        if path in self.reading.columns:
            return self.named(path)
        labels = domain.names() if isinstance(domain, Tuple) else ()
        fields = len(labels) > 1 and path in labels and set(labels) <= self.places.keys()
        if path in self.places and not fields:
            return self.position(path)
        if not isinstance(domain, Tuple):
            return None
        parts = []
        for label, field in zip(labels, domain.fields, strict=True):
            part = self.columns(f"{path}.{label}", field)
            if part is None and label in self.places and isinstance(domain, Record):
                part = self.position(label) if self.short[label] == 1 + (label == path) else None
            parts.append(part)
        if all(part is None for part in parts):
            return None
        if None in parts and self.what != "key":
            raise self.missing(f"{path}.{labels[parts.index(None)]}")
        return tuple(parts)

    def named(self, path: str) -> ColumnPlaces:
        column = self.reading.columns[path]
        if column in self.places:
            return self.position(column)
        if self.what != "column" or path in self.shared:
            return None
        hint = suggest_option(column, self.names, f"write --column {path}=NAME", "there are: ")
        raise InputError(f"there is no column '{column}' for '{path}'", hint=hint)

    def position(self, name: str) -> int:
        if len(self.places) < len(self.names) and self.names.count(name) > 1:
            hint = "rename one; where a line of CSV names them, --skip-lines 1 --header NAME,... names them instead"
            raise InputError(f"two columns are called '{name}'", hint=hint)
        return self.places[name]

    def missing(self, path: str) -> InputError:
        remedy = next((port.remedy for port in self.ports.inputs if port.name == path), "")
        return missing(path, self.names, self.paths, self.what, remedy)


def missing(path: str, names: Sequence[str], paths: Sequence[str], what: str, remedy: str = "") -> InputError:
    """Return the error for a missing column or key; `names` are those of the log, `paths` those of all inputs."""
    parts = path.split(",")
    if len(parts) > 1 and {*parts} <= {*names}:
        return InputError(f"there is no {what} '{path}'", hint=f"repeat the option for each {what}")
    likely = did_you_mean(path, [name for name in names if name not in paths], "")
    if likely.startswith("did"):
        close = likely.split("'")[1]
        usual = f"read it as '{path}': {column_option(path, close, paths)}"
        hint = f"{likely} If so, {remedy.replace('NAME', close) or usual}"
    else:
        own = f"name it in a pattern of your own, (?P<{path}>...), or " if what == "group" else ""
        usual = f"{own}read one of them as '{path}': {column_option(path, 'NAME', paths)}"
        hint = "; ".join(filter(None, (f"its {what}s are: {listed(names)}" * bool(names), remedy or usual)))
    return InputError(f"there is no {what} '{path}'", hint=hint)


def column_option(path: str, column: str, paths: Sequence[str]) -> str:
    """Return the option that reads a column as an input, or as a field of it; `paths` are those of all inputs."""
    fields = [each for each in paths if each.startswith(f"{path}.")]
    if f"{path}.{column}" in fields:
        return f"--column {path}.{column}={column}"
    return f"--column {path}={column}" + (f", or as its field: --column {fields[0]}={column}" if fields else "")


def list_paths(name: str, domain: Domain) -> Iterator[str]:
    """Yield the names for which a column can be chosen: that of an input, and of its fields."""
    yield name
    if isinstance(domain, Tuple):
        for label, field in zip(domain.names(), domain.fields, strict=True):
            yield from list_paths(f"{name}.{label}", field)
