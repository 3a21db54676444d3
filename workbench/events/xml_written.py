"""Rows of XML as they are written: those that have the tags of a row before them, and plain texts, need no parser.

The rule of this module: it is faster, and never different. What lies between two tags is plain if it is ASCII without
angle brackets, references and control characters, so tags that a parser has understood mean the same again. Where a row
begins only a parser says, which has read all that comes before it, or rows that need none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from workbench.events.xml_shape import MOST, CellTexts, RowPlan, RowShapes

PLAIN = bytes(c for c in (*b"\t\n\r", *range(0x20, 0x7F)) if c not in b"<>&")
ENCODING = re.compile(rb"<\?xml[^>]*\sencoding\s*=\s*[\"'](?!(?:utf-8|us-ascii|iso-8859-1)[\"'])", re.IGNORECASE)
"""How a document begins whose plain bytes may be other letters."""


class WrittenRow(NamedTuple):
    """A row as it is written.

    Attributes
    ----------
    parts: what is between angle brackets, and what follows each, one after the other.
    plan: which of these are the texts of the paths that are asked for.
    end: where the row ends in the bytes in which it was found.
    """

    parts: list[str]
    plan: RowPlan
    written: bytes
    end: int

    @property
    def cells(self) -> list[tuple[CellTexts | None, CellTexts] | None]:
        """The texts at each path."""
        return [at and (at.keys and at.keys(self.parts), at.values(self.parts)) for at in self.plan]

    @property
    def element(self) -> Element:
        """What a parser makes of it."""
        return ElementTree.fromstring(self.written)


class WrittenRows:
    """The rows of a document that can be read without a parser.

    Attributes
    ----------
    lines: ends of lines in all rows that were read so.
    """

    def __init__(self, tag: str) -> None:
        self._close = f"</{tag}>".encode()
        self._next = re.compile(rb"\s*<" + re.escape(tag.encode()) + rb"[\s>]")
        self._plans: dict[tuple[str, ...], RowPlan | None] = {}
        self._last: tuple[list[str], RowPlan | None] = [], None
        self._seen = self._failed = self.lines = 0
        self._between, self._next_row = False, b""

    def parts(self, data: bytes, size: int) -> Iterator[bytes | WrittenRow]:
        """Bytes in pieces, of about this size, and rows that are left out of them."""
        alike = data.count(b"\r") == data.count(b"\r\n")  # a parser counts these as ends of lines, too
        at = 0
        while at < len(data):
            while alike and self._between and (row := self._row(data, at)):
                self.lines += data.count(b"\n", at, row.end)
                at = row.end
                yield row
            end = data.find(self._close, at, at + max(size, len(self._next_row)))
            end = at + size if end < 0 or not self._worth_while else end + len(self._close)
            piece, at = data[at:end], end
            self._between = False
            if piece:
                yield piece

    @property
    def _worth_while(self) -> bool:
        """Whether rows are mostly like those before them."""
        return self._failed < MOST or self._failed * 2 < self._seen

    def ended(self, piece: bytes, row: Element, shapes: RowShapes | None) -> None:
        """A parser has read this, and a row that lies in no other one has ended with it.

        A piece without comments and declarations that ends with a tag ends outside of anything else.
        """
        self._between = piece.endswith(self._close) and b"<!" not in piece and b"<?" not in piece
        if not self._between or piece != self._next_row or shapes is None:
            return
        parts = _parts(piece)
        if parts is None or tuple(parts[1::2]) in self._plans:
            return
        if len(self._plans) == MOST:
            self._plans.clear()
        self._plans[tuple(parts[1::2])] = _plan(piece, row, parts, shapes)
        self._last = [], None

    def _row(self, data: bytes, at: int) -> WrittenRow | None:
        """The next one, if it needs no parser."""
        found = self._next.match(data, at)
        end = data.find(self._close, at) + len(self._close) if found else 0
        if end <= at:
            return None
        self._seen += 1
        self._next_row = data[at:end]
        parts = _parts(self._next_row)
        if parts is not None:
            tags = parts[1::2]
            if tags != self._last[0]:
                self._last = tags, self._plans.get(tuple(tags))
            if self._last[1] is not None:
                return WrittenRow(parts, self._last[1], self._next_row, end)
        self._failed += 1
        return None


def _parts(written: bytes) -> list[str] | None:
    """What is between angle brackets and what is not, in turn; None where something is not plain."""
    count = written.count(b"<")
    if written.translate(None, PLAIN) != b"<>" * count:
        return None
    return written.decode("ascii").replace(">", "<").split("<")


def _plan(written: bytes, row: Element, parts: list[str], shapes: RowShapes) -> RowPlan | None:
    """Where the texts of a row lie; None where its tags alone do not say so."""
    try:
        alone = ElementTree.fromstring(written)
    except ElementTree.ParseError:
        return None
    inside = list(row.iter())
    begin = [i for i, part in enumerate(parts[1::2]) if not part.startswith("/")]
    if any(part.endswith("/") for part in parts[1::2]) or len(begin) != len(inside):
        return None
    if [_told(each) for each in alone.iter()] != [_told(each) for each in inside]:
        return None
    return shapes.plan(row, {id(element): 2 * i + 2 for element, i in zip(inside, begin, strict=True)})


def _told(element: Element) -> tuple[str, dict[str, str], str | None, int]:
    return element.tag, element.attrib, element.text, len(element)
