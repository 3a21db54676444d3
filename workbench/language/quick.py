"""Reading a text by the tables that lark makes, in a shorter loop than lark's own.

The rule of this module: trees are lark's, and so are errors: a text in which there are mistakes is given to lark, which
tells them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from sys import intern
from typing import Any

import lark
from lark import Token, Tree
from lark.lexer import ContextualLexer
from lark.parse_tree_builder import PropagatePositions
from lark.parsers.lalr_analysis import Shift
from lark.tree import Meta


def parsed(grammar: lark.Lark, text: str, start: str = "start") -> Any:
    """The tree of a text.

    Raises
    ------
    lark.UnexpectedInput: as `Lark.parse`.
    """
    found = _tables(grammar)(text, start)
    return grammar.parse(text, start=start) if found is None else found


@cache
def _tables(grammar: lark.Lark) -> QuickParser:
    return QuickParser(grammar)


class QuickParser:
    """The tables of a grammar.

    Attributes
    ----------
    scans: of each state what matches the next word, which words are passed over, which may have ends of lines, and what
        becomes of some.
    """

    def __init__(self, grammar: lark.Lark) -> None:
        front: Any = grammar.parser
        assert isinstance(front.lexer, ContextualLexer)
        self._table, self._makers = front.parser._parse_table, front.parser.parser.callbacks
        self._begins, self._ends = self._table.start_states, self._table.end_states
        self._states: dict[int, dict[str, Any]] = {}
        self._lexers: Any = front.lexer.lexers
        self.scans: dict[Any, tuple[Callable[..., Any], Any, Any, Any]] = {}

    def _ways(self, state: int) -> dict[str, Any]:
        """Of each word the next state, or what is made first: of how many values, how, and of what kind it is."""
        found: dict[str, Any] = {}
        for word, (how, to) in self._table.states[state].items():
            if how is Shift:
                found[intern(str(word))] = to  # lark's words are slow to compare
            else:
                make = self._makers[to]  # which looks for places
                make = make.node_builder if isinstance(make, PropagatePositions) else make
                found[intern(str(word))] = len(to.expansion), make, intern(str(to.origin.name))
        self._states[state] = found
        return found

    def _scan(self, state: Any) -> tuple[Callable[..., Any], Any, Any, Any]:
        lexer = self._lexers[state]
        match, *others = [each.match for each in lexer.scanner._mres]
        assert not others  # so few words have one pattern
        self.scans[state] = found = match, lexer.ignore_types, lexer.newline_types, lexer.callback
        return found

    def __call__(self, text: str, start: str) -> Any:
        """The tree of a text; None where there are mistakes in it.

        As many lines as lark takes calls: each word of a text comes by here.
        """
        words: Any = Token
        states, scans, new = self._states, self.scans, words._future_new
        last, ended = self._ends[start], words.new_borrow_pos
        stack, values = [self._begins[start]], list[Any]()
        firsts, lasts = list[Any](), list[Any]()  # of each value the words with which it begins and ends
        position, line, begin, token = 0, 1, 0, None
        while True:
            if position < len(text):
                state = stack[-1]
                match, passed, several, changed = scans.get(state) or self._scan(state)
                found = match(text, position)
                if found is None:
                    return None
                kind, value, end, first, column = found.lastgroup, found[0], found.end(), line, position - begin + 1
                if kind in several and (count := value.count("\n")):
                    line, begin = line + count, position + value.rindex("\n") + 1
                if kind in passed:
                    position = end
                    continue
                token = new(kind, value, position, first, column, line, end - begin + 1, end)
                if kind in changed:
                    token = changed[kind](token)
                position = end
            else:
                token = ended("$END", "", token) if token is not None else Token("$END", "", 0, 1, 1)
            kind = token.type
            while True:
                action = (states.get(stack[-1]) or self._ways(stack[-1])).get(kind)
                if action is None:
                    return None
                if action.__class__ is int:
                    stack.append(action)
                    values.append(token)
                    firsts.append(token)
                    lasts.append(token)
                    break
                size, make, name = action
                children = values[-size:] if size else []
                if size == 0:
                    firsts.append(None)
                    lasts.append(None)
                elif size > 1:
                    begins, ends = firsts[-size:], lasts[-size:]
                    del values[1 - size :], stack[1 - size :], firsts[1 - size :], lasts[1 - size :]
                    firsts[-1] = begins[0] or next(filter(None, begins), None)
                    lasts[-1] = ends[-1] or next(filter(None, reversed(ends)), None)
                if size:
                    values.pop()
                    stack.pop()
                value = make(children)
                if value.__class__ is Tree and firsts[-1] is not None and value.meta.empty:
                    place(value.meta, firsts[-1], lasts[-1])
                values.append(value)
                stack.append(states[stack[-1]][name])
                if kind == "$END" and stack[-1] == last:
                    return value


def place(meta: Meta, first: Any, last: Any) -> None:
    """Say where a tree begins and ends."""
    meta.line, meta.column, meta.start_pos = first.line, first.column, first.start_pos
    meta.end_line, meta.end_column, meta.end_pos = last.end_line, last.end_column, last.end_pos
    meta.empty = False
