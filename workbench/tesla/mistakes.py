"""What the grammar of rules cannot read, in the user's words.

All of a file is told at once: behind a mistake, reading goes on with the next line that begins a declaration or a rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from lark import UnexpectedInput

from workbench.language.findings import Findings
from workbench.language.grammar import grammar
from workbench.language.mistakes import Dialect, explain

SOURCE = Path(__file__).with_name("tesla.lark")
MOST = 20
"""The most mistakes in the grammar that are told at once."""
_BEGINS = re.compile(r"^[ \t]*(?:declare|include|rule|Rule|from|define)\b", re.MULTILINE)
_HEADING = re.compile(r"[ \t]*[Rr]ule\s+\w+[ \t]*:?\s*$")

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


TESLA = Dialect(WORDS, SLIPS, _habit)


def mistakes(error: UnexpectedInput, text: str, file: str) -> Exception:
    """All that the grammar cannot read, given the first of it."""
    findings = Findings()
    findings.add(explain(error, text, file, dialect=TESLA))
    for part in _statements(text):
        if len(findings.errors) > MOST:
            break
        try:
            grammar(SOURCE, ("start",)).parse(part)
        except UnexpectedInput as found:
            findings.add(explain(found, part, file, text, TESLA))
    return findings.together()


def _statements(text: str) -> Iterator[str]:
    """Each declaration and each rule, with blank lines before it, so that its places are those in the text."""
    starts = [found.start() for found in _BEGINS.finditer(text)]
    headed = [start for i, start in enumerate(starts) if i == 0 or not _HEADING.match(text[starts[i - 1] : start])]
    for start, end in pairwise([*headed, len(text)]):
        yield "\n" * text.count("\n", 0, start) + text[start:end]
