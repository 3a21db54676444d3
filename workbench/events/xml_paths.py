"""Find the content at paths in the XML element of a row; columns are named by paths."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast
from xml.etree import ElementTree

from workbench.errors import InputError
from workbench.events.xml_shape import PathElements

Element = ElementTree.Element
NAME = re.compile(r"[\w.-]*\w[\w.-]*")
LONGEST = 1 << 24
"""Maximum number of characters of all paths of a row."""
KEYED = re.compile(r"(?P<each>[^\[\]]+)\[(?P<key>[^\[\]]+)\](?:/(?P<value>[^\[\]]+))?")

PathContents = list[tuple["str | None", "Element | str"]]
"""The content at a path: elements or the texts of attributes, each with its key, if the path has keys."""


def paths_in(row: Element) -> Iterator[str]:
    """Yield the paths to all elements without children, and to attributes.

    Raises
    ------
    InputError: their total length is too great, as in a document that is made to exhaust memory.
    """
    left, length = [(row, "")], 0
    while left:
        element, above = left.pop()
        path = "" if element is row else above + element.tag
        if path and not len(element):
            yield path
        inside = path and f"{path}/"
        for name in element.attrib:
            yield f"{inside}@{name}"
        left += [(child, inside) for child in reversed(element)]
        length += len(inside) * (1 + len(element.attrib)) + sum(map(len, element.attrib))
        if length > LONGEST:
            raise InputError(f"the paths in <{row.tag}> have more than {LONGEST >> 20} million characters")


Finder = Callable[[Element], Sequence["Element | str"]]
"""Finds the content at a path in an element."""
KeyedContents = dict[str, PathContents]
"""The elements of a row that have keys, by the beginnings of their paths."""


@functools.cache
def contents_finder(path: str) -> Callable[[Element, KeyedContents], PathContents]:
    """Return a function that finds all content at a path in a row, with a cache for that row."""
    keyed = KEYED.fullmatch(path)
    if keyed is None:
        plain = finder(path)
        return lambda row, _: [(None, each) for each in plain(row)]
    start, each, key = path.partition("]")[0], finder(keyed["each"]), finder(keyed["key"])
    inside = finder(keyed["value"]) if keyed["value"] else None

    def find(row: Element, cache: KeyedContents) -> PathContents:
        if start not in cache:
            cache[start] = [(_only_text(key(e)), e) for e in each(row) if not isinstance(e, str)]
        if inside is None:
            return cache[start]
        pairs: PathContents = []
        for name, element in cache[start]:
            values = () if isinstance(element, str) else inside(element)
            pairs.append((name, values[0]) if len(values) == 1 else (None, element))
        return pairs

    return find


def _only_text(contents: Sequence[Element | str]) -> str | None:
    """Return the text of a key; None if there is none, or several."""
    if len(contents) != 1:
        return None
    return contents[0] if isinstance(contents[0], str) else contents[0].text or ""


def finder(path: str) -> Finder:
    """Return a function that finds the content at a path: step by step if all steps are names, which is much faster."""
    before, at, name = path.rpartition("@")
    if at:
        parents: Any = finder(before.rstrip("/")) if before else lambda row: (row,)
        return lambda row: [each.attrib[name] for each in parents(row) if name in each.attrib]
    steps = path.split("/")
    if not all(map(NAME.fullmatch, steps)):
        return lambda row: _search_path(row, path)

    def walk(row: Element) -> Sequence[Element | str]:
        elements: list[Element] = [row]
        for step in steps:
            elements = (
                elements[0].findall(step)
                if len(elements) == 1
                else [e for each in elements for e in each.findall(step)]
            )
        return cast("Sequence[Element | str]", elements)

    return walk


def _search_path(row: Element, path: str) -> Sequence[Element | str]:
    try:
        return row.findall(path)
    except (SyntaxError, TypeError, LookupError, ValueError) as error:  # the errors for a wrong bracket
        raise InputError(f"'{path}' is not a path in XML", hint="for example position/x or @id") from error


def plain_elements(path: str) -> Callable[[Element], PathElements | None]:
    """Return a function that finds the elements at a path of names; if it has keys, each with one key and one value.

    It returns None for all else, which readers of single rows handle.
    """
    keyed = KEYED.fullmatch(path)
    parts = [part for part in keyed.groups() if part] if keyed else [path]
    if not all(NAME.fullmatch(name) for part in parts for name in part.split("/")):
        return lambda _: None
    each, *inner = map(finder, parts)

    def find_elements(row: Element) -> PathElements | None:
        values = cast("Sequence[Element]", each(row))
        keys = None
        if inner:
            several = [cast("Sequence[Element]", find(element)) for find in inner for element in values]
            if any(len(some) != 1 for some in several):
                return None
            only = [some[0] for some in several]
            keys, values = only[: len(values)], only[len(values) :] or values
        return None if any(map(len, (*(keys or ()), *values))) else PathElements(keys, values)

    return find_elements
