"""What the grammar of rules cannot read, in the user's words."""

from __future__ import annotations

from workbench.language.mistakes import Vocabulary

WORDS = {
    "INCLUDE": "'include'", "DECLARE": "'declare'", "FACT": "'fact'", "RULE": "'rule'", "DEFINE": "'define'",
    "FROM": "'from'", "PER": "'per'", "WHERE": "'where'", "LIMIT": "'limit'", "EMIT": "'emit'",
    "AT_MOST_ONCE": "'at most once in'",
    "CONSUMING": "'consuming'", "EACH": "'each'", "FIRST": "'first'", "LAST": "'last'", "NEGATION": "'not'",
    "ABSENT": "'absent'", "AFTER": "'after'", "AS": "'as'", "ORDERED": "'ordered by'", "BY": "'by'",
    "DIRECTION": "'asc' or 'desc'", "FOREVER": "'forever'", "AGGREGATOR": "an aggregate", "TIME": "TIME(...)",
    "CALLED": "an aggregate", "AGGREGATE": "'aggregate'",
    "UNIT": "a unit", "WITH": "'with id'", "ID": "'id'", "WITHIN": "'within'",
    "BETWEEN": "'between'",
    "PLUS": "'+'", "MINUS": "'-'", "STAR": "'*'", "SLASH": "'/'", "PERCENT": "'%'", "EQUAL": "'='", "SAME": "'=='",
    "UNEQUAL": "'!='", "LESS": "'<'", "AT_MOST": "'<='", "GREATER": "'>'", "AT_LEAST": "'>='", "AND": "'and'",
    "OR": "'or'", "NOT": "'not'", "TRUE": "'true'", "FALSE": "'false'", "DOTS": "'..'", "DOT": "'.'",
    "LPAR": "'('", "RPAR": "')'", "LSQB": "'['", "RSQB": "']'", "COMMA": "','", "COLON": "':'",
    "PARAMETER": "a parameter such as $a", "NAME": "a name", "INT": "a whole number", "FLOAT": "a number",
    "STRING": "a text in quotes", "$END": "the end of the text",
}  # fmt: skip
"""How each terminal of the grammar is called in a message."""

SLIPS = {
    "&&": "conjunction is written 'and'",
    "||": "disjunction is written 'or'",
    "//": "comments begin with #",
    "<>": "inequality is written !=",
    ":=": "a value is given with =",
    ";": "rules end without a ;",
    "!": "negation is written 'not'",
}


def _habit(expected: frozenset[str], found: str) -> str:
    if found == "'&'" or found == "'|'":
        return "conjunction is written 'and', disjunction 'or'"
    stray = "PLUS" in expected and found in ("'within'", "'between'", "'as'")
    called = {"PLUS", "EMIT"} <= expected and "COMMA" not in expected and found == "'('"
    if {"EACH", "LAST"} <= expected or stray or called or expected == {"RPAR", "WITHIN", "BETWEEN"}:
        return "say what it selects: each, first, last or not; or an aggregate such as $n = COUNT(...)"
    if "WITHIN" in expected and "EMIT" in expected:
        return "a predicate has a window: within 5 min from NAME, or between NAME and NAME"
    return ""


TESLA = Vocabulary(WORDS, SLIPS, _habit)
