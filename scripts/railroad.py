"""Railroad diagrams of a grammar in Lark's notation, a picture for each part of it (`scripts/pictures.py` writes them).

A part begins with a comment `// --- title ---`, and the first one is called "programs". A diagram is read from left to
right: a rounded box is text of a program, a square one another diagram, or a word that the page explains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from lark import Lark, Token, Tree

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
GAP, BOX, LETTER = 10, 22, 7.8
"""In pixels: between boxes, the height of a box, the width of a letter."""


class Drawing(NamedTuple):
    """A part of a diagram, whose line enters at the left at height 0 and leaves at the right."""

    width: float
    up: float
    down: float
    svg: str

    def at(self, x: float, y: float) -> str:
        return f'<g transform="translate({x:g},{y:g})">{self.svg}</g>'


def line(path: str) -> str:
    """Return a stroke."""
    return f'<path d="{path}"/>'


def box(text: str, kind: str) -> Drawing:
    """Draw a text in a box of a class of the style: "literal" or "rule"."""
    width, radius = len(text) * LETTER + 16, BOX / 2 if kind == "literal" else 0
    shape = f'<rect class="{kind}" y="{-BOX / 2:g}" width="{width:g}" height="{BOX}" rx="{radius:g}"/>'
    return Drawing(width, BOX / 2, BOX / 2, f'{shape}<text x="{width / 2:g}" y="4.5">{escape(text)}</text>')


EMPTY = Drawing(0, 0, 0, "")


def sequence(parts: Sequence[Drawing]) -> Drawing:
    """Draw parts that follow each other."""
    parts = [part for part in parts if part.svg] or [EMPTY]
    x, drawn = 0.0, ""
    for part in parts:
        drawn += (line(f"M{x:g} 0h{GAP}") if x else "") + part.at(x := x + GAP * bool(x), 0)
        x += part.width
    return Drawing(x, max(part.up for part in parts), max(part.down for part in parts), drawn)


def choice(parts: Sequence[Drawing]) -> Drawing:
    """Draw alternatives below each other; the first is on the line."""
    if len(parts) == 1:
        return parts[0]
    inner, bend = max(part.width for part in parts), 2 * GAP
    drawn, y = "", 0.0
    for i, part in enumerate(parts):
        y += (parts[i - 1].down + part.up + GAP) if i else 0
        drawn += part.at(bend, y) + line(f"M{bend + part.width:g} {y:g}H{bend + inner:g}")
        if not i:
            drawn += line(f"M0 0h{bend}M{bend + inner:g} 0h{bend}")
            continue
        drawn += line(f"M0 0q{GAP} 0 {GAP} {GAP}V{y - GAP:g}q0 {GAP} {GAP} {GAP}")
        drawn += line(f"M{bend + inner:g} {y:g}q{GAP} 0 {GAP} {-GAP}V{GAP}q0 {-GAP} {GAP} {-GAP}")
    return Drawing(inner + 2 * bend, parts[0].up, y + parts[-1].down, drawn)


def loop(part: Drawing, back: Drawing) -> Drawing:
    """Draw what stands once or more often, with what stands between two of them on the way back."""
    inner, y = max(part.width, back.width), part.down + back.up + GAP
    left, right = GAP + (inner - back.width) / 2, GAP + (inner + back.width) / 2
    drawn = part.at(GAP + (inner - part.width) / 2, 0) + back.at(left, y)
    if part.width < inner:
        gap = (inner - part.width) / 2
        drawn += line(f"M{GAP} 0h{gap:g}M{GAP + gap + part.width:g} 0h{gap:g}")
    drawn += line(f"M0 0h{GAP}M{GAP + inner:g} 0h{GAP}")
    drawn += line(f"M{GAP + inner:g} 0q{GAP} 0 {GAP} {GAP}V{y - GAP:g}q0 {GAP} {-GAP} {GAP}H{right:g}")
    drawn += line(f"M{left:g} {y:g}H{GAP}q{-GAP} 0 {-GAP} {-GAP}V{GAP}q0 {-GAP} {GAP} {-GAP}")
    return Drawing(inner + 2 * GAP, part.up, y + max(back.down, GAP), drawn)


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

    def draw(self, key: str) -> Drawing:
        """Draw a rule; one that begins with itself is a loop."""
        options = alternatives(self.rules[key].children[-1])
        again = [each for each in options if name(each[0]) == key]
        base = [each for each in options if each not in again]
        if not again:
            return self.choose(options)
        if len(base) == 1 and all(name(each[-1]) == name(base[0][-1]) for each in again):
            return loop(self.join(base[0]), choice([self.join(each[1:-1]) for each in again]))
        rest = choice([self.join(each[1:]) for each in again])
        return sequence([self.choose(base), choice([EMPTY, loop(rest, EMPTY)])])

    def choose(self, options: Sequence[Sequence[Node]]) -> Drawing:
        """Draw alternatives; what two have in common at their beginning is drawn once."""
        first, *more = [each for each in options if name(each[0]) not in REFUSED]
        if len(more) == 1 and list(map(name, more[0][: len(first)])) == list(map(name, first)):
            return sequence([self.join(first), choice([EMPTY, self.join(more[0][len(first) :])])])
        return choice([self.join(each) for each in (first, *more)])

    def join(self, parts: Sequence[Node]) -> Drawing:
        """Draw parts that follow each other; `x (separator x)*` is a loop."""
        drawn: list[Drawing] = []
        for before, part in zip((None, *parts), parts, strict=False):
            again = alternatives(part.children[0])[0] if part.data == "expr" and part.children[1] == "*" else []
            if before and len(again) == 2 and name(again[1]) == name(before):
                drawn[-1] = loop(drawn[-1], self.part(again[0]))
            else:
                drawn.append(self.part(part))
        return sequence(drawn)

    def part(self, tree: Node) -> Drawing:
        """Draw a part of an alternative."""
        inner, key = tree.children[0], name(tree)
        if tree.data == "expr":
            once = self.part(inner) if tree.children[1] == "?" else loop(self.part(inner), EMPTY)
            return once if tree.children[1] == "+" else choice([EMPTY, once])
        if tree.data == "maybe":
            return choice([EMPTY, self.part(inner)])
        if tree.data == "literal":
            return box(inner[1:-1], "literal")
        if tree.data in ("expansions", "expansion", "alias"):
            return self.choose(alternatives(tree))
        if self.words.get(key):
            return choice([box(text, "literal") for text in self.words[key]])
        if key.startswith("_"):
            return self.draw(key)  # a rule without a node of its own
        return box(NAMES.get(key, key.lower()), "rule")


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
.literal{fill:#e8f1fb;stroke:#2a6db0}.rule{fill:#fff;stroke:#444}.title{font-weight:bold;text-anchor:start;fill:#222}"""

SHEET = '<rect width="100%" height="100%" fill="#fff"/>'


def picture(grammar: Grammar, part: str) -> str:
    """Return the diagrams of a part of a grammar, below each other."""
    drawn, y, width = "", 6.0, 0.0
    for key in grammar.parts[part]:
        if key.startswith("_") or key in REFUSED:
            continue
        whole = grammar.draw(key)
        drawn += f'\n<text class="title" x="8" y="{y + 14:g}">{key}</text>'
        y += 24 + whole.up
        drawn += line(f"M8 {y - 5:g}v10M8 {y:g}h12M{20 + whole.width:g} {y:g}h12m0 -5v10") + whole.at(20, y)
        y, width = y + whole.down + 14, max(width, whole.width + 40)
    size = f'width="{width:.0f}" height="{y:.0f}" viewBox="0 0 {width:.0f} {y:.0f}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}><style>{STYLE}</style>{SHEET}{drawn}\n</svg>\n'
