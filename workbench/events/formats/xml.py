"""Read XML element by element.

The rule of this format: each element of the name that the user gives is a row, and columns are paths in it, with an
attribute as `@name`. A number or a text is the content of the only element at its path. A record has its fields in
elements or attributes of their names. `characters/character[id]/status` is a map, from the `id` in each `character` to
its `status`; without a key it is a set, of type `map(T, bool)`, and on `any` a list. One row is in memory at a time,
and rows have limits.
"""

from __future__ import annotations

import copy
import io
import re
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, cast
from xml.etree import ElementTree

from workbench.core.domain import Anything, Bool, Domain, Value
from workbench.core.fields import FrozenMap, Map, Nullable, Tuple, within
from workbench.core.program import Ported
from workbench.errors import InputError, did_you_mean
from workbench.events.account import Reporter
from workbench.events.lines import BOM, arriving
from workbench.events.reading_options import Reading
from workbench.events.rows import BLOCK, LogBlock, RowReader
from workbench.events.table import FormatRow
from workbench.events.values import DEEPEST, UnreadableError, from_text, short
from workbench.events.xml_paths import Element, KeyedContents, PathContents, contents_finder, paths_in, plain_elements
from workbench.events.xml_shape import PlainCell, RowShapes, plain_value

MAXIMUM = 100
"""Maximum number of element names that are remembered for a message."""
PIECE = 1 << 13
"""Number of bytes that are parsed at a time; more would keep the garbage collector busy."""
LARGEST = 1 << 24
"""Maximum size in bytes of a row, and of a text or a tag."""
REMEMBERED, SHORT = 256, 1000
"""Number of cells whose values are cached, and maximum number of characters of such a cell."""
PROLOGUE = 1 << 16
"""Number of bytes in which the first element must begin."""
AROUND = (b"<rows>", b"</rows>")
FIRST = re.compile(rb"\s*(?>(?:<\?.*?\?>|<!--.*?-->)\s*)*<([^\s<>/!?]+)", re.DOTALL)
"""A pattern for what precedes the first element, each part up to its first end, and for its name."""


class XmlReader(RowReader):
    """A reader of the elements of a name."""

    noun = "path"

    def __init__(self, program: Ported, reading: Reading | None = None, reporter: Reporter | None = None) -> None:
        super().__init__(program, reading, reporter)
        self.tag = self.reading.xml
        if not self.tag:
            hint = "for example --xml message --column x=position/x"
            raise InputError("XML needs --xml, the name of the elements that are rows", hint=hint)
        self._others: dict[str, None] = {}
        self._paths: list[str | None] = []
        self._first: tuple[str, ...] | None = None
        self._missing = dict.fromkeys(self.reading.columns.values())
        self._all = self._bare = False
        self._shapes: RowShapes | None = None
        self._known: dict[Any, Value] = {}
        """The values of plain texts in earlier rows: most cells are the same from row to row."""

    def rows(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[tuple[int, Element]]:
        for some in self._read_elements(lines, file_name):
            yield from some

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        """Yield blocks of the rows that have arrived, grouped by the bytes in which they end."""
        for some in self._read_elements(lines, file_name):
            yield self.block(some, file_name)

    def _read_elements(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[Sequence[tuple[int, Element]]]:
        """Yield the rows with their numbers, as soon as the bytes that have arrived are read."""
        some: list[tuple[int, Element]] = []
        number = 0
        try:
            for row in self._elements(cast(io.BufferedReader, lines.buffer), file_name):
                if row is not None:
                    number += 1
                    if self.columns is None:
                        self._open(row, f"{file_name}:{number}")
                    some.append((number, row))
                if some and (row is None or len(some) == BLOCK):
                    yield some
                    some = []
        except Exception:  # the rows before the error are valid
            if some:
                yield some
            raise

    def _open(self, first: Element, where: str) -> None:
        """Set the columns: the paths that the user names, and those in the first row."""
        user_paths = dict.fromkeys(self.reading.columns.values())
        inside = tuple(f"{path.partition('[')[0]}/" for path in user_paths)
        try:
            self._first = tuple(dict.fromkeys(paths_in(first)))
            others = (path for path in self._first if path not in user_paths and not path.startswith(inside))
            self.set_columns((*user_paths, *others), where)
        except InputError as error:
            raise error.retold(where=where) from error
        assert self.columns is not None
        used = self.columns.used_columns
        self._paths = [name if i in used or self._all else None for i, name in enumerate(self.columns.names)]
        self._shapes = (
            None if self._all else RowShapes([None if path is None else plain_elements(path) for path in self._paths])
        )

    def _elements(self, stream: io.BufferedReader, file_name: str) -> Iterator[Element | None]:
        """Yield the outermost rows as they end, removed from the document; None if more bytes must arrive."""
        parser: ElementTree.XMLPullParser[Any] = ElementTree.XMLPullParser(("start", "end"))
        inside: list[Element] = []
        row: Element | None = None
        length = 0
        for data in self._data(stream):
            if data == b"":
                yield None
                continue
            failed = None
            try:
                if data is not None:
                    parser.feed(data)
                else:
                    if self._bare and len(inside) == 1:
                        parser.feed(AROUND[1])
                    parser.close()
            except ElementTree.ParseError as error:
                failed = error
            except (LookupError, ValueError) as error:  # the encoding in the document is unknown
                raise InputError(f"not well-formed XML: {error}", where=file_name) from error
            events, earlier_row = _take_events(parser), row
            silent = not events
            while events:
                event = events.popleft()
                if isinstance(event, ElementTree.ParseError):
                    failed = event
                elif event[0] == "start":
                    if len(inside) == DEEPEST:
                        raise self._too_large(f"elements are nested more than {DEEPEST} deep", file_name)
                    inside.append(event[1])
                    if row is None:
                        row = self._begin_element(event[1])
                else:
                    ended = inside.pop()
                    if ended is row:
                        yield ended
                        row = None
                    if row is None and inside:
                        inside[-1].remove(ended)
            length = length + len(data or b"") if silent or (row is not None and row is earlier_row) else 0
            if length > LARGEST:
                what = "a text or a tag" if row is None else f"<{self.tag}>"
                raise self._too_large(f"{what} is longer than {LARGEST >> 20} MB", file_name)
            if failed is not None:
                reason = str(failed).partition(": line")[0]
                if reason in ("no element found", "unclosed token") and row is not None:
                    reason = f"it ends inside <{self.tag}>"
                raise InputError(
                    f"not well-formed XML: {reason}", where=f"{file_name}:{failed.position[0]}"
                ) from failed

    def _begin_element(self, element: Element) -> Element | None:
        """Note the start of an element outside of rows; return it if it is a row."""
        if element.tag == self.tag:
            return element
        if len(self._others) < MAXIMUM:
            self._others[element.tag] = None
        return None

    @staticmethod
    def _too_large(what: str, file_name: str) -> InputError:
        return InputError(what, where=file_name, hint="XML is read within such limits: is it a log?")

    def _data(self, stream: io.BufferedReader) -> Iterator[bytes | None]:
        """Yield the bytes in pieces, with an element around rows that have none.

        An empty piece means that more bytes must arrive, None that there are no more.
        """
        prologue: bytes | None = b""
        for data, last in arriving(stream):
            if prologue is not None:
                prologue += data
                text = prologue.removeprefix(BOM)
                match = FIRST.match(text)
                if match is None and not last and len(prologue) < PROLOGUE:
                    continue
                self._bare = match is not None and match[1] == self.tag.encode()
                start = match.start(1) - 1 if match else 0
                data, prologue = text[:start] + AROUND[0] + text[start:] if self._bare else prologue, None
            yield from (data[i : i + PIECE] for i in range(0, len(data), PIECE))
            yield None if last else b""
            if last:
                yield b""

    def cells(self, row: Element) -> Sequence[Any]:
        plain = self._shapes and self._shapes.cells(row)
        cache: KeyedContents = {}
        cells: list[Any] = []
        for i, path in enumerate(self._paths):
            texts = plain and plain[i]
            if path is None:
                cells.append(None)
            elif texts:
                cells.append(PlainCell(*texts, partial(_at, path, row)))
            else:
                cells.append(contents_finder(path)(row, cache))
        if self._missing:
            there = {path for path, cell in zip(self._paths, cells, strict=True) if _contents(cell)}
            self._missing = {path: None for path in self._missing if path not in there}
        return cells

    def end(self) -> None:
        if self._first is None:
            hint = did_you_mean(self.tag, self._others)
            raise InputError(f"there is no element <{self.tag}>", hint=hint)
        for path in self._missing:
            raise InputError(f"no <{self.tag}> has a value at '{path}'", hint=did_you_mean(path, self._first))

    def sample(
        self, lines: io.TextIOWrapper, file_name: str, count: int
    ) -> tuple[dict[str, str], dict[str, list[Any]]]:
        self._all = True
        _, samples = super().sample(lines, file_name, count)
        return {name: _kind(cells) for name, cells in samples.items()}, {
            name: [cell or None for cell in cells] for name, cells in samples.items()
        }

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        if cell is None:
            return None
        if isinstance(cell, PlainCell):
            texts = (id(domain), cell.keys, cell.values)
            plain = self._known.get(texts)
            if plain is not None:
                return plain
            plain = plain_value(cell, domain)
            if plain is not None:
                if sum(map(len, filter(None, (*(cell.keys or ()), *cell.values)))) > SHORT:
                    return plain
                if len(self._known) == REMEMBERED:
                    self._known.clear()
                self._known[texts] = plain
                return plain
            returns = any("\r" in text for text in (*(cell.keys or ()), *cell.values) if text)  # a parser drops them
            cell = cell.contents() if returns or any(isinstance(part, Tuple) for part in within(domain)) else cell.pairs
        if isinstance(domain, Map):
            return _map(cell, domain)
        if isinstance(domain, Anything):
            return tuple(value_in(each, domain) for _, each in cell)
        if len(cell) > 1:
            raise UnreadableError(f"one element of {domain}")
        return value_in(cell[0][1], domain) if cell else None

    def format_cell(self, cell: Any) -> str:
        texts = [each if isinstance(each, str) else as_text(each) for _, each in _contents(cell)]
        return f"'{short(texts[0])}'" if len(texts) == 1 else f"{len(texts)} elements"

    def text(self, number: int, row: Element) -> str:
        del number
        return as_text(row)


def _kind(cells: Sequence[PathContents | None]) -> str:
    """Return the type of the content at a path in some rows."""
    from workbench.events.inspection import guess_type

    inside = [each for cell in cells for _, each in cell or ()]
    if any(not isinstance(each, str) and len(each) for each in inside):
        return "elements"
    kind = guess_type([each if isinstance(each, str) else (each.text or "").strip() for each in inside])
    return f"lists of {kind}" if any(len(cell or ()) > 1 for cell in cells) else kind


def _at(path: str, row: Element) -> PathContents:
    return contents_finder(path)(row, {})


def _contents(cell: Any) -> PathContents:
    return cell.contents() if isinstance(cell, PlainCell) else cell or []


def _take_events(parser: ElementTree.XMLPullParser[Any]) -> Any:
    """Return the events of a parser; its own method takes as long as parsing."""
    queue = getattr(parser, "_events_queue", None)
    return deque(parser.read_events()) if queue is None else queue


def value_in(content: Element | str, domain: Domain) -> Value | None:
    """Convert an element, or the text of an attribute, to a value; None for an empty one.

    Raises
    ------
    UnreadableError: it is not a value of the domain.
    """
    if isinstance(domain, Nullable):
        return value_in(content, domain.of)
    if isinstance(domain, Tuple):
        return tuple(_field(content, name, field) for name, field in zip(domain.names(), domain.fields, strict=True))
    if not isinstance(content, str):
        if len(content):
            raise UnreadableError(f"{domain}")
        content = content.text or ""
    return from_text(content.strip(), domain) if content.strip() else None


def _field(content: Element | str, name: str, domain: Domain) -> Value | None:
    inside = None if isinstance(content, str) else content.find(name)
    part = content.attrib.get(name) if inside is None and not isinstance(content, str) else inside
    value = None if part is None else value_in(part, domain)
    if value is None and not isinstance(domain, Nullable):
        raise UnreadableError(f"an element with {name}: {domain}")
    return value


def _map(cell: PathContents, domain: Map) -> FrozenMap[Value, Value]:
    """Build a map from keys to elements; a set is a map to true."""
    pairs: dict[Value, Value] = {}
    for key, each in cell:
        if key is None and not isinstance(domain.value, Bool):
            raise UnreadableError(f"{domain}", "a path with a key: characters/character[id]")
        entry_key = value_in(each, domain.key) if key is None else from_text(key, domain.key)
        value = True if key is None else value_in(each, domain.value)
        if entry_key is None or value is None:
            raise UnreadableError(f"{domain}, without empty elements")
        if key is not None and entry_key in pairs:
            raise UnreadableError(f"{domain}, each key once")
        pairs[entry_key] = value
    return FrozenMap(pairs)


def as_text(element: Element) -> str:
    """Return an element as it is written, without the text after it."""
    alone = copy.copy(element)
    alone.tail = None
    return ElementTree.tostring(alone, "unicode")


ROW = FormatRow(
    "xml",
    "one element per step, of the name that `--xml` gives; columns are paths in it",
    (".xml",),
    XmlReader,
    None,
    lambda start: start.lstrip().startswith(b"<"),
    text=True,
    in_lines=False,
    takes=("xml",),
    rank=4,
)
