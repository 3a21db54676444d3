"""Reading on behind a mistake: what cannot be read is blanked out, and the rest is read at its place.

A file is seen here as *units*: statements, each beginning on a line of its own, and the pipelines, machines and
functions that hold them. The smallest ones around a mistake are left out with which the text can be read further.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lark import UnexpectedInput, UnexpectedToken

from workbench.errors import WorkbenchError
from workbench.language.findings import Findings
from workbench.language.grammar import grammar
from workbench.language.mistakes import explain

MOST, READ = 20, 1_000_000
"""The most mistakes in the grammar that are told at once; fewer in long texts, where readings have so many characters
together: each mistake costs some of them."""

_NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_UNIT = re.compile(
    rf"^[ \t]*(?:(?P<item>pipeline|machine|function)\b|(?:return|check|monitor|fault|capacity|state|var)\b"
    rf"|{_NAME}(?:[ \t]*,[ \t]*{_NAME})*[ \t]*=(?!=)|{_NAME}[ \t]*->)",
    re.MULTILINE,
)
_BRACE = re.compile(r'#[^\n]*|"[^"\n]*"|[{}]')

Span = tuple[int, int]


def mistakes(error: UnexpectedInput, text: str, file: str) -> WorkbenchError:
    """All that the grammar cannot read in a file, given the first of it."""
    findings, left = Findings(), text
    most = min(MOST, READ // max(len(text), 1))
    found: UnexpectedInput | None = error
    while found is not None:
        findings.add(explain(found, left, file, text))
        span = _left_out(left, _offset(found, left)) if len(findings.errors) < most else None
        if span is None:
            break
        left = _blanked(left, span)
        found = _first(left)
    return findings.together()


@dataclass(frozen=True)
class Unit:
    """A statement, or a whole pipeline, machine or function: where it begins, its first words, and where it ends."""

    start: int
    head: int
    end: int
    item: str | None


def units(text: str) -> list[Unit]:
    """The units of a text; those of statements end before a brace that closes something around them."""
    found = list(_UNIT.finditer(text))
    starts = [m.start() for m in found] + [len(text)]
    made = []
    for i, match in enumerate(found):
        item = match["item"]
        after = (m.start() for m in found[i + 1 :] if m["item"])
        end = next(after, len(text)) if item else _closed(text, match.start(), starts[i + 1])
        made.append(Unit(match.start(), match.end(), end, item))
    return made


def _closed(text: str, start: int, end: int) -> int:
    depth = 0
    for match in _BRACE.finditer(text, start, end):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth < 0:
            return match.start()
    return end


def _left_out(text: str, at: int) -> Span | None:
    """The part of a text to leave out because of the mistake at an offset; None where leaving out does not help."""
    for span in _candidates(units(text), at):
        shorter = _blanked(text, span)
        following = _first(shorter)
        if following is None or _offset(following, shorter) > max(span[1], at):
            return span
    return None


def _first(text: str) -> UnexpectedInput | None:
    """The first mistake in a text."""
    try:
        grammar().parse(text, start="start")
    except UnexpectedInput as error:
        return error
    return None


def _offset(error: UnexpectedInput, text: str) -> int:
    ended = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    return len(text) if ended else int(getattr(error, "pos_in_stream", None) or 0)


def _candidates(found: list[Unit], at: int) -> Iterator[Span]:
    """From the statement to the whole pipeline; a mistake in the first words of one is often of the one before."""
    here = max((i for i, unit in enumerate(found) if unit.start <= at), default=None)
    if here is None:
        return
    items = [unit for unit in found[: here + 1] if unit.item]
    unit, before = found[here], found[here - 1] if here else None
    if not unit.item:
        if before is not None and not before.item:
            if at < unit.head:
                yield before.start, before.end
            else:
                yield unit.start, unit.end
            yield before.start, unit.end
        else:
            yield unit.start, unit.end
    for first, last in itertools.pairwise([items[0], *items][-2:] if items else []):
        if at < last.head:
            yield first.start, first.end
        yield last.start, last.end
        yield first.start, last.end


def _blanked(text: str, span: Span) -> str:
    """The text with blanks for a part of it; lines stay lines."""
    return text[: span[0]] + re.sub(r"[^\n]", " ", text[slice(*span)]) + text[span[1] :]
