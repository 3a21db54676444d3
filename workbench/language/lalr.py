"""A parser that runs the LALR(1) tables of lark in a shorter loop than lark's own.

The result of a rule is built when the rule is reduced: there is no tree in between. The rule of this module: it accepts
exactly what lark accepts; a text with a mistake is given to lark, which reports what it expected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from sys import intern
from typing import Any, NamedTuple

import lark
from lark import Token, Tree
from lark.lexer import ContextualLexer
from lark.parse_tree_builder import ExpandSingleChild
from lark.parsers.lalr_analysis import Shift


class Extent(NamedTuple):
    """A part of a text: the offset of its first character, and the offset after its last."""

    start: int
    end: int


class Reduction(NamedTuple):
    """A rule of the grammar with its children, for callers that build nothing else."""

    rule: str
    children: list[Any]
    extent: Extent


Build = Callable[[str, list[Any], Extent], Any]
"""The function that builds the result of a rule from its name (or alias), its children and its extent."""


class Unread(Exception):
    """The exception for a syntax error, with its offset."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


class TooDeep(Exception):
    """The exception for a text with more levels than allowed."""


class LalrReader:
    """A parser over the tables of a grammar in which no rule begins with an empty one.

    Attributes
    ----------
    ignored: the terminals that separate words.
    actions: for each state and word: the next state; or the name of a rule that passes on its only child; or the
        number of children of a rule, lark's function that arranges them, and its name, empty for an inlined rule.
    scans: for each state, the matcher of its next word, and the callbacks that change the type of some words.
    steps: for the state below, a state and a word: the state after all rules that only pass on their child.
    """

    def __init__(self, grammar: lark.Lark) -> None:
        front: Any = grammar.parser
        self.lark = grammar
        assert isinstance(front.lexer, ContextualLexer)
        self._table, self._makers = front.parser._parse_table, front.parser.parser.callbacks
        self._lexers: Any = front.lexer.lexers
        root: Any = front.lexer.root_lexer
        self.ignored = frozenset(root.ignore_types)
        ignored = [each.pattern.to_regexp() for each in root.terminals if each.name in self.ignored]
        self._blank = re.compile(f"(?:{'|'.join(ignored)})*+").match
        self.actions: dict[int, dict[str, Any]] = {}
        self.scans: dict[int, tuple[Callable[[str, int], re.Match[str] | None], Mapping[str, Any]]] = {}
        self.steps: dict[tuple[int, int, str], int] = {}

    def _actions(self, state: int) -> dict[str, Any]:
        actions: dict[str, Any] = {}
        for word, (how, to) in self._table.states[state].items():
            if how is Shift:
                actions[intern(str(word))] = to  # lark's words are slow to compare
                continue
            make, name = self._makers[to], intern(str(to.origin.name))
            passes = isinstance(make, ExpandSingleChild) and len(to.expansion) == 1
            built = "" if name.startswith("_") else intern(str(to.alias or to.options.template_source or name))
            actions[intern(str(word))] = name if passes else (len(to.expansion), make, built, name)
        self.actions[state] = actions
        return actions

    def _scan(self, state: int) -> tuple[Callable[[str, int], re.Match[str] | None], Mapping[str, Any]]:
        lexer = self._lexers[state]
        match, *others = [each.match for each in lexer.scanner._mres]
        assert not others  # lark splits the pattern only for many words
        self.scans[state] = scan = match, lexer.callback
        return scan

    def _step(self, below: int, state: int, word: str) -> int:
        reached = state
        while (name := (self.actions.get(reached) or self._actions(reached)).get(word)).__class__ is str:
            reached = self.actions[below][name]
        self.steps[below, state, word] = reached
        return reached

    def read(self, text: str, start: str, build: Build, depth: float = math.inf) -> Any:
        """Parse a text up to the rule `start`, and return what is built from its words and reductions.

        This loop is inlined for speed: it runs for each word of a text.

        Raises
        ------
        Unread: there is a syntax error. TooDeep: rules that are built are nested more than `depth` levels deep.
        """
        words: Any = Token
        blank, actions, scans, steps, new = self._blank, self.actions, self.scans, self.steps, words._future_new
        last, stack = self._table.end_states[start], [self._table.start_states[start]]
        values, begins, levels = list[Any](), list[int](), list[int]()  # each value, its start offset, and its depth
        position, reached, token = 0, 0, Token("$END", "")
        while True:
            position = blank(text, position).end()  # type: ignore[union-attr]
            if position < len(text):
                match, changed = scans.get(stack[-1]) or self._scan(stack[-1])
                word_match = match(text, position)
                if word_match is None:
                    raise Unread(position)
                end = word_match.end()
                token = new(word_match.lastgroup, word_match[0], position, None, None, None, None, end)
                if token.type in changed:
                    token = changed[token.type](token)
                kind = token.type
            else:
                kind, end = "$END", position
            while True:
                state = stack[-1]
                if state == last and kind == "$END":
                    return values[-1]
                action = (actions.get(state) or self._actions(state)).get(kind)
                if action.__class__ is int:
                    stack.append(action)
                    values.append(token)
                    begins.append(position)
                    levels.append(0)
                    position = reached = end
                    break
                if action is None:
                    raise Unread(position)
                if action.__class__ is str:
                    key = stack[-2], state, kind
                    stack[-1] = steps.get(key) or self._step(*key)
                    continue
                size, make, rule, name = action
                children, begin, level = [], reached, 0
                if size:
                    children, begin, level = values[-size:], begins[-size], max(levels[-size:])
                    del stack[-size:], values[-size:], begins[-size:], levels[-size:]
                value = make(children)
                if rule and value.__class__ is Tree:
                    if level > depth:
                        raise TooDeep
                    value, level = build(rule, value.children, Extent(begin, reached)), level + 1
                stack.append(actions[stack[-1]][name])
                values.append(value)
                begins.append(begin)
                levels.append(level)
