"""From the text of rules to their tree; rules in the older grammar are translated (`older`).

What the grammar cannot read, `mistakes` explains; that what is read means something, `check` sees to.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from lark import Token, Tree, UnexpectedInput
from lark.tree import Meta

from workbench.errors import InputError, LanguageError, Location, did_you_mean
from workbench.language.depth import make_room, refuse_brackets, refuse_depth
from workbench.language.findings import Findings
from workbench.language.grammar import grammar
from workbench.language.quick import parsed
from workbench.named_files import allow, find_named, follow_links, hide_text
from workbench.tesla import tree as t
from workbench.tesla.mistakes import SOURCE, mistakes
from workbench.tesla.older import Defining, OlderAggregate, translated
from workbench.tesla.operators import operator_of

MOST_DIGITS = 4300
"""Of a whole number: what Python reads and shows."""
LONGEST_DURATION = 30
"""The most digits of a duration, before and behind the point: it is reckoned exactly."""


def parse_rules(text: str, file: str = "<text>", folder: Path | None = None) -> t.RuleFile:
    """The declarations and rules of a text, and of the files that it includes.

    Parameters
    ----------
    folder: where it lies, and files may lie that it includes; None: it is no file.

    Raises
    ------
    LanguageError: it cannot be read; all mistakes of one file are told at once.
    InputError: an included file cannot be read.
    """
    with uncollected(), allow(() if folder is None else (folder,)) as folders:
        return _Reading(folder or next(iter(folders), None))(text, file, ())


@contextmanager
def uncollected() -> Iterator[None]:
    """Nothing that is made here is garbage yet: to look for it is half of the time of a large file."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def read_rules(path: str | Path) -> t.RuleFile:
    """The declarations and rules of a `.tesla` file, and of those that it includes."""
    with hide_text(Path(path)):
        return parse_rules(_text(Path(path)), str(path), Path(path).parent)


def _text(path: Path, where: Location | str = "") -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        near = [each.name for each in path.parent.glob("*.tesla")] if path.parent.is_dir() else []
        hint = did_you_mean(path.name, near, "there are: ") or "give the path of a .tesla file"
        raise InputError(f"cannot read {path}: {reason}", where=where, hint=hint) from error


class _Reading:
    """Reads a file and those that it includes, each once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self._read = folder, set[Path]()

    def __call__(self, text: str, file: str, around: tuple[Path, ...]) -> t.RuleFile:
        declarations: list[t.Declaration] = []
        aggregates: list[t.DeclaredAggregate] = []
        rules: list[t.Rule] = []
        for item in _items(text, file):
            if isinstance(item, t.RuleFile | _Include):
                found = self._included(item, around) if isinstance(item, _Include) else item
                declarations += found.declarations
                aggregates += found.aggregates
                rules += found.rules
            elif isinstance(item, t.Declaration):
                declarations.append(item)
            elif isinstance(item, t.DeclaredAggregate):
                aggregates.append(item)
            else:
                rules.append(item)
        return t.RuleFile(tuple(declarations), _numbered(rules), tuple(aggregates))

    def _included(self, item: _Include, around: tuple[Path, ...]) -> t.RuleFile:
        if self.folder is None:
            raise LanguageError("a text that is no file includes none", where=item.where, hint="write it into a file")
        found = find_named(item.path, self.folder, item.where)
        path = follow_links(found)
        if path in around:
            raise LanguageError(f"'{item.path}' includes itself", where=item.where, hint="leave one include out")
        if path in self._read:
            return t.RuleFile((), ())
        self._read.add(path)
        before, self.folder = self.folder, found.parent
        try:
            with hide_text(path):
                return self(_text(path, item.where), str(found), (*around, path))
        finally:
            self.folder = before


class _Include(NamedTuple):
    path: str
    where: Location


def _numbered(rules: list[t.Rule]) -> tuple[t.Rule, ...]:
    """The rules, those without a name called by their place among all."""
    return tuple(rule if rule.named else replace(rule, name=f"rule {i}") for i, rule in enumerate(rules, 1))


def _items(text: str, file: str) -> list[Any]:
    """What stands in one file, in its order."""
    make_room()
    refuse_brackets(text, file)
    try:
        tree = parsed(grammar(SOURCE, ("start",)), text)
    except UnexpectedInput as error:
        raise mistakes(error, text, file) from None
    findings = Findings()
    builder = _RuleBuilder(text, file, findings)
    refuse_depth(tree, builder.place)
    items: list[Any] = builder.built(tree)
    findings.refuse()
    return items


class _RuleBuilder:
    """What rules of the grammar stand for: a row of `_RULES`, or a method for what takes more than a line."""

    def __init__(self, text: str, file: str, findings: Findings) -> None:
        self._file, self._findings = file, findings
        self._lines = text.splitlines()

    def built(self, tree: Tree[Token]) -> Any:
        """What a tree stands for, its leaves first."""
        parts = [tree]
        for part in parts:
            parts += [child for child in reversed(part.children) if isinstance(child, Tree)]
        made: dict[int, Any] = {}
        for part in reversed(parts):
            children = [made.pop(id(child)) if isinstance(child, Tree) else child for child in part.children]
            if method := getattr(self, part.data, None):
                made[id(part)] = method(part.meta, children)
            else:
                made[id(part)] = _RULES[part.data](children, part.meta, self.place)
        return made[id(tree)]

    def place(self, item: Token | Meta) -> Location:
        line, column = getattr(item, "line", None) or 1, getattr(item, "column", None) or 1
        shown = self._lines[line - 1] if line <= len(self._lines) else ""
        end = (item.end_column or column) if item.end_line == line else len(shown.split("#")[0].rstrip()) + 1
        return Location(self._file, line, column, shown, max(1, end - column))

    def _comment_above(self, line: int) -> str:
        block: list[str] = []
        for text in reversed(self._lines[: line - 1]):
            if not text.lstrip().startswith("#"):
                break
            block.append(text.strip().removeprefix("#").removeprefix(" "))
        return "\n".join(reversed(block))

    def start(self, meta: Meta, items: list[Any]) -> list[Any]:
        return items

    def include(self, meta: Meta, children: list[Any]) -> _Include:
        return _Include(str(children[1])[1:-1], self.place(children[1]))

    def declaration(self, meta: Meta, children: list[Any]) -> t.Declaration:
        _, fact, name, *rest = children
        attributes = _of(rest, t.Attribute)
        number = next((_whole(each, self.place) for each in rest if _is(each, "INT")), None)
        return t.Declaration(
            str(name), attributes, fact is not None, number, self._comment_above(meta.line), where=self.place(name)
        )

    def combining(self, meta: Meta, children: list[Any]) -> t.DeclaredAggregate:
        _, _, name, one, other, _, combined, _, start = children
        comment = self._comment_above(meta.line)
        return t.DeclaredAggregate(str(name), (one, other), combined, start, comment=comment, where=self.place(name))

    def attribute(self, meta: Meta, children: list[Any]) -> t.Attribute:
        name, kind = children
        if kind is not None and str(kind) not in t.NAMED:
            hint = did_you_mean(str(kind), t.SPELLED.values())
            what = f"'{kind}' is no type of an attribute"
            self._findings.add(LanguageError(what, where=self.place(kind), hint=hint))
            return t.Attribute(str(name), t.NAMED["int"], where=self.place(name))
        return t.Attribute(str(name), None if kind is None else t.NAMED[str(kind)], where=self.place(name))

    typed = attribute

    def rule(self, meta: Meta, children: list[Any]) -> t.Rule | t.RuleFile:
        heading, made = children
        name = str(heading) if heading is not None else ""
        where = self.place(heading) if heading is not None else made.where
        fields: dict[str, Any] = {"name": name, "named": heading is not None, "comment": self._comment_above(meta.line)}
        if isinstance(made, Defining):
            return translated(made, self._findings, where=where, **fields)
        return t.Rule(**made.fields, **fields, where=where)

    def emitting(self, meta: Meta, children: list[Any]) -> _Emitting:
        word, trigger, *rest = children
        emission: _Emission = next(each for each in rest if isinstance(each, _Emission))
        for each in rest:
            if isinstance(each, OlderAggregate) and each.sign:
                self._findings.add(
                    LanguageError(
                        "a rule that ends with emit compares aggregates in its where clause",
                        where=each.where,
                        hint=f"write $n = {each.function}(...) here, and below: where $n > 2",
                    )
                )
        where = next((each for each in rest if isinstance(each, _Where)), _Where(()))
        limit = next((_whole(each, self.place) for each in rest if _is(each, "INT")), None)
        consumed = next((each for each in rest if isinstance(each, _Consumed)), _Consumed(()))
        parts = [each.new if isinstance(each, OlderAggregate) else each for each in rest]
        return _Emitting(
            {
                "trigger": trigger,
                "predicates": _of(parts, t.Predicate, t.Aggregate),
                "where_clause": tuple(where),
                "limit": limit,
                "emits": str(emission.name),
                "evaluations": emission.evaluations,
                "pause": emission.pause.duration,
                "per": emission.pause.per,
                "consuming": tuple(map(str, consumed)),
                "consuming_at": tuple(map(self.place, consumed)),
                "emits_at": self.place(emission.name),
            },
            self.place(word),
        )

    def defining(self, meta: Meta, children: list[Any]) -> Defining:
        _, name, *rest = children
        consumed = next((each for each in rest if isinstance(each, _Consumed)), _Consumed(()))
        trigger, *predicates = _of(rest, t.Predicate, t.Aggregate, OlderAggregate)
        where = next((each for each in rest if isinstance(each, _Where)), _Where(()))
        return Defining(
            str(name), _of(rest, t.Attribute), trigger, tuple(predicates), tuple(where),
            tuple(map(str, consumed)), tuple(map(self.place, consumed)), where=self.place(name),
        )  # fmt: skip

    def body(self, meta: Meta, children: list[Any]) -> t.Predicate:
        name, assignments, constraints, *alias = children
        called = next((str(each) for each in alias if isinstance(each, Token) and each.type == "NAME"), None)
        return t.Predicate(
            t.Policy.TRIGGER, str(name), assignments or (), constraints or (), called, where=self.place(name)
        )

    def event(self, meta: Meta, children: list[Any]) -> t.Predicate:
        word, *rest = children
        body = next(each for each in rest if isinstance(each, t.Predicate))
        window = next((each for each in rest if isinstance(each, t.WithinWindow | t.BetweenWindow)), None)
        ordering = next((tuple(each) for each in rest if isinstance(each, _Ordering)), ())
        return replace(body, policy=t.Policy(str(word)), window=window, ordering=ordering)

    def absence(self, meta: Meta, children: list[Any]) -> t.Predicate:
        body = next(each for each in children if isinstance(each, t.Predicate))
        duration, name = next(each for each in children if isinstance(each, t.Duration)), children[-1]
        window = t.AfterWindow(duration, str(name), where=self.place(name))
        return replace(body, policy=t.Policy.ABSENT, window=window)

    def within(self, meta: Meta, children: list[Any]) -> t.WithinWindow:
        durations = [each for each in children if isinstance(each, t.Duration)]
        name = children[-1]
        forever = any(isinstance(each, Token) and each.type == "FOREVER" for each in children)
        most = None if forever else durations.pop()
        least = durations[0] if durations else None
        if least is not None and most is not None and not least.unit:
            least = t.Duration(least.amount, most.unit, where=least.where)
        return t.WithinWindow(most, str(name), least, where=self.place(name))

    def plain(self, meta: Meta, children: list[Any]) -> OlderAggregate | None:
        return self._aggregate(meta, children[0])

    def bounded(self, meta: Meta, children: list[Any]) -> OlderAggregate | None:
        one, sign, other = children
        if isinstance(one, OlderAggregate):
            return self._aggregate(meta, one, str(sign), other)
        return self._aggregate(meta, other, operator_of(str(sign)).mirror, one)

    def _aggregate(self, meta: Meta, found: Any, sign: str = "", bound: Any = None) -> OlderAggregate | None:
        """A predicate that is an aggregate, perhaps compared with something."""
        if isinstance(found, OlderAggregate) and not isinstance(bound, OlderAggregate):
            return replace(found, sign=sign, bound=bound)
        hint = "say what it selects: each, first, last or not; or give an aggregate a name: $n = COUNT(...)"
        self._findings.add(LanguageError("this is no predicate", where=self.place(meta), hint=hint))
        return None

    def call(self, meta: Meta, children: list[Any]) -> OlderAggregate:
        function, name, constraints, *rest = children
        attribute = next((str(b) for a, b in pairwise(rest) if _is(a, "DOT")), None)
        window = next((each for each in rest if isinstance(each, t.WithinWindow | t.BetweenWindow)), None)
        word = str(function).upper() if function.type == "AGGREGATOR" else str(function)
        return OlderAggregate(None, word, str(name), constraints or (), attribute, window, where=self.place(meta))


def _is(item: Any, kind: str) -> bool:
    return isinstance(item, Token) and item.type == kind


class _Where(tuple[t.Expression, ...]):
    """The conditions of a where clause."""


class _Consumed(tuple[Token, ...]):
    """The names behind `consuming`."""


class _Ordering(tuple[t.OrderedBy, ...]):
    """What orders facts."""


class _Pause(NamedTuple):
    duration: t.Duration | None
    per: tuple[t.Expression, ...] = ()


class _Emission(NamedTuple):
    name: Token
    evaluations: tuple[t.Evaluation, ...]
    pause: _Pause


class _Emitting(NamedTuple):
    fields: dict[str, Any]
    where: Location


_At = Callable[[Any], Location]


def _whole(digits: Token, at: _At) -> int:
    if len(digits) > MOST_DIGITS:
        hint = f"{MOST_DIGITS} digits at most are read"
        raise LanguageError(f"a number of {len(digits)} digits", where=at(digits), hint=hint)
    return int(digits)


def _amount(digits: Token, at: _At) -> Decimal:
    amount = Decimal(str(digits))
    if amount and abs(amount.adjusted()) > LONGEST_DURATION:
        hint = f"durations lie between 1e-{LONGEST_DURATION} and 1e{LONGEST_DURATION}; or write within forever"
        raise LanguageError(f"no clock measures {digits[:40]}", where=at(digits), hint=hint)
    return amount


def _unit(text: str) -> str:
    unit = text.rstrip(".")
    return t.EVENTS if unit == "event" else unit


_RULES: dict[str, Callable[[list[Any], Meta, _At], Any]] = {
    "heading": lambda c, *_: c[1],
    "where": lambda c, *_: _Where(c[1:]),
    "limit": lambda c, *_: c[1],
    "emission": lambda c, *_: _Emission(
        c[1], _of(c, t.Evaluation), next((e for e in c if isinstance(e, _Pause)), _Pause(None))
    ),
    "at_most": lambda c, *_: _Pause(c[1], tuple(each for each in c[2:] if isinstance(each, t.Expression))),
    "evaluation": lambda c, _, at: t.Evaluation(str(c[0]), c[2], where=at(c[0])),
    "consuming": lambda c, *_: _Consumed(c[1:]),
    "assignments": lambda c, *_: tuple(c),
    "assignment": lambda c, _, at: t.Assigned(str(c[0])[1:], c[2], where=at(c[0])),
    "constraints": lambda c, *_: tuple(each for each in c if each is not None),
    "ordering": lambda c, *_: _Ordering(each for each in c if isinstance(each, t.OrderedBy)),
    "order": lambda c, _, at: t.OrderedBy(str(c[0]), c[1] == "desc", where=at(c[0])),
    "between": lambda c, meta, at: t.BetweenWindow(str(c[1]), str(c[3]), where=at(meta)),
    "duration": lambda c, meta, at: t.Duration(_amount(c[0], at), _unit(str(c[1] or "")), where=at(meta)),
    "named": lambda c, *_: replace(c[2], parameter=str(c[0])[1:]),
    # expressions
    "integer": lambda c, meta, at: t.Literal(_whole(c[0], at), where=at(meta)),
    "real": lambda c, meta, at: t.Literal(float(c[0]), where=at(meta)),
    "text": lambda c, meta, at: t.Literal(str(c[0])[1:-1], where=at(meta)),
    "true": lambda _, meta, at: t.Literal(True, where=at(meta)),
    "false": lambda _, meta, at: t.Literal(False, where=at(meta)),
    "parameter": lambda c, meta, at: t.BoundParameter(str(c[0])[1:], where=at(meta)),
    "own": lambda c, meta, at: t.OwnAttribute(str(c[0]), where=at(meta)),
    "other": lambda c, meta, at: t.OtherAttribute(str(c[0]), str(c[2]), where=at(meta)),
    "time": lambda c, meta, at: t.TimeOf(str(c[1]), where=at(meta)),
    "binary": lambda c, _, at: t.Operation(str(c[1]), (c[0], c[2]), where=at(c[1])),
    "prefix": lambda c, meta, at: t.Operation("neg" if c[0] == "-" else "not", (c[1],), where=at(meta)),
}
"""What a rule (or alias) of the grammar stands for: of its children, its own place, and what tells the place of any."""


def _of(children: list[Any], *kinds: type) -> tuple[Any, ...]:
    return tuple(each for each in children if isinstance(each, kinds))
