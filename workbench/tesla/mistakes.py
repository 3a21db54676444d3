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
    "===": "equality is written ==",
    **dict.fromkeys(("^", "**"), "there is no power operator: multiply"),
}
_SELECTS = r"(?:each|first|last|not|absent)"
_SELECTED = r"\b(each|first|last|not|absent)\s+(\w+)"
_PART, _RULE = r"(?:(?!\b(?:and|emit)\b)[^§])*", r"(?:(?!\bemit\b)[^§])*"
"""The rest of a predicate, and of a rule before it emits."""
NO_NULL = "null has no literal: value == value holds where value is not null (nor NaN); pipelines have is_null(x)"
NO_PARENTHESES = (
    "write a predicate without parentheses around it: from TYPE(...) and each TYPE(...) within 5 min from NAME"
)
PHRASES = {
    r"§check\s+([^\n]+)": r"properties of rules are options of the command: workbench check FILE.tesla -p '\1'",
    r"[(,]\s*\w+\s*:\s*§[\d{]": (
        f"types are {listed(SPELLED.values())}; the numbers of a model are those of check --values TYPE.NAME=0..3"
    ),
    r"[(,]\s*(\w+)\s*§:\s*(\w+|[\"'][^\"']*.)": r"values are compared with ==, <, ...: \1 == \2",
    r"\bdeclare\b[^()]*\([^()]*:\s*\w+\s*§[<\[(]": "an attribute is one value: write one event for each",
    r"§(?:group|partition)\s+by\s+([\w.]+)": (
        "rules compare keys: from A[$k = id] and $n = COUNT(A(id == $k) within 5 min from A)"
    ),
    r"\w§(?:\.(?:win|std|ext)[:.]|#\w)": "predicates and aggregates have windows: each TYPE within 5 min from NAME",
    r"\b(first|last)\s+§\d": r"\1 selects one event: \1 TYPE; an aggregate reads several: $n = COUNT(...)",
    _SELECTED + r"\s*§\.?(\w+\s*[<>=!]+\s*[-\w.$\"']+)": r"conditions go in parentheses: \1 \2(\3)",
    _SELECTED + r"\s*§[<>=!]": r"conditions go in parentheses: \1 \2(attribute > 45)",
    rf"\bwhere\b{_RULE}\band\s+(?:each|first|last|not|absent)\s+(?:§\w|\w+\s*§within)": (
        "where follows all predicates, before emit"
    ),
    _SELECTED + rf"{_PART}\bwhere\s+(?:\2\.)?({_RULE}?)\s*§(?:within|between)": (
        r"a condition on \2 goes in its parentheses, before the window: \1 \2(\3)"
    ),
    r"\band\s+(\w+)\s*§=\s*(\w+\()": r"parameters begin with $: $\1 = \2...)",
    r"\band\s+(\w+\()[^§]*\)\s*§as\s+(\w+)": r"an aggregate is named before it: $\2 = \1...)",
    r"=\s*(\w+\(\w+)" + _PART + r"\)\s*§(?:within|between)": r"the window goes inside the aggregate: \1 within ...)",
    r"\band\s+(?:any|all|every|some)\s+§\w": "write each for all such events, first or last for one of them",
    rf"\bfrom\b{_RULE}[\w)]\s*§,\s*(?:(?:each|first|last|not|absent)\b|\$)": "predicates are joined by 'and'",
    rf"\bfrom\b{_RULE}§or\b": "a rule has one pattern: write a rule for each pattern",
    rf"\babsent\s+(\w+){_PART}§(?:from|between)\s+(\w+)": (
        r"absent is about later events: within 5 min after \2; for earlier ones write not \1"
    ),
    r"\bemit\s+\w+\s*\((?:[^()]*,)?\s*(\w+)§\.(\w+)": r"each value has a name: \2 = \1.\2",
    r"\bemit\s+(\w+)\s*\((?:[^()]*,)?\s*(?:\w+\s*§[):,]|§[-\"'$\d])": r"each value has a name: \1(attribute = value)",
    r"(?:\bemit\s+\w+\s*\([^()]*|\[[^\]]*)\w\s*=§=": "a value is assigned with =",
    r"§is\s+(?:not\s+)?null\b": NO_NULL,
    r"\bconsuming\s[\w\s,]*§at\b": "'at most once' precedes 'consuming'",
    r"\bdeclare\s+(?:fact\s+|aggregate\s+)?\w+\s*\((?:[^)]*,)?\s*(\w+)\s*§[,)]": r"declare its type: \1: int",
    r"§(?:event|type|class|schema|create\s+\w+)\s+(\w+)": r"types of events are declared: declare \1(...)",
    r"§import\b|\binclude\s+§[\w<]": 'write include "FILE.tesla"',
    rf"\b(?:from|each|first|last|absent)\s*§\(|\band\s*\(\s*(?:{_SELECTS}\s+§\w|\w+\s*§\()": NO_PARENTHESES,
    r"\bnot\s*\(\s*\w+\s*(?:\([^§]*\)\s*)?\)\s*§(?:within|between)": NO_PARENTHESES,
    rf"\bfrom\b(?![^§]*\bwhere\b){_RULE}(?:§(?:->|=>|,|(?:followed|then|before|after|join|xor)\b)|\band\s+then\s+§)": (
        "a pattern begins with its last event: from LAST and each FIRST within 5 min from LAST"
    ),
    r"\bfrom\s+(?:every|each|any|all|distinct)\s+§\w": "a rule is tested for every event: write from TYPE",
    rf"\bfrom\s{_PART}\s§{_SELECTS}\s": "predicates are joined by 'and'",
    r"\b(?:not\s+exists|and\s+(?:no|without|never))\s+§(\w+)": r"write not \1",
    r"\band\s+(?:LAST|latest|previous|newest|most|the)\s+§\w": "write and last TYPE within 5 min from NAME",
    r"\band\s+(?:at\s+§least|exactly\s+§|\d+\s+§\w|\w+\s*§\{)|§[<>]=?\s*\d+\s+times\b": (
        "an aggregate counts events: and $n = COUNT(TYPE within 5 min from NAME) where $n >= 3"
    ),
    r"\bwithin\s+\d+\s*(?:\w+\s+§\d|§[a-z]+\d|§:)": "a length has one number and one unit: 90 min",
    r"\bwithin\s+\d+\s*(?:\w+\s+)?§(?:to\b|-)": "a window between two lengths is within 1 .. 5 min from NAME",
    r"([\w.]+)\s+§in\s*\(": r"write \1 == 1 or \1 == 2",
    r"[(,]\s*([\w.]+)\s+§between\s+[-\d\"']": r"write \1 >= 1 and \1 <= 3",
    r"\s§like\b": "texts are compared with ==: let a pipeline compute matches(x, ...) first, as an output",
    r"[<>]=?\s*[\w.$]+\s*§[<>]": "comparisons do not chain: write a < b and b < c",
    r"\w\(\s*(?:§\*|(?:each|all|distinct)\s+§\w|\w+\s+§of\b)": (
        "an aggregate reads events, COUNT(TYPE within 5 min from NAME), or values of them, SUM(TYPE.value within ...)"
    ),
    rf"\bfrom\s+[A-Za-z]{_RULE}§(?:having|if|when)\b": "a condition on the match begins with where, before emit",
    r"=\s*(?:if|case)\s+§\w|=[^=,()]*§\?": (
        "an expression has no choice: write a rule for each case, or let a pipeline compute the value"
    ),
    r"\bfrom\s+(\w+)\s*§[=:]\s*(\w+)": r"a name follows its type: \2 as \1",
    r"\bas\s+§\$|\$\w+\s*§\.": "parameters have a $, and names of events have none: as NAME, NAME.attribute",
    r"\brule\s+§[\"']": "names have no quotes: rule NAME:",
    r"\b(?:rule|declare|define|fact)\s+\w+§-\w": "names have letters, digits and _",
    rf"\bfrom\s+[A-Za-z]{_RULE}§(?:return|select|insert)\b": "a rule ends with emit TYPE(attribute = value)",
    rf"(?:\bfrom|{_SELECTS})\s+(\w+)\s+§(?!(?:where|limit|emit|order)\b)([A-Za-z]\w*)\s+(?:and|emit|where|within)\b": (
        r"a name is given with as: \1 as \2"
    ),
    rf"\bdefine\s+(\w+)\s*((?:\([^()]*\))?)\s*from\b{_RULE}§emit\b": (
        r"a rule that ends with emit declares its type first: declare \1\2, then from ... emit \1(attribute = value)"
    ),
    r"\bemit\s+\w+\s*(?:\([^()]*\)\s*)?§(?:,|and\b|emit\b)": "a rule emits one composite: write two rules",
    r"\b(?:rule\s+\w+|\w+)\s*§\{": "rules have no braces: attributes go in parentheses, TYPE(value > 1)",
    r"§(?:(?:at\s+most\s+)?once\b|every\s+\d)": "write at most once in 5 min, or at most once in 5 min per $a",
    r"[(,]\s*(int|float|bool|string)\s+§(\w+)": r"the name comes first: \2: \1",
    r"\bdeclare\b[^()]*\([^()]*?(\w+)\s+§(\w+)": r"a ':' precedes the type: \1: \2",
    r"\bdeclare\s+(?:event|type|static|table|facts)\s+§(\w+)": r"events are declared as \1(...), facts as fact \1(...)",
    r"\bdeclare\s+(?:fact\s+)?(\w+)\s*§\s*(?:$|(?:declare|from|define|rule)\b)": r"write declare \1()",
    r":\s*\w+§\?": "every attribute may be null: leave out the ?",
}
"""Common meaningless phrases, each with a hint; see `Vocabulary`."""


NO_FUNCTIONS = "the only functions of rules are aggregates: let a pipeline compute the value first, as an output"


def _habit(expected: frozenset[str], token: str) -> str:
    word = token.strip("'").lower()
    if {"DECLARE", "FROM"} <= expected and word in ("from", "rule", "declare", "define") and word not in token:
        return f"the words of the language are in lower case: {word}"
    if {"DECLARE", "FROM"} <= expected and word in ("select", "insert", "every", "when", "on", "if", "for"):
        return "write a rule as from TYPE ... emit TYPE(attribute = value)"
    behind_number = "UNIT" in expected and "PLUS" not in expected
    if behind_number and token.strip("'").isalpha() and token not in ("'emit'", "'where'", "'and'"):
        return "the units are us, ms, s, min, h, d and events"
    if "PLUS" in expected and token == "'div'":
        return "rules divide with /, as floats: let a pipeline compute floor(x / y) first"
    if "PLUS" in expected and token == "'mod'":
        return "the remainder is written %"
    if "EMIT" in expected and token in ("'('", "'['") and expected.isdisjoint(("AS", "PLUS", "COMMA")):
        if token == "'['":
            return "parameters come before 'as': TYPE[$a = a] as NAME"
        return "constraints come before 'as': last TYPE(a == $a) as NAME"
    if token in ("'where'", "'limit'") and expected & {"EMIT", "$END"} and "PLUS" not in expected:
        return "where and limit come in this order, before emit"
    if token == "'fact'" and "DECLARE" in expected:
        return "write 'declare fact'"
    if token == "'['" and {"AS", "EMIT"} <= expected:
        return "parameters come before constraints: TYPE[$a = attribute](value > 1)"
    if expected == {"PARAMETER"}:
        return "brackets bind parameters, as in TYPE[$a = attribute]; conditions go in parentheses: TYPE(value > 1)"
    if expected == {"AFTER"}:
        return "a deadline counts from the trigger: within 5 min after NAME"
    if expected == {"DOTS", "FROM"}:
        return "a window begins or ends at an event: within 5 min from NAME"
    if {"EMIT", "WHERE"} <= expected and not token.startswith("'"):  # the text ends
        return "a rule ends with its composite: emit TYPE(attribute = value)"
    if token == "'='" and {"COLON", "COMMA"} <= expected:
        return "write types here, as in define A(x: int) from ..., and values after it: where x = B.y"
    if "LEADING" in expected:
        return "a rule begins with the event that triggers it: from TYPE(...) as NAME and ..."
    if {"INT", "FLOAT", "FOREVER"} <= expected:
        return "state the length of the window: within 5 min, within 3 events, or within forever"
    if token == "'&'" or token == "'|'":
        return "conjunction is written 'and', disjunction 'or'"
    called = {"PLUS", "COMMA"} <= expected and token == "'('"
    if called or (token == "','" and expected == {"RPAR", "WITHIN", "BETWEEN"}):
        return NO_FUNCTIONS
    stray = "PLUS" in expected and "COMMA" not in expected and token in ("'within'", "'between'", "'as'")
    called = {"PLUS", "EMIT"} <= expected and "COMMA" not in expected and token == "'('"
    if {"EACH", "LAST"} <= expected or stray or called or expected == {"RPAR", "WITHIN", "BETWEEN"}:
        return "state the selection: each, first, last or not; or an aggregate such as $n = COUNT(...)"
    if "EMIT" in expected and ("WITHIN" in expected or token == "'from'"):
        return "a predicate has a window: within 5 min from NAME, or between NAME and NAME"
    return ""


TESLA = Vocabulary(WORDS, SLIPS, PHRASES, _habit)
