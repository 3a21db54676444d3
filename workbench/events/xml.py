"""XML, read element by element.

The rule of this format: each element of the name that the user gives is a row, and columns are paths in it, with an
attribute as `@name`. A number or a text is what stands in the only element at its path. A record has its fields in
elements or attributes of their names. `characters/character[id]/status` is a map, from the `id` in each `character` to
its `status`; without a key it is a set, of type `map(T, bool)`, and on `any` a list. Memory is that of a row.
"""

from __future__ import annotations

import copy
import functools
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, cast
from xml.etree import ElementTree

from workbench.core.domain import Anything, Bool, Domain, Value
from workbench.core.fields import FrozenMap, Map, Nullable, Tuple
from workbench.core.program import Ported
from workbench.errors import InputError, did_you_mean
from workbench.events.lines import BOM, arriving
from workbench.events.reading import Reading, Tally
from workbench.events.rows import RowReader
from workbench.events.values import UnreadableError, from_text, short

Element = ElementTree.Element
MOST = 100
"""Names of elements that are remembered for a message."""
PIECE = 1 << 16
"""Bytes that are parsed at a time; their elements are there at once."""
AROUND = (b"<rows>", b"</rows>")
NAME = re.compile(r"[\w.-]*\w[\w.-]*")
KEYED = re.compile(r"(?P<each>[^\[\]]+)\[(?P<key>[^\[\]]+)\](?:/(?P<value>[^\[\]]+))?")
FIRST = re.compile(rb"\s*(?:<\?.*?\?>\s*|<!--.*?-->\s*)*<([^\s<>/!?]+)", re.DOTALL)
"""What comes before the first element, and its name."""


class XmlReader(RowReader):
    """Elements of a name."""

    noun = "path"

    def __init__(self, program: Ported, reading: Reading | None = None, tally: Tally | None = None) -> None:
        super().__init__(program, reading, tally)
        self.tag = self.reading.xml
        if not self.tag:
            hint = "for example --xml message --column x=position/x"
            raise InputError("--xml says which elements of XML are rows", hint=hint)
        self._others: dict[str, None] = {}
        self._paths: list[str | None] = []
        self._first: tuple[str, ...] | None = None
        self._missing = dict.fromkeys(self.reading.columns.values())
        self._all = self._bare = False

    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, Element]]:
        for number, row in enumerate(self._elements(cast(io.BufferedReader, lines.buffer), shown), 1):
            if self.columns is None:
                self._open(row, f"{shown}:{number}")
            yield number, row

    def _open(self, first: Element, where: str) -> None:
        """Columns are the paths in the first row, and those that the user names."""
        self._first, given = tuple(dict.fromkeys(paths_in(first))), dict.fromkeys(self.reading.columns.values())
        inside = tuple(f"{path.partition('[')[0]}/" for path in given)
        try:
            self.opened((*given, *(path for path in self._first if path not in given and not path.startswith(inside))))
        except InputError as error:
            raise error.retold(where=where) from error
        assert self.columns is not None
        used = self.columns.used
        self._paths = [name if i in used or self._all else None for i, name in enumerate(self.columns.names)]

    def _elements(self, stream: io.BufferedReader, shown: str) -> Iterator[Element]:
        """The rows as they come; what has been given away is forgotten when the next one is asked for."""
        parser: ElementTree.XMLPullParser[Any] = ElementTree.XMLPullParser(("start", "end"))
        inside: list[Element] = []
        row: Element | None = None
        try:
            for data in self._data(stream):
                if data is not None:
                    parser.feed(data)
                else:
                    if self._bare and row is None and len(inside) == 1:
                        parser.feed(AROUND[1])
                    parser.close()
                for event, element in cast("Iterable[tuple[str, Element]]", parser.read_events()):
                    if row is not None:  # nothing is to be said of what is inside
                        if element is row:
                            yield row
                            row = None
                            if inside:
                                inside[-1].remove(element)
                    elif event == "end":
                        inside.pop()
                        if inside:
                            inside[-1].remove(element)
                    elif element.tag == self.tag:
                        row = element
                    else:
                        inside.append(element)
                        if len(self._others) < MOST:
                            self._others[element.tag] = None
        except ElementTree.ParseError as error:
            told = str(error).partition(": line")[0]
            if row is not None and told in ("no element found", "unclosed token"):
                told = f"it ends inside <{self.tag}>"
            raise InputError(f"not well-formed XML: {told}", where=f"{shown}:{error.position[0]}") from error

    def _data(self, stream: io.BufferedReader) -> Iterator[bytes | None]:
        """The bytes in pieces, and None behind them, with an element around rows that have none."""
        begun: bytes | None = b""
        for data, last in arriving(stream):
            if begun is not None:
                begun += data
                text = begun.removeprefix(BOM)
                found = FIRST.match(text)
                if found is None and not last and len(begun) < PIECE:
                    continue
                self._bare = found is not None and found[1] == self.tag.encode()
                start = found.start(1) - 1 if found else 0
                data, begun = text[:start] + AROUND[0] + text[start:] if self._bare else begun, None
            for i in range(0, len(data), PIECE):
                yield data[i : i + PIECE]
            if last:
                yield None

    def cells(self, row: Element) -> Sequence[Any]:
        seen: KeyedPlaces = {}
        found = [None if path is None else place(path)(row, seen) for path in self._paths]
        if self._missing:
            there = {path for path, cell in zip(self._paths, found, strict=True) if cell}
            self._missing = {path: None for path in self._missing if path not in there}
        return found

    def end(self) -> None:
        if self._first is None:
            hint = did_you_mean(self.tag, self._others)
            raise InputError(f"there is no element <{self.tag}>", hint=hint)
        for path in self._missing:
            raise InputError(f"no <{self.tag}> has anything at '{path}'", hint=did_you_mean(path, self._first))

    def sample(self, lines: io.TextIOWrapper, shown: str, count: int) -> tuple[dict[str, str], dict[str, list[Any]]]:
        self._all = True
        _, found = super().sample(lines, shown, count)
        return {name: _kind(cells) for name, cells in found.items()}, {
            name: [cell or None for cell in cells] for name, cells in found.items()
        }

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        if cell is None:
            return None
        if isinstance(domain, Map):
            return _map(cell, domain)
        if isinstance(domain, Anything):
            return tuple(value_in(each, domain) for _, each in cell)
        if len(cell) > 1:
            raise UnreadableError(f"one element of {domain}")
        return value_in(cell[0][1], domain) if cell else None

    def shown(self, cell: Any) -> str:
        texts = [each if isinstance(each, str) else as_text(each) for _, each in cell]
        return f"'{short(texts[0])}'" if len(texts) == 1 else f"{len(texts)} elements"

    def text(self, number: int, row: Element) -> str:
        del number
        return as_text(row)


def _kind(cells: Sequence[Places | None]) -> str:
    """What is at a path in some rows."""
    from workbench.events.look import guessed

    inside = [each for cell in cells for _, each in cell or ()]
    if any(not isinstance(each, str) and len(each) for each in inside):
        return "elements"
    kind = guessed([each if isinstance(each, str) else (each.text or "").strip() for each in inside])
    return f"lists of {kind}" if any(len(cell or ()) > 1 for cell in cells) else kind


Places = list[tuple["str | None", "Element | str"]]
"""What is at a path: elements or the texts of attributes, each with its key, where the path has some."""


def paths_in(row: Element) -> Iterator[str]:
    """The paths to all that has no elements inside, attributes among them."""
    for name in row.attrib:
        yield f"@{name}"
    for child in row:
        if not len(child):
            yield child.tag
        for path in paths_in(child):
            yield f"{child.tag}/{path}"


Finder = Callable[[Element], Sequence["Element | str"]]
"""What is at a path in an element."""
KeyedPlaces = dict[str, Places]
"""The elements of a row that have keys, by the beginnings of their paths."""


@functools.cache
def place(path: str) -> Callable[[Element, KeyedPlaces], Places]:
    """What finds all that is at a path in a row, given what has been found in that row."""
    keyed = KEYED.fullmatch(path)
    if keyed is None:
        plain = finder(path)
        return lambda row, _: [(None, each) for each in plain(row)]
    start, each, key = path.partition("]")[0], finder(keyed["each"]), finder(keyed["key"])
    inside = finder(keyed["value"]) if keyed["value"] else None

    def find(row: Element, seen: KeyedPlaces) -> Places:
        if start not in seen:
            seen[start] = [(_only_text(key(e)), e) for e in each(row) if not isinstance(e, str)]
        if inside is None:
            return seen[start]
        found: Places = []
        for name, element in seen[start]:
            values = () if isinstance(element, str) else inside(element)
            found.append((name, values[0]) if len(values) == 1 else (None, element))
        return found

    return find


def _only_text(found: Sequence[Element | str]) -> str | None:
    """The text of a key; None where there is none, or several."""
    if len(found) != 1:
        return None
    return found[0] if isinstance(found[0], str) else found[0].text or ""


def finder(path: str) -> Finder:
    """What finds that: step by step where all are names, which takes a fraction of the time."""
    before, at, name = path.rpartition("@")
    if at:
        parents: Any = finder(before.rstrip("/")) if before else lambda row: (row,)
        return lambda row: [each.attrib[name] for each in parents(row) if name in each.attrib]
    steps = path.split("/")
    if not all(map(NAME.fullmatch, steps)):
        return lambda row: _searched(row, path)

    def walk(row: Element) -> Sequence[Element | str]:
        found: list[Element] = [row]
        for step in steps:
            found = found[0].findall(step) if len(found) == 1 else [e for each in found for e in each.findall(step)]
        return cast("Sequence[Element | str]", found)

    return walk


def _searched(row: Element, path: str) -> Sequence[Element | str]:
    try:
        return row.findall(path)
    except SyntaxError as error:
        raise InputError(f"'{path}' is no path in XML", hint="for example position/x or @id") from error


def value_in(found: Element | str, domain: Domain) -> Value | None:
    """What an element, or the text of an attribute, holds; None for an empty one where no text is asked for.

    Raises
    ------
    UnreadableError: it is no value of the domain.
    """
    if isinstance(domain, Nullable):
        return value_in(found, domain.of)
    if isinstance(domain, Tuple):
        return tuple(_field(found, name, field) for name, field in zip(domain.names(), domain.fields, strict=True))
    if not isinstance(found, str):
        if len(found):
            raise UnreadableError(f"{domain}")
        found = found.text or ""
    return from_text(found.strip(), domain) if found.strip() else None


def _field(found: Element | str, name: str, domain: Domain) -> Value | None:
    inside = None if isinstance(found, str) else found.find(name)
    given = found.attrib.get(name) if inside is None and not isinstance(found, str) else inside
    value = None if given is None else value_in(given, domain)
    if value is None and not isinstance(domain, Nullable):
        raise UnreadableError(f"an element with {name}: {domain}")
    return value


def _map(cell: Places, domain: Map) -> FrozenMap[Value, Value]:
    """A map from keys to elements; a set is one to true."""
    pairs: dict[Value, Value] = {}
    for key, each in cell:
        if key is None and not isinstance(domain.value, Bool):
            raise UnreadableError(f"{domain}", "a path with a key: characters/character[id]")
        found = value_in(each, domain.key) if key is None else from_text(key, domain.key)
        value = True if key is None else value_in(each, domain.value)
        if found is None or value is None:
            raise UnreadableError(f"{domain}, without empty elements")
        if key is not None and found in pairs:
            raise UnreadableError(f"{domain}, each key once")
        pairs[found] = value
    return FrozenMap(pairs)


def as_text(element: Element) -> str:
    """An element as it is written, without what comes behind it."""
    alone = copy.copy(element)
    alone.tail = None
    return ElementTree.tostring(alone, "unicode")
