"""Railroad diagrams of a grammar in Lark's notation, a picture for each part of it.

A part begins with a comment `// --- title ---`, and the first one is called "programs". A rounded box is text of a
program, a square one another diagram, or a word that the page explains.
"""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import railroad
from lark import Lark, Token
from railroad import Choice, DiagramItem, NonTerminal, OneOrMore, Optional, Terminal, ZeroOrMore

TITLE = re.compile(r"^// --- (.*?)(?: ---|:.*)$", re.MULTILINE)
RULE = re.compile(r"^[!?]?([a-z]\w*)(?:{.*?})?:", re.MULTILINE)
WORD = re.compile(r'^([A-Z_]+)(?:\.\d+)?: (["/])(.*)\2', re.MULTILINE)
NAMES = {
    "e": "expression", "a": "argument", "n": "negation", "GENERIC": "name", "CALLED": "name", "PROPERTY": "its name",
}  # fmt: skip
"""What the parameters of templates stand for where they are first used, and words that only the lexer distinguishes."""
REFUSED = ("leading", "leading_call")
"""Rules that are read only to refuse them with a hint."""
MARKS = {"?": partial(Optional, skip=True), "*": partial(ZeroOrMore, skip=True), "+": OneOrMore}
STYLE = """<style>path{fill:none;stroke:#444;stroke-width:1.4}text{font:13px monospace;text-anchor:middle}
.terminal rect{fill:#e8f1fb;stroke:#2a6db0}.non-terminal rect{fill:#fff;stroke:#444}
.title{font-weight:bold;text-anchor:start;fill:#222}</style><rect width="100%" height="100%" fill="#fff"/>"""
Options = list[list[Any]]
"""Alternatives, each a list of parts: a name, a text in quotes, a mark with its options, or alternatives."""


def read(tree: Any) -> Any:
    """Read a part of a rule, without the names of nodes and the arguments of templates."""
    match tree.data, tree.children:
        case "expansions", parts:
            return [each for part in parts for each in read_options(part) if each[0] not in REFUSED]
        case "expansion", parts:
            return [[*map(read, parts)]]
        case "maybe", [inner]:
            return "?", read_options(inner)
        case "expr", [inner, str(mark), *_]:
            return mark, read_options(inner)
        case _, [Token() as word]:
            return str(word)
    return read(tree.children[0])


def read_options(tree: Any) -> Options:
    """Read a part of a rule as alternatives."""
    return part if isinstance(part := read(tree), list) else [[part]]


def read_rule(head: Any, *rest: Any) -> tuple[str, Options]:
    """Read a rule; alternatives that begin with itself become a loop."""
    key, options = head.lstrip("!?"), read_options(rest[-1])
    again = [each[1:] for each in options if each[0] == key]
    base = [each for each in options if each[0] != key]
    return key, [[*(base[0] if len(base) == 1 else [base]), ("*", again)]] if again else base


def read_word(quote: str, text: str) -> Options:
    """Read the texts of a word; none if there is no end of them, as of a name or a number."""
    if quote == '"':
        return [[f'"{text}"']]
    plain = re.sub(r"\(\?[=!].*|\\b.*|\(ed\)\?|\(\?i:|[()]|\\(?=/)", "", text)
    texts = plain.replace("[Rr]", "r").replace(r"[ \t]+", " ").split("|")
    return [[f'"{each}"'] for each in texts] if all(re.fullmatch(r"[\w /]+", each) for each in texts) else []


class Grammar:
    """The rules and words of a grammar, and the names of the rules of each part that have a diagram of their own."""

    def __init__(self, text: str) -> None:
        tree = Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr").parse(f"{text}\n")
        self.rules = dict(read_rule(*each.children) for each in tree.find_data("rule"))
        self.rules |= {key: read_word(*pattern) for key, *pattern in WORD.findall(text)}
        _, *parts = TITLE.split(f"// --- programs ---\n{text}")
        keys = ([key for key in RULE.findall(part) if key not in REFUSED] for part in parts[1::2])
        self.parts = dict(zip(parts[::2], keys, strict=True))

    def draw(self, part: Any) -> DiagramItem:
        """Draw a part of a rule; what two alternatives have in common at their beginning is drawn once."""
        match part:
            case str() if self.rules.get(part) and (part[0] == "_" or part.isupper()):  # drawn in place of its name
                return self.draw(self.rules[part])
            case str():
                return Terminal(part[1:-1]) if part[0] == '"' else NonTerminal(NAMES.get(part, part.lower()))
            case (str(mark), options):
                return MARKS[mark](self.draw(options))
            case [parts]:
                return self.sequence(parts)
            case [first, second] if second[: len(first)] == first:
                return railroad.Sequence(self.sequence(first), MARKS["?"](self.sequence(second[len(first) :])))
        return Choice(0, *(self.sequence(each) for each in part))

    def sequence(self, parts: list[Any]) -> DiagramItem:
        """Draw parts that follow each other; `x (separator x)*` is a loop."""
        items: list[DiagramItem] = []
        for before, part in zip((None, *parts), parts, strict=False):
            match part:
                case ("*", [[*separator, again]]) if again == before:
                    items[-1] = OneOrMore(items[-1], self.sequence(separator))
                case _:
                    items.append(self.draw(part))
        return railroad.Sequence(*items) if len(items) > 1 else items[0]

    def picture(self, part: str) -> str:
        """Return the diagrams of a part, below each other."""
        drawn, y, width = list[str](), 6.0, 0.0
        for key in self.parts[part]:
            diagram = railroad.Diagram(self.draw(self.rules[key])).format(8)
            diagram.attrs["y"] = f"{y + 16:g}"
            drawn.append(f'\n<text class="title" x="8" y="{y + 14:g}">{key}</text>')
            diagram.writeSvg(drawn.append)
            y, width = y + 16 + float(diagram.attrs["height"]), max(width, float(diagram.attrs["width"]))
        size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{STYLE}{"".join(drawn)}\n</svg>\n'
