"""Syntax errors in rules, explained in the user's words."""

from __future__ import annotations

from workbench.errors import listed
from workbench.language.mistakes import COMMON, COMMON_SLIPS, Vocabulary
from workbench.tesla.tree import SPELLED

WORDS = {
    **COMMON, "RULE": "'rule'", "AT_MOST_ONCE": "'at most once in'", "ORDERED": "'ordered by'", "WITH": "'with id'",
    "DIRECTION": "'asc' or 'desc'", "AGGREGATOR": "an aggregate", "CALLED": "an aggregate", "LEADING": "an aggregate",
    "TIME": "TIME(...)", "UNIT": "a unit", "PARAMETER": "a parameter such as $a",
}  # fmt: skip
"""Names of the grammar's terminals in messages, where they differ from the grammar's own."""

SLIPS = {
    **COMMON_SLIPS,
    ":=": "a value is assigned with =",
    ";": "rules end without a ;",
    "!": "negation is written 'not'",
}


NO_FUNCTIONS = "rules have aggregates, and no other functions: let a pipeline compute the value first, as an output"


def _habit(expected: frozenset[str], token: str) -> str:
    behind_number = "UNIT" in expected and "PLUS" not in expected
    if behind_number and token.strip("'").isalpha() and token not in ("'emit'", "'where'", "'and'"):
        return "the units are us, ms, s, min, h, d and events"
    if "PLUS" in expected and token == "'div'":
        return "rules divide with /, as floats: a pipeline can compute floor(x / y) before"
    if "PLUS" in expected and token == "'mod'":
        return "the remainder is written %"
    if "EMIT" in expected and token in ("'('", "'['") and expected.isdisjoint(("AS", "PLUS", "COMMA")):
        return "constraints come before 'as': last TYPE(a == $a) as NAME"
    if token == "'fact'" and "DECLARE" in expected:
        return "write 'declare fact'"
    if token == "'['" and {"AS", "EMIT"} <= expected:
        return "parameters come before constraints: TYPE[$a = attribute](value > 1)"
    if expected == {"NAME"} and token.strip("'").isdigit():
        return (
            f"types are {listed(SPELLED.values())}; the numbers of a model are those of check --values TYPE.NAME=0..3"
        )
    if expected == {"PARAMETER"}:
        return "brackets bind parameters, as in TYPE[$a = attribute]; conditions stand in parentheses: TYPE(value > 1)"
    if expected == {"DOTS", "FROM"}:
        return "a window begins or ends at an event: within 5 min from NAME"
    if {"EMIT", "WHERE"} <= expected and not token.startswith("'"):  # the text ends
        return "a rule ends with what it emits: emit TYPE(attribute = value)"
    if token == "'='" and {"COLON", "COMMA"} <= expected:
        return "types stand here, as in define A(x: int) from ...; values stand behind it: where x = B.y"
    if "LEADING" in expected:
        return "a rule begins with the event that triggers it: from TYPE(...) as NAME and ..."
    if {"INT", "FLOAT", "FOREVER"} <= expected:
        return "state the length of the window: within 5 min, within 3 events, or within forever"
    if token == "'&'" or token == "'|'":
        return "conjunction is written 'and', disjunction 'or'"
    called = {"PLUS", "COMMA"} <= expected and token == "'('"
    if called or (token == "','" and expected == {"RPAR", "WITHIN", "BETWEEN"}):
        return NO_FUNCTIONS
    stray = "PLUS" in expected and token in ("'within'", "'between'", "'as'")
    called = {"PLUS", "EMIT"} <= expected and "COMMA" not in expected and token == "'('"
    if {"EACH", "LAST"} <= expected or stray or called or expected == {"RPAR", "WITHIN", "BETWEEN"}:
        return "state what it selects: each, first, last or not; or an aggregate such as $n = COUNT(...)"
    if "EMIT" in expected and ("WITHIN" in expected or token == "'from'"):
        return "a predicate has a window: within 5 min from NAME, or between NAME and NAME"
    return ""


TESLA = Vocabulary(WORDS, SLIPS, _habit)
