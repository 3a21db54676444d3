"""A condition over pipes as the Python expression that a test asserts, where the two mean the same.

The rule of this module: no arithmetic. That of a finite domain is not Python's, so a condition that computes is
not translated; a test says then what the pipes carried.
"""

from __future__ import annotations

from collections.abc import Mapping

from workbench.conformance.written_tests.recipe import as_source
from workbench.core.ops import AND, COMPARISONS, IMPLIES, NOT, OR
from workbench.language import syntax as s
from workbench.language.properties import dotted

TRANSLATED = COMPARISONS | {row.symbol: row for row in (AND, OR, NOT, IMPLIES)}
"""The operators that compute nothing."""


class Untranslated(Exception):
    """The condition has something that a test cannot say plainly."""


def translate(e: s.Expression, names: Mapping[str, str], capacities: Mapping[str, int]) -> str:
    """The condition over `now` (pipe to the value it carries) and `waiting` (queue to its length).

    Parameters
    ----------
    names: pipes and outputs, each to the pipe it means.
    capacities: the bounded queues.

    Raises
    ------
    Untranslated: it computes, looks into a record, or speaks of something else than pipes and queues.
    """
    if isinstance(e, s.Literal):
        return as_source(e.value)
    if isinstance(e, s.Operation):
        return _operation(e, names, capacities)
    if isinstance(e, s.Field) and isinstance(e.value, s.Call) and e.value.name == "queue":
        return _queue(e.value, e.name, capacities)
    path = dotted(e)
    if path is not None:
        return _named(path.split("."), names)
    raise Untranslated(str(e))


def _operation(e: s.Operation, names: Mapping[str, str], capacities: Mapping[str, int]) -> str:
    parts = [translate(part, names, capacities) for part in e.operands]
    if e.operator not in TRANSLATED:
        raise Untranslated(f"'{e.operator}' computes")
    return TRANSLATED[e.operator].python.format(*parts)


def _queue(call: s.Call, label: str, capacities: Mapping[str, int]) -> str:
    queue = dotted(call.arguments[0]) or ""
    if label == "full" and queue in capacities:
        return f"(waiting[{as_source(queue)}] == {capacities[queue]})"
    if label == "length":
        return f"waiting[{as_source(queue)}]"
    raise Untranslated(f"queue({queue}).{label}")


def _named(parts: list[str], names: Mapping[str, str]) -> str:
    for size in range(len(parts), 0, -1):
        pipe = names.get(".".join(parts[:size]))
        if pipe is None:
            continue
        rest = parts[size:]
        if rest == ["present"]:
            return f"({as_source(pipe)} in now)"
        if rest in ([], ["value"]):
            return f"now[{as_source(pipe)}]"
        raise Untranslated(".".join(parts))
    if len(parts) == 1 and parts != ["overflow"]:
        return as_source(parts[0])  # the label of an enumeration
    raise Untranslated(".".join(parts))
