"""Railroad diagrams of a grammar in Lark's notation, a picture for each part of it (`scripts/pictures.py` writes them).

A part begins with a comment `// --- title ---`, and the first one is called "programs". A diagram is read from left to
right: a rounded box is text of a program, a square one another diagram, or a word that the page explains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import StringIO

import railroad
from lark import Lark, Token, Tree
from railroad import Choice, DiagramItem, NonTerminal, OneOrMore, Skip, Terminal

Node = Tree[Token]
TITLE = re.compile(r"^// --- (.*?)(?: ---|:.*)$", re.MULTILINE)
NAMES = {
    "e": "expression",
    "a": "argument",
    "n": "negation",
    "GENERIC": "name",
    "CALLED": "name",
    "PROPERTY": "its name",
}
"""What the parameters of templates stand for where they are first used, and words that only the lexer distinguishes."""
REFUSED = {"leading", "leading_call"}
"""Rules that are read only to refuse them with a hint."""


def sequence(parts: Sequence[DiagramItem]) -> DiagramItem:
    """Draw parts that follow each other."""
    parts = [part for part in parts if not isinstance(part, Skip)]
    return railroad.Sequence(*parts) if len(parts) > 1 else next(iter(parts), Skip())


def choice(parts: Sequence[DiagramItem]) -> DiagramItem:
    """Draw alternatives below each other; the first is on the line."""
    return Choice(0, *parts) if len(parts) > 1 else parts[0]


class Grammar:
    """The rules and words of a grammar, and the names of the rules of each part."""

    def __init__(self, text: str) -> None:
        reader = Lark.open_from_package("lark", "lark.lark", ["grammars"], parser="lalr", propagate_positions=True)
        tree = reader.parse(text + "\n")
        self.rules = {str(each.children[0]).lstrip("!?"): each for each in tree.find_data("rule")}
        self.words = {str(each.children[0]): texts_of(each.children[-1]) for each in tree.find_data("token")}
        self.parts: dict[str, list[str]] = {"programs": []}
        titles = {text[: found.start()].count("\n"): found[1] for found in TITLE.finditer(text)}
        for key, rule in self.rules.items():
            above = [title for number, title in titles.items() if number < rule.meta.line]
            self.parts.setdefault(above[-1] if above else "programs", []).append(key)

    def draw(self, key: str) -> DiagramItem:
        """Draw a rule; one that begins with itself is a loop."""
        options = alternatives(self.rules[key].children[-1])
        again = [each for each in options if name(each[0]) == key]
        base = [each for each in options if each not in again]
        if not again:
            return self.choose(options)
        if len(base) == 1 and all(name(each[-1]) == name(base[0][-1]) for each in again):
            return OneOrMore(self.join(base[0]), choice([self.join(each[1:-1]) for each in again]))
        rest = choice([self.join(each[1:]) for each in again])
        return sequence([self.choose(base), choice([Skip(), OneOrMore(rest, Skip())])])

    def choose(self, options: Sequence[Sequence[Node]]) -> DiagramItem:
        """Draw alternatives; what two have in common at their beginning is drawn once."""
        first, *more = [each for each in options if name(each[0]) not in REFUSED]
        if len(more) == 1 and list(map(name, more[0][: len(first)])) == list(map(name, first)):
            return sequence([self.join(first), choice([Skip(), self.join(more[0][len(first) :])])])
        return choice([self.join(each) for each in (first, *more)])

    def join(self, parts: Sequence[Node]) -> DiagramItem:
        """Draw parts that follow each other; `x (separator x)*` is a loop."""
        drawn: list[DiagramItem] = []
        for before, part in zip((None, *parts), parts, strict=False):
            again = alternatives(part.children[0])[0] if part.data == "expr" and part.children[1] == "*" else []
            if before and len(again) == 2 and name(again[1]) == name(before):
                drawn[-1] = OneOrMore(drawn[-1], self.part(again[0]))
            else:
                drawn.append(self.part(part))
        return sequence(drawn)

    def part(self, tree: Node) -> DiagramItem:
        """Draw a part of an alternative."""
        inner, key = tree.children[0], name(tree)
        if tree.data == "expr":
            once = self.part(inner) if tree.children[1] == "?" else OneOrMore(self.part(inner), Skip())
            return once if tree.children[1] == "+" else choice([Skip(), once])
        if tree.data == "maybe":
            return choice([Skip(), self.part(inner)])
        if tree.data == "literal":
            return Terminal(inner[1:-1])
        if tree.data in ("expansions", "expansion", "alias"):
            return self.choose(alternatives(tree))
        if self.words.get(key):
            return choice([Terminal(text) for text in self.words[key]])
        if key.startswith("_"):
            return self.draw(key)  # a rule without a node of its own
        return NonTerminal(NAMES.get(key, key.lower()))


def texts_of(tree: Node) -> list[str]:
    """Return the texts of a word; none if there is no end of them, as of a name or a number."""
    first = next(tree.scan_values(lambda token: token.type in ("STRING", "REGEXP")))
    if first.type == "STRING":
        return [first[1:-1]]
    plain = re.sub(r"\(\?[=!].*|\\b.*|\(ed\)\?", "", first[1:-1]).replace(r"[ \t]+", " ").replace("[Rr]", "r")
    texts = re.sub(r"\(\?i:|[()]", "", plain.replace("\\/", "/")).split("|")
    return texts if all(re.fullmatch(r"[\w /]+", text) for text in texts) else []


def name(tree: Node) -> str:
    """Return the name that a part refers to, or what tells it from others."""
    if tree.data == "template_usage":
        return name(tree.children[0])
    return str(tree.children[0]) if tree.data == "name" else str(tree)


def alternatives(tree: Node) -> list[list[Node]]:
    """Return the alternatives of a rule or of a part in parentheses, without the names of their nodes."""
    if tree.data == "expansions":
        return [each for part in tree.children if isinstance(part, Tree) for each in alternatives(part)]
    if tree.data == "alias":
        return alternatives(tree.children[0])
    return [[bare(each) for each in tree.children] if tree.data == "expansion" else [bare(tree)]]


def bare(tree: Node) -> Node:
    """Return a part without the node of its sign, if it has none."""
    return bare(tree.children[0]) if tree.data == "expr" and tree.children[1] is None else tree


STYLE = """path{fill:none;stroke:#444;stroke-width:1.4}text{font:13px monospace;text-anchor:middle}
.terminal rect{fill:#e8f1fb;stroke:#2a6db0}.non-terminal rect{fill:#fff;stroke:#444}
.title{font-weight:bold;text-anchor:start;fill:#222}"""

SHEET = '<rect width="100%" height="100%" fill="#fff"/>'


def picture(grammar: Grammar, part: str) -> str:
    """Return the diagrams of a part of a grammar, below each other."""
    drawn, y, width = StringIO(), 6.0, 0.0
    for key in grammar.parts[part]:
        if key.startswith("_") or key in REFUSED:
            continue
        diagram = railroad.Diagram(grammar.draw(key)).format(8)
        diagram.attrs["y"] = f"{y + 16:g}"
        drawn.write(f'\n<text class="title" x="8" y="{y + 14:g}">{key}</text>')
        diagram.writeSvg(drawn.write)
        y, width = y + 16 + float(diagram.attrs["height"]), max(width, float(diagram.attrs["width"]))
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{SHEET}{drawn.getvalue()}\n</svg>\n'
