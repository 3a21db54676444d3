"""Warn of what a pipeline may do but seldom should: joins of events of different times, `div` of floats, lone states.

The rule of this module: each warning has its place in the user's text and a remedy, and is reported once.
"""

from __future__ import annotations

import logging
import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar

from workbench.core.domain import Reals, SomeFloats
from workbench.core.fold import postorder
from workbench.core.function import TypedFunction
from workbench.core.named_operators import MATCHES
from workbench.core.ops import DIV
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor
from workbench.core.term import Term
from workbench.errors import Location, PipelineError
from workbench.processors.held.lags import lag_warnings
from workbench.processors.moore import Moore

WantedPart = TypeVar("WantedPart")
LOG = logging.getLogger("workbench")
_issued = deque[str](maxlen=1000)
"""The warnings that have been reported."""
_ESCAPED = re.compile(r"\\\\[bBdDsSwW]")
"""A likely mistake in a pattern: an escaped backslash before the letter of a character class."""
MAX_JOIN_WARNINGS = 5
"""Maximum number of warnings about joins of one pipeline; further ones are counted on one line."""


def report_warnings(pipeline: Pipeline, say: Callable[[str], object] = LOG.warning) -> None:
    """Report each warning of a pipeline once, of joins at most the first few, however often it is loaded and run."""
    texts = [str(each) for each in pipeline.derive("lag warnings", lambda: lag_warnings(pipeline))]
    if len(texts) > MAX_JOIN_WARNINGS:
        more = len(texts) - MAX_JOIN_WARNINGS
        texts[MAX_JOIN_WARNINGS:] = [
            f"{more} more joins in {pipeline.name} pair events of different times (draw marks them all)"
        ]
    texts += map(str, pipeline.derive("term warnings", lambda: term_warnings(pipeline)))
    texts += map(str, pipeline.derive("state warnings", lambda: state_warnings(pipeline)))
    for text in texts:
        if text not in _issued:
            _issued.append(text)
            say(text)


def term_warnings(pipeline: Pipeline) -> list[PipelineError]:
    """Return a warning for each place in a text with a term of `TERM_WARNINGS`."""
    return [
        PipelineError(what, where=where, hint=hint)
        for is_warned_of, what, hint in TERM_WARNINGS
        for where in dict.fromkeys(_find_locations(pipeline, is_warned_of))
    ]


def state_warnings(pipeline: Pipeline) -> list[PipelineError]:
    """Return a warning for each state of a machine in a text that no sequence of its transitions enters."""
    return [
        PipelineError(
            f"state '{state}' is never entered: no transitions lead from '{machine.names[0]}' to it",
            where=machine.locations[state],
            hint="write a transition to it, or remove the state",
        )
        for processor in _list_processors(pipeline)
        for machine in _list_parts(processor, Moore)
        for state in machine.unentered
        if state in machine.locations
    ]


def _find_locations(pipeline: Pipeline, is_warned_of: Callable[[Term], bool]) -> Iterator[Location]:
    """Yield the locations of such terms in a text; one in Python is intended."""
    for node in pipeline.nodes:
        typed = pipeline.typed[node.name]
        for each in _list_parts(typed, Pipeline):
            yield from _find_locations(each, is_warned_of)
        if isinstance(node.where, Location) and any(map(is_warned_of, postorder([*_list_parts(typed, Term)]))):
            yield node.where


def _list_processors(pipeline: Pipeline) -> Iterator[Processor]:
    """Yield the processors of a pipeline, and of the pipelines in them."""
    for processor in pipeline.typed.values():
        yield processor
        for each in _list_parts(processor, Pipeline):
            yield from _list_processors(each)


def _list_parts(value: Any, kind: type[WantedPart]) -> Iterator[WantedPart]:
    """Yield the parts of a processor that are of a kind, itself included, but nothing inside pipelines and terms."""
    if isinstance(value, kind):
        yield value
    if isinstance(value, Pipeline | Term):
        return
    if isinstance(value, TypedFunction):
        yield from _list_parts(value.body, kind)
    elif isinstance(value, tuple | Mapping):
        for each in value.values() if isinstance(value, Mapping) else value:
            yield from _list_parts(each, kind)
    elif isinstance(value, Processor) or (is_dataclass(value) and not isinstance(value, type)):
        for field in fields(value):
            yield from _list_parts(getattr(value, field.name), kind)


def _divides_floats(term: Term) -> bool:
    return term.op is DIV and isinstance(term.domain, Reals | SomeFloats)


def _escapes_a_backslash(term: Term) -> bool:
    return term.op is MATCHES and _ESCAPED.search(str(term.args[1].payload)) is not None


TERM_WARNINGS = (
    (
        _divides_floats,
        "'div' of floats rounds down: 7.5 div 2 is 3.0",
        "write x / y for the quotient, floor(x / y) to round it down",
    ),
    (
        _escapes_a_backslash,
        r"'\\' in a pattern is one backslash of the log: a text in a pipeline has no escapes",
        r"write \b, \d, \s, \w with one backslash, and [\\] for a backslash of the log",
    ),
)
"""The terms that are likely mistakes: which ones, what is wrong, and what to write."""
