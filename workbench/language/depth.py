"""The limit on the nesting of expressions, and the recursion limit that it needs.

The readers of the tree are recursive, with several frames per level. A text deeper than `DEPTH` is refused with its
location: by its brackets before parsing, which is cheap, and by its tree, which also counts `not not x` and sums.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from workbench.errors import LanguageError, Location
from workbench.language.lalr import Extent, Reduction

DEPTH = 2000
"""Maximum number of levels: each bracket, operator, enclosing call, and term of a sum after the first adds one."""
_FRAMES = 10
"""Upper bound on the Python frames that any reader of the tree needs per level."""
_BRACKET = re.compile(r'#[^\n]*|"[^"\n]*"|[(\[{]|[)\]}]')


def raise_recursion_limit() -> None:
    """Raise Python's recursion limit to fit `DEPTH`, for good: later readers of the tree recurse as deep."""
    if sys.getrecursionlimit() < DEPTH * _FRAMES:
        sys.setrecursionlimit(DEPTH * _FRAMES)


def refuse_brackets(text: str, file: str) -> None:
    """Raise LanguageError where more than `DEPTH` brackets are open at once."""
    if sum(map(text.count, "([{")) <= DEPTH:
        return
    level = 0
    for bracket in _BRACKET.finditer(text):
        level += (bracket[0] in "([{") - (bracket[0] in ")]}")
        if level > DEPTH:
            start = text.rfind("\n", 0, bracket.start()) + 1
            column = bracket.start() - start + 1
            raise _too_deep(Location(file, text.count("\n", 0, start) + 1, column))


def explain_depth(tree: Reduction, locate: Callable[[Extent], Location]) -> LanguageError:
    """Return the error for a tree with too many levels, at its first part that is nested too deep."""
    todo = [(tree, 0)]
    while True:
        part, level = todo.pop()
        if level > DEPTH:
            return _too_deep(locate(part.extent)._replace(text="", length=1))  # the line is too long to show
        todo += [(child, level + 1) for child in reversed(part.children) if isinstance(child, Reduction)]


def _too_deep(where: Location) -> LanguageError:
    hint = "give the parts names: a = ..., b = ... a ..."
    return LanguageError(f"this is nested more than {DEPTH} levels deep", where=where, hint=hint)
