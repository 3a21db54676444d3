"""Parsing a text into a tree, in any language that has a `Dialect`.

One error reports all mistakes of a text: the syntax errors, or if there are none, those that its builder finds. A file
with syntax errors is split into *units*: statements, each beginning on its own line, and in some languages items
(pipelines, machines, functions) that contain them. Without items, each unit is parsed by itself. With items, the
smallest units around a mistake whose removal lets the parser continue are blanked out, and the rest is parsed in place.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from lark import Token, UnexpectedInput

from workbench.core.mistakes import Mistakes
from workbench.errors import InputError, LanguageError, Location, WorkbenchError
from workbench.language import syntax as s
from workbench.language.depth import DEPTH, explain_depth, raise_recursion_limit, refuse_brackets
from workbench.language.grammar import grammar
from workbench.language.lalr import Extent, LalrReader, Reduction, TooDeep, Unread
from workbench.language.mistakes import Vocabulary, explain

MAXIMUM, READ = 20, 1_000_000
"""Maximum number of syntax errors that one error reports; and, where there are items, the budget in parsed characters,
which lowers it for long texts, since each mistake costs several passes."""

_BRACE = re.compile(r'#[^\n]*|"[^"\n]*"|[{}]')


@dataclass(frozen=True, eq=False)
class Dialect:
    """A language that can be parsed.

    Attributes
    ----------
    source: the file of its grammar.
    starts: the start rules of the grammar; the first one is that of a file.
    builder: the semantic actions of its rules.
    vocabulary: the words in which its mistakes are explained.
    units: the pattern of the first words of a unit; its group `item`, if it has one, matches those of an item.
    """

    source: Path
    starts: tuple[str, ...]
    builder: type[TreeBuilder]
    vocabulary: Vocabulary
    units: str

    @cached_property
    def reader(self) -> LalrReader:
        """The parser of its grammar, built on first use."""
        return LalrReader(grammar(self.source, self.starts))

    def find_mistake(self, text: str) -> int | None:
        """Return the offset of the first syntax error of a file, or None."""
        try:
            self.reader.read(text, self.starts[0], Reduction)
        except Unread as mistake:
            return mistake.offset
        return None

    def explain(self, text: str, file: str, whole: str, start: str) -> LanguageError:
        """Return the first syntax error of a text that has one; `whole` is the text as the user wrote it."""
        try:
            self.reader.lark.parse(text, start=start)
        except UnexpectedInput as error:
            return explain(error, text, file, whole, self.vocabulary, self.reader.lark.terminals)
        raise AssertionError("lark reads what is not read here")


def read(text: str, file: str, dialect: Dialect, start: str = "") -> Any:
    """Parse a text and return the result of its builder.

    Parameters
    ----------
    start: the rule of the grammar; empty: a file.

    Raises
    ------
    LanguageError: it cannot be read. InputError: it is not a text.
    """
    if not isinstance(text, str):
        raise InputError(f"expected a text, not {text!r}", hint="pass a str; wb.load and load_rules read files")
    raise_recursion_limit()
    refuse_brackets(text, file)
    builder, tables, rule = dialect.builder(text, file), dialect.reader, start or dialect.starts[0]
    try:
        try:
            syntax = tables.read(text, rule, builder.build, DEPTH)
        except TooDeep:
            raise explain_depth(tables.read(text, rule, Reduction), builder.locate) from None
    except Unread as mistake:
        if start:
            raise dialect.explain(text, file, text, start) from None
        raise _mistakes(text, file, dialect, mistake.offset) from None
    builder.mistakes.refuse()
    return syntax


# --- semantic actions -----------------------------------------------------------------------------------

SemanticAction = Callable[[list[Any], Extent, Callable[[Token | Extent], Location]], Any]
"""The semantic action of a rule: from its children, its extent, and a function that locates a word or extent."""


class TreeBuilder:
    """The semantic actions of a grammar: rows of `rows`, or methods for those longer than a line.

    Attributes
    ----------
    rows: by the rule's name (or alias).
    mistakes: those found on the way.
    """

    rows: ClassVar[Mapping[str, SemanticAction]]

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file, self.mistakes = text, file, Mistakes()
        self._lines = text.splitlines()
        self._starts = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]  # \n ends lark's lines

    def build(self, rule: str, children: list[Any], extent: Extent) -> Any:
        """Build the node of a rule from its children, which are built already."""
        row = self.rows.get(rule)
        return getattr(self, rule)(children, extent) if row is None else row(children, extent, self.locate)

    def locate(self, item: Token | Extent) -> Location:
        """Return the location of a word or a rule."""
        start, end = item if isinstance(item, Extent) else (item.start_pos or 0, item.end_pos or 0)
        line = bisect_right(self._starts, start)
        column = start - self._starts[line - 1] + 1
        text = self._lines[line - 1] if line <= len(self._lines) else ""
        length = end - start if end < self._starts[line] else len(text.split("#")[0].rstrip()) + 1 - column
        return Location(self.file, line, column, text, max(1, length))

    def mistake(self, what: str, item: Token | Extent | Location, hint: str) -> None:
        """Store a mistake, to report it with the others."""
        where = item if isinstance(item, Location) else self.locate(item)
        self.mistakes.report(what, where, hint)

    def comment_above(self, extent: Extent) -> str:
        """Return the block of `#` lines directly above."""
        first = line = bisect_right(self._starts, extent.start) - 1
        while first and self._lines[first - 1].lstrip().startswith("#"):
            first -= 1
        return "\n".join(each.strip().removeprefix("#").removeprefix(" ") for each in self._lines[first:line])


_SPELLINGS = {"&": "and", "|": "or"}

EXPRESSIONS: dict[str, SemanticAction] = {
    "real": lambda c, extent, at: s.Literal(float(c[0]), where=at(extent)),
    "string": lambda c, extent, at: s.Literal(str(c[0])[1:-1], where=at(extent)),
    "true": lambda _, extent, at: s.Literal(True, where=at(extent)),
    "false": lambda _, extent, at: s.Literal(False, where=at(extent)),
    "binary": lambda c, _, at: s.Operation(_SPELLINGS.get(str(c[1]), str(c[1])), (c[0], c[2]), where=at(c[1])),
    "prefix": lambda c, extent, at: s.Operation("neg" if c[0] == "-" else "not", (c[1],), where=at(extent)),
}
"""Semantic actions that the languages share."""


def of_type(children: Iterable[Any], *kinds: type) -> tuple[Any, ...]:
    """Return the children that have one of the given types."""
    return tuple(each for each in children if isinstance(each, kinds))


# --- recovery after a mistake ---------------------------------------------------------------------------


def _mistakes(text: str, file: str, dialect: Dialect, offset: int) -> WorkbenchError:
    """Return all syntax errors of a file, the first of them at an offset."""
    mistakes, start, left, at = Mistakes(), dialect.starts[0], text, offset
    mistakes.add(dialect.explain(text, file, text, start))
    pattern = re.compile(rf"^[ \t]*(?:{dialect.units})", re.MULTILINE)
    if "item" not in pattern.groupindex:
        starts = [match.start() for match in pattern.finditer(text)]
        for begin, end in itertools.pairwise([*starts, len(text)]):
            part = "\n" * text.count("\n", 0, begin) + text[begin:end]
            if len(mistakes.errors) <= MAXIMUM and dialect.find_mistake(part) is not None:
                mistakes.add(dialect.explain(part, file, text, start))
        return mistakes.together()
    while len(mistakes.errors) < min(MAXIMUM, READ // max(len(text), 1)):
        for span in _candidates(units(left, pattern), at):
            shorter = left[: span[0]] + re.sub(r"[^\n]", " ", left[slice(*span)]) + left[span[1] :]  # keeps lines
            following = dialect.find_mistake(shorter)
            if following is None or following > max(span[1], at):
                break
        else:
            break
        if following is None:
            break
        left, at = shorter, following
        mistakes.add(dialect.explain(left, file, text, start))
    return mistakes.together()


class Unit(NamedTuple):
    """A statement or a whole item: its start, the end of its first words, its end."""

    start: int
    head: int
    end: int
    is_item: bool


def units(text: str, pattern: re.Pattern[str]) -> list[Unit]:
    """Return the units of a text; a statement ends before a brace that closes an enclosing block."""
    unit_list: list[Unit] = []
    end = item_end = len(text)
    for match in reversed(list(pattern.finditer(text))):
        start, is_item = match.start(), match["item"] is not None
        unit_list.append(Unit(start, match.end(), item_end if is_item else _find_end(text, start, end), is_item))
        end, item_end = start, start if is_item else item_end
    return unit_list[::-1]


def _find_end(text: str, start: int, end: int) -> int:
    depth = 0
    for match in _BRACE.finditer(text, start, end):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return match.start()
    return end


def _candidates(unit_list: list[Unit], at: int) -> Iterator[tuple[int, int]]:
    """Yield spans to blank out, statements before items; a unit's first words may show the mistake of that before."""
    here = max((i for i, unit in enumerate(unit_list) if unit.start <= at), default=None)
    if here is None:
        return
    items = [unit for unit in unit_list[: here + 1] if unit.is_item]
    unit, before = unit_list[here], unit_list[here - 1] if here else None
    if not unit.is_item:
        if before is not None and not before.is_item:
            yield (before.start, before.end) if at < unit.head else (unit.start, unit.end)
            yield before.start, unit.end
        else:
            yield unit.start, unit.end
    for first, last in itertools.pairwise([items[0], *items][-2:] if items else []):
        if at < last.head:
            yield first.start, first.end
        yield last.start, last.end
        yield first.start, last.end
