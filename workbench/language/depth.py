"""How deeply expressions may be nested: the one place that says so, and that makes room for it.

The readers of the tree go down it by recursion, some frames for each level. Beyond `DEPTH` a text is refused with its
place: by its brackets before it is read, which costs nothing, and by its tree, which knows of `not not x` and of sums.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable

from workbench.errors import LanguageError, Location
from workbench.language.lalr import Extent, Reduction

DEPTH = 2000
"""The most levels: each bracket, operator or call around another is one, and so is each term of a sum but the first."""
_FRAMES = 10
"""More than the frames of Python that any reader of the tree needs for a level."""
_BRACKET = re.compile(r'#[^\n]*|"[^"\n]*"|[(\[{]|[)\]}]')


def make_room() -> None:
    """Let Python go as deep as the language may. It stays so: what reads the tree later goes down as far."""
    if sys.getrecursionlimit() < DEPTH * _FRAMES:
        sys.setrecursionlimit(DEPTH * _FRAMES)


def refuse_brackets(text: str, file: str) -> None:
    """Raise LanguageError where more than `DEPTH` brackets are open at once."""
    if sum(map(text.count, "([{")) <= DEPTH:
        return
    level = 0
    for found in _BRACKET.finditer(text):
        level += (found[0] in "([{") - (found[0] in ")]}")
        if level > DEPTH:
            start = text.rfind("\n", 0, found.start()) + 1
            column = found.start() - start + 1
            raise _too_deep(Location(file, text.count("\n", 0, start) + 1, column))


def explain_depth(tree: Reduction, locate: Callable[[Extent], Location]) -> LanguageError:
    """What is wrong with a tree that has too many levels: its first part that lies too deep in the others."""
    todo = [(tree, 0)]
    while True:
        found, level = todo.pop()
        if level > DEPTH:
            return _too_deep(locate(found.extent)._replace(text="", length=1))  # the line is too long to be shown
        todo += [(child, level + 1) for child in reversed(found.children) if isinstance(child, Reduction)]


def _too_deep(where: Location) -> LanguageError:
    hint = "give the parts names: a = ..., b = ... a ..."
    return LanguageError(f"this is nested more than {DEPTH} levels deep", where=where, hint=hint)
