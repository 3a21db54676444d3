"""Explanations of syntax errors in the user's words.

Lark reports the token it found and the terminals it expected; this module names both as a user would,
and recognises common slips (`==`, `%`, a parenthesis left open).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lark import UnexpectedCharacters, UnexpectedInput, UnexpectedToken
from lark.lexer import TerminalDef

from workbench.errors import LanguageError, Location, did_you_mean, listed

OPERATORS = frozenset(
    "PLUS MINUS STAR SLASH DIV MOD EQUAL UNEQUAL LESS AT_MOST GREATER AT_LEAST".split()
    + "AND OR ARROW AMPERSAND BAR UNTIL RELEASE".split()
)
_TEMPORAL = frozenset("AG AF AX EG EF EX G F X ALL EXISTS".split())
_TYPE = frozenset("LEFT MINUS LBRACE NAME INT".split())
_OPERANDS = frozenset("INT FLOAT STRING TRUE FALSE GENERIC LEFT LBRACE NOT BANG IF".split()) | _TEMPORAL

_AFTER = frozenset("_DOTS SAT CHECKED LEFT".split())
"""Terminals that can follow an expression in an argument, but are rarely what is missing: a comma is."""

_ELSEWHERE = frozenset({"_UPDATES", "ASSIGN"})
"""Terminals that have a meaning only in machines, and are slips elsewhere."""

COMMON = {
    "NAME": "a name", "INT": "a whole number", "FLOAT": "a number", "STRING": "a text in quotes",
    "$END": "the end of the text",
}  # fmt: skip
WORDS = {
    **COMMON, "CAPACITY": "'capacity queue'", "UP_TO": "'at most'", "_UPDATES": "'/'",
    "GENERIC": "a pipeline with parameters",
    "PROPERTY": "the name of a property", **dict.fromkeys(_TEMPORAL, "a temporal operator"),
}  # fmt: skip
"""The names of terminals in messages, where they differ from the grammar's spelling."""

COMMON_SLIPS = {
    "&&": "conjunction is written 'and'",
    "||": "disjunction is written 'or'",
    "//": "comments begin with #",
    "/*": "comments begin with #, on each line",
    "--": "comments begin with #",
    "<>": "inequality is written !=",
}
SLIPS = {
    **COMMON_SLIPS,
    "//": "comments begin with #; whole numbers are divided with div",
    "==": "equality is written =",
    "%": "the remainder is written 'mod'",
    "=>": "the arrow is written ->; greater or equal is written >=",
    "-->": "the arrow is written ->",
    ":=": "a name is defined with =",
    ";": "statements end with the line; leave out the ;",
    "'": 'write texts in double quotes: "..."',
    "* ->": "a transition begins with a state; there is no wildcard: write one for each state",
    "**": "there is no power operator: multiply, or write pow(x, 2) for floats",
    "^": "write xor(x, y) for bits, and pow(x, 2) for powers of floats",
    "+=": "a name is defined once: b = a + 1; a machine has variables, n := n + 1",
    "++": "an increment is x + 1; a machine has variables, n := n + 1",
    "??": "a value in place of null is value_or(x, 0)",
}
"""Common slips, with a hint for each. The search tries longer ones first."""


_HEAD = r"\b(?:pipeline|machine)\s+\w+\s*(?:<[^>]*>\s*)?\("
_TOP = r"(?:^|\n|\})\s*§"
"""The beginning of the inputs of a pipeline, and the place of a definition in a file."""
LISTS = "map(int, TYPE) has values by number, and window(x, 3, ...) reads the last three events"
PHRASES = {
    _HEAD + r"(?:[^(){}]*,)?\s*(\w+)\s*§[,)]": r"declare its type: \1: int",
    r"\bvar\s(?:[^\n]*,)?\s*(\w+)\s*§=": r"declare its type: \1: int = ...",
    r"\bfunction\s+(\w+\s*\([\w\s,]*\))\s*§(?:[{:]|->|return)": r"a function is one expression: function \1 = ...",
    r"\bfunction\s+\w+\s*\([\w\s,]*§:": "leave the type out: functions take values of any type",
    r"\w\s*->\s*\w+(?:\s+when\b[^\n§]*)?\s*(?:§(?:\{|then\b|,\s*\w+\s*:=)|\bdo\s+§)": (
        "updates follow '/', without braces: a -> b when x > 1 / n := 3"
    ),
    _HEAD + r"[^()]*§->": "a ')' is missing before '->'",
    _HEAD + r"[^(){}]*\)\s*§(?::|returns\b)": "the type of the output follows ->: pipeline NAME(x: int) -> int {",
    _HEAD + r"[^(){}]*:[^(){},]*§=": "inputs have no default; a parameter has one: pipeline NAME<k = 3>(x: int)",
    r"\b(?:pipeline|machine)\b[^{]*->(?:[^{]*§return|[^{]*\n\s*§\w|\s*\w+\s*§=)": "put the body in braces: { ... }",
    r"\b(?:pipeline|machine)\s+\w+\s*§\[": "parameters go in < >: pipeline NAME<k = 3>(x: int)",
    r"(?:\b(?:pipeline|machine|function)\s+|[(,]\s*)\w+§-\w": "names have letters, digits and _",
    r"->\s*\(\s*\w+\s*§:": "outputs have no parentheses: -> a: int, b: int",
    r"(?:[(,]|\bvar)\s*(int|bool|float|str)\s+§(\w+)": r"the name comes first: \2: \1",
    r":\s*(\w+)\s*§\|": r"what may be null is written \1?",
    r"\{[^{}\n]*§\"\w": "labels and fields have no quotes: {red, green}, {price: x}",
    r"\barray\s*(?:§[<\[]|\([^()\n]*§)": "an array has indices, and items of a type: var a: array(0..7, int) = 0",
    r"\bmap\s*§[<\[]": "types go in parentheses: map(str, int)",
    r"\bmap\s*\(\s*\w+\s*§\)": "a map has a type of keys, and one of values: map(int, bool)",
    r"\bvar\s[^\n]*:\s*(\w+)\s*§\[": r"an array is written array(0..7, \1)",
    r"(?::|\)\s*->)\s*(?!(?:map|array|int)\b)([A-Za-z]\w*)\s*(?:\([^(),]*§\)|§<)": rf"there is no type '\1': {LISTS}",
    r"(?::|\)\s*->)\s*\w*\s*§\[": f"types have no brackets: {LISTS}",
    r"(?:^|\bcheck )[ ]*[a-z][\w-]*[ ]*(?:\([^§\n]*\)[ ]*)?§,": "one property at a time: repeat -p, or the check line",
    r"\b(forall|exists)\s*\(\s*\w+\s*§(?:in\b|[:|])": (
        r"write \1(x, values, holds) with function values(e) = (e.0, e.1), and pipeline holds, which reads such a value"
        " first and x second, and returns bool"
    ),
    # machines
    r"\w\s*->\s*\w+\s+(?:§[\[(:]|on\s+§|where\s+§)": "the guard of a transition begins with 'when'",
    r"(?:^|\n)\s*(?:§if|when\s+§|on\s+§)[^\n]*->": "the guard follows the transition: a -> b when x > 3",
    r"\b(?:init|initial|start)\s+§\w": "the state that is written first is the initial one",
    r"\bstate\s+\w+\s*§,|\bstates\s+§": "write 'state' for each: state a state b",
    r"\bstate\s+(\w+)\s*(?:§(?:=|->|/)|:\s*§return\b|:?\s*emits?\s+§)": (
        r"what a state emits follows ':', as in state \1: 0"
    ),
    r"\bstate\s+(\w+)\s*§\{": r"transitions come below the states: \1 -> b when x > 3",
    r"\n\s*\w+\s*§,[^\n]*->": "a transition begins with one state: write one for each",
    r"->\s*\w+\s+(?:§else|otherwise\s*§)|\bwhen\b[^\n]*§else|§else\b[^\n]*->": (
        "a transition without 'when', after the others, is taken where no guard is true"
    ),
    # other languages
    r"(?:^|\n|\{)\s*(?:let|val|const|var|int|bool|float|str)\s+§(\w+)\s*[:=]": (
        r"no word precedes a name: \1 = ...; a variable of a machine has a type: var \1: int = 0"
    ),
    _TOP + r"(?:def|fun|fn|func)\b": "a function is written function NAME(x) = ...",
    _TOP + r"(?:node|stream|process|query|select)\b": "write pipeline NAME(x: int) -> int { return x }",
    _TOP + r"(?:enum|type|struct|class)\b": "types have no names: write {red, green} or {price: int} where it is used",
    _TOP + r"(?:import|include|from)\b": (
        'a file contains all pipelines that it uses; import Python functions with use "FILE.py": NAME'
    ),
    _TOP + r"const\b": "a constant is a parameter of its pipeline: pipeline NAME<k = 3>(x: int)",
    r"\bselect\s+(?:§\w|[^\n]*§from\b)": "inputs are read by their names, and filter(x, x > 3) selects events",
    r"([\w.]+)\s+(?:§in\b|in\s+§|§not\s+in\b)\s*[(\[]": r"write \1 = 1 or \1 = 2",
    r"([\w.]+)\s+(?:§between\b|between\s+§)": r"write 1 <= \1 and \1 <= 3",
    r"([\w.]+)\s+(?:§like\b|like\s+§)": (r'write starts_with(\1, "a"), ends_with, contains, or matches(\1, "REGEX")'),
    r"([\w.]+)\s+(?:§is\b|is\s+§)\s*(?:not\s+)?(?i:none|null)\b": r"write is_null(\1)",
    r"([\w.]+)\s+(?:§as\b|as\s+§)\s*(int|bool|float|str)\b": r"write cast(\1, \2)",
    r"\bcase\s+§when\b|\bif\b[^\n{}:]*§[{:]": "a choice is written if b then x else y",
    r"§(?:elif|elsif|elseif)\b": "write else if",
    r"\blambda\b[^\n]*§": "functions have names: write function f(v) = ... above, and f here",
    r"(?:^|\n|\{)\s*(?:for|while)\s+§": "there are no loops: a pipeline runs for every event, and cumulate remembers",
    r"\bimplies\s+§|§implies\b": "implication is written ->",
    r"\bfby\s+§|\bpre\s+\w+\s*§": "the event before is insert(x, 0), and 0 at first",
    r"\b(\w+)\.(\w+)\s*§\(": r"streams have no methods: write \2(\1, ...)",
    r"\w\[[^\]\n]*§:": "a stream has no positions: trim(x, 1) drops events, and window(x, 3, ...) reads the last three",
    r"\bwindow\s*\([^()\n]*\d\s+§(?:ms|s|sec|min|h|d|seconds?|minutes?|hours?|days?)\b": (
        "a window has a number of events, as window(x, 5, ...); rules have windows of time"
    ),
    r"\bltl\b[^\n]*(?:§\[\s*\]|\b(?:always|globally|eventually|finally)\s+§)": "write G for always, F for eventually",
    r"\b(?:always|never|can)\b[^\n]*\b(?:always|globally|eventually|finally|next)\s+§\w": (
        "write ltl(G ... -> F ...) about several steps, with G for always, F for eventually, X for next"
    ),
    r"(?:return|=|\()\s*§\[": "a tuple is written (x, y)",
    r"\{\s*\w+\s*§,": "the fields of a record have names: {a: x, b: y}; a tuple is written (x, y)",
}
"""Common meaningless phrases, each with a hint: § precedes the word of the mistake, \\1 is a group."""
NEAR = 1000
"""Maximum length of the parts of a phrase before and after a mistake, in characters."""


STATEMENTS = ("return", "check", "assume", "guarantee", "fault", "capacity queue", "NAME =")
"""The beginnings of the statements of a pipeline."""


@dataclass(frozen=True)
class Vocabulary:
    """The words in which the mistakes in a language are explained.

    Attributes
    ----------
    words: the names of terminals in messages, where they differ from the grammar's spelling.
    slips: common slips, with a hint for each.
    phrases: common phrases, as regular expressions with § before the word of the mistake, with a hint for each.
    habit: a function from the expected terminals and the word found to a hint, empty where there is none.
    """

    words: Mapping[str, str]
    slips: Mapping[str, str]
    phrases: Mapping[str, str]
    habit: Callable[[frozenset[str], str], str]


def name_terminals(terminals: Iterable[TerminalDef], vocabulary: Vocabulary) -> dict[str, str]:
    """Return the name of each terminal: its spelling in the grammar, or the first word of its pattern."""
    names: dict[str, str] = {}
    for each in terminals:
        written = each.pattern.value
        names[each.name] = f"'{re.split('[^a-z]', written)[0] if each.pattern.type == 're' else written}'"
    return names | dict(vocabulary.words)


def explain(
    error: UnexpectedInput, text: str, file: str, whole: str, vocabulary: Vocabulary, terminals: Iterable[TerminalDef]
) -> LanguageError:
    """Convert a lark error into a LanguageError with its location; `whole` is the text as the user wrote it."""
    line, column, actual = _locate(error, text)
    lines = text.splitlines()
    source_line = whole.splitlines()[line - 1] if line <= len(lines) else ""
    here = lines[line - 1] if line <= len(lines) else ""
    before = "\n".join([*lines[: line - 1], here[: column - 1]])
    length = len(error.token) if isinstance(error, UnexpectedToken) else 1
    expected = _list_expected(error)
    words = _describe(expected, name_terminals(terminals, vocabulary))
    what = f"expected {_either(words)}, found {actual}" if expected else f"{actual} has no meaning here"
    hint = (
        _update(error)
        or _slip(source_line, column, vocabulary.slips)
        or _phrase(before, "\n".join([here[column - 1 :], *lines[line:]]), vocabulary.phrases)
        or vocabulary.habit(expected, actual)
        or _statement(expected, actual, source_line[: column - 1])
        or _comma(error, expected, source_line[: column - 1])
        or _find_open_bracket(before, line, expected, actual)
        or _foreign_letter(error)
    )
    return LanguageError(what, where=Location(file, line, column, source_line, length), hint=hint)


def _update(error: UnexpectedInput) -> str:
    """Return a hint for an update of a machine that does not follow '/'."""
    if not isinstance(error, UnexpectedToken) or error.token.type != "ASSIGN":
        return ""
    expected = frozenset(error.accepts or error.expected)
    # a name after a guard is taken for the source of the next transition
    behind = "_UPDATES" in expected or expected == {"ARROW"}
    return "updates follow '/': a -> b when x > 1 / n := 3; in a guard, equality is written =" if behind else ""


def _foreign_letter(error: UnexpectedInput) -> str:
    """Return a hint for a letter that names cannot contain."""
    letter = error.char if isinstance(error, UnexpectedCharacters) else ""
    names = "names have the letters a to z, digits and _; a column of another name is read with --column x=COLUMN"
    return names if letter.isalpha() and not letter.isascii() else ""


def _locate(error: UnexpectedInput, text: str) -> tuple[int, int, str]:
    """Return line, column and description of the unexpected part."""
    if isinstance(error, UnexpectedToken) and error.token.type != "$END":
        return error.line, error.column, f"'{error.token}'"
    if isinstance(error, UnexpectedCharacters):
        return error.line, error.column, f"'{error.char}'"
    lines = text.rstrip().splitlines() or [""]
    return len(lines), len(lines[-1]) + 1, "the end of the text"


def _list_expected(error: UnexpectedInput) -> frozenset[str]:
    if isinstance(error, UnexpectedToken) and error.token.type not in _ELSEWHERE:
        return frozenset(error.accepts or error.expected)
    return frozenset()  # a character that begins no word: the lexer's alternatives are of no use


def _describe(expected: frozenset[str], names: Mapping[str, str]) -> list[str]:
    """Name the expected terminals, with one name for each family of them."""
    left = set(expected)
    words: list[str] = []
    if left == _TYPE:
        return ["a type"]
    if "LEADING" in left:
        left = {"NAME"}  # the builder refuses the other alternatives
    if {"COMMA", "RPAR"} <= left:
        left -= _AFTER
    if len(left & _OPERANDS) > 3:
        signs = len(left & OPERATORS) > 3
        left -= _OPERANDS | {"NAME", "MINUS"} | (OPERATORS if signs else set())
        words.append("an operator or an expression" if signs else "an expression")
    elif len(left & OPERATORS) > 2:
        left -= OPERATORS | {"DOT", "LSQB"}
        words.append("an operator")
    return words + sorted({names.get(name, name) for name in left})


def _either(words: list[str]) -> str:
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


def _slip(source_line: str, column: int, slips: Mapping[str, str]) -> str:
    if re.match(r"[0-9]+[A-Za-z_]", source_line[column - 1 :]):
        return "a name begins with a letter"
    for sign in sorted(slips, key=len, reverse=True):
        for start in range(max(0, column - len(sign)), column):
            if source_line.startswith(sign, start):
                return slips[sign]
    return ""


def _phrase(before: str, behind: str, phrases: Mapping[str, str]) -> str:
    """Return a hint for a common phrase around the mistake, which is between these texts."""
    marked = re.sub(r"#[^\n]*", "", f"{before[-NEAR:]}§{behind[:NEAR]}")
    matches = ((re.search(pattern, marked, re.DOTALL), hint) for pattern, hint in phrases.items())
    return next((match.expand(hint) for match, hint in matches if match), "")


def _habit(expected: frozenset[str], actual: str) -> str:
    if expected == {"ARROW"} and actual == "'{'":
        return "declare the type of the output: -> int {"
    unlabelled = expected == {"ARROW"} and actual in ("'state'", "'}'")
    if unlabelled or ({"COLON", "STATE"} <= expected and actual in ("'true'", "'false'")):
        return "a ':' is missing before what a state emits: state idle: 0"
    if {"STATE", "_UPDATES"} <= expected and actual in ("'='", "'/'"):
        return "an update is written n := n + 1, and begins with /; comparisons do not chain"
    if actual in ("'<'", "'<='", "'>'", "'>='", "'='", "'!='") and expected & {"AND", "OR"}:
        return "comparisons do not chain: write a < b and b < c"
    if actual == "'if'" and "WHEN" in expected:
        return "the guard of a transition begins with 'when'"
    if actual == "'if'" and "RETURN" in expected:
        return "a choice is an expression: return if c then a else b"
    if expected == {"ELSE"}:
        return "every if has an else: if c then a else b; filter(x, c) leaves events out"
    if actual in ("'if'", "'not'") and "LEFT" in expected and "RETURN" not in expected:
        return f"put {actual[1:-1]} ... in parentheses here"
    if actual == "'return'" and "NAME" not in expected and "EQUAL" in expected:
        return "the statement above is not complete"
    if expected == {"PIPELINE", "MACHINE", "FUNCTION", "TABLE", "USE", "CHECK", "MONITOR", "$END"}:
        return "a file holds pipelines, machines, functions, tables and checks; statements go inside the braces of one"
    if expected == {"ARROW"} and actual == "':'":
        return "a variable is declared: var n: int = 0"
    if expected == {"ARROW"} and actual in ("'<'", "'<='", "'>'", "'>='"):
        return "the guard of a transition begins with 'when'"
    if actual == "'?'" and "STAR" in expected:
        return "a choice is written if b then x else y"
    if actual == "'?'" and "COMMA" in expected:
        return "? is for types of one word: int?, str?; in a record, for its fields"
    if actual == "'='" and expected & {"RPAR"}:
        return "define a name in a statement of its own"
    return ""


PIPE = Vocabulary(WORDS, SLIPS, PHRASES, _habit)
"""The vocabulary of the language of pipelines."""


def _statement(expected: frozenset[str], actual: str, before: str) -> str:
    """Return a hint for a statement whose first word begins no statement."""
    begins = "statements begin with: "
    if "RETURN" in expected and re.match(r"'(not\b|[\"0-9])", actual):
        return begins + listed(STATEMENTS)
    word = re.search(r"(\w+)\s*$", before)
    return did_you_mean(word[1], STATEMENTS, begins) if word and expected == {"COMMA", "EQUAL"} else ""


def _comma(error: UnexpectedInput, expected: frozenset[str], before: str) -> str:
    """Return a hint for arguments without a comma between them."""
    if not isinstance(error, UnexpectedToken) or not {"COMMA", "RPAR"} <= expected or not before.strip():
        return ""
    begins = error.token.type in _OPERANDS | {"NAME", "LBRACE"}
    return f"a comma separates arguments: write ', {error.token}'" if begins else ""


_SKIPPED = re.compile(r'#[^\n]*|"[^"\n]*"')
_PAIRS = {"(": ")", "{": "}", "[": "]"}
_CLOSERS = {")": "RPAR", "}": "RBRACE", "]": "RSQB"}
_ENDS = frozenset({"the end of the text", "'pipeline'", "'function'", "'monitor'"})
"""The words that may be found where a body has not been closed."""


def _find_open_bracket(before: str, line: int, expected: frozenset[str], actual: str) -> str:
    """Return a hint about a bracket that was opened in a line above and could be closed here."""
    opened: list[tuple[str, int]] = []
    for number, text in enumerate(before.split("\n"), 1):
        for char in _SKIPPED.sub("", text):
            if char in _PAIRS:
                opened.append((char, number))
            elif opened and char == _PAIRS[opened[-1][0]]:
                opened.pop()
    in_body = expected & {"RETURN", "STATE"} and actual not in _ENDS
    if opened and opened[-1][1] < line and _CLOSERS[_PAIRS[opened[-1][0]]] in expected and not in_body:
        char, number = opened[-1]
        return f"the '{char}' of line {number} is not closed"
    return ""
