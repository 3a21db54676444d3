"""Parses the text of rules into a tree; rules in the older grammar are translated (`older_grammar`).

`mistakes` explains texts that the grammar cannot read; `check` ensures that the result has a meaning.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

from lark import Token

from workbench.budget import suspend_collection
from workbench.core.types import FOREIGN_TYPES
from workbench.core.units import MICROSECONDS, SPELLINGS
from workbench.errors import LanguageError, Location, did_you_mean
from workbench.language.front import EXPRESSIONS, Dialect, SemanticAction, TreeBuilder, of_type, read
from workbench.language.lalr import Extent
from workbench.named_files import allow, find_named, follow_links, hide_text, read_text, suggest_program
from workbench.tesla import tree as t
from workbench.tesla.mistakes import TESLA
from workbench.tesla.older_grammar import Defining, OlderAggregate, translate
from workbench.tesla.operators import operator_of

MAX_DIGITS = 4300
"""Maximum number of digits of a whole number: what Python reads and prints."""
LONGEST_DURATION = 30
"""Maximum number of digits of a duration, before and after the point: it is computed exactly."""


def parse_rule_file(text: str, file: str = "<text>", folder: Path | None = None) -> t.RuleFile:
    """Parse the declarations and rules of a text and of the files that it includes.

    Parameters
    ----------
    folder: the folder of the text's file, where included files may lie; None: the text is not a file.

    Raises
    ------
    LanguageError: the text cannot be read; all mistakes of one file are reported at once.
    InputError: an included file cannot be read.
    """
    # there is no garbage while reading, and the search for it takes half of the time
    with suspend_collection(), allow(() if folder is None else (folder,)) as folders:
        return _Reading(folder or next(iter(folders), None))(text, file, ())


def read_rules(path: str | Path) -> t.RuleFile:
    """Read the declarations and rules of a `.tesla` file and of the files that it includes."""
    with hide_text(Path(path)):
        return parse_rule_file(_read_file(Path(path)), str(path), Path(path).parent)


def _read_file(path: Path, where: Location | str = "") -> str:
    return read_text(path, lambda: suggest_program(path, ".tesla", lambda each: each.name), where)


class _Reading:
    """Reader of a file and the files that it includes, each of them once."""

    def __init__(self, folder: Path | None) -> None:
        self.folder, self._read = folder, set[Path]()

    def __call__(self, text: str, file: str, around: tuple[Path, ...]) -> t.RuleFile:
        items: list[Any] = []
        for item in read(text, file, LANGUAGE):
            tree = self._include_file(item, around) if isinstance(item, _Include) else item
            whole = isinstance(tree, t.RuleFile)
            items += (*tree.declarations, *tree.aggregates, *tree.rules) if whole else (tree,)
        rules = _number_rules(of_type(items, t.Rule))
        return t.RuleFile(of_type(items, t.Declaration), rules, of_type(items, t.DeclaredAggregate))

    def _include_file(self, item: _Include, around: tuple[Path, ...]) -> t.RuleFile:
        if self.folder is None:
            raise LanguageError("only a file includes others", where=item.where, hint="write these rules into a file")
        file = find_named(item.path, self.folder, item.where)
        path = follow_links(file)
        if path in around:
            raise LanguageError(f"'{item.path}' includes itself", where=item.where, hint="leave out one include")
        if path in self._read:
            return t.RuleFile((), ())
        self._read.add(path)
        before, self.folder = self.folder, file.parent
        try:
            with hide_text(path):
                return self(_read_file(path, item.where), str(file), (*around, path))
        finally:
            self.folder = before


class _Include(NamedTuple):
    path: str
    where: Location


def _number_rules(rules: Iterable[t.Rule]) -> tuple[t.Rule, ...]:
    """Return the rules; one without a name is named after its position among all rules."""
    return tuple(rule if rule.named else replace(rule, name=f"rule {i}") for i, rule in enumerate(rules, 1))


_ROWS: dict[str, SemanticAction] = {
    **EXPRESSIONS,
    "heading": lambda c, *_: c[1],
    "where": lambda c, *_: tuple(c[1:]),
    "limit": lambda c, *_: c[1],
    "emission": lambda c, *_: (c[1], of_type(c, t.Evaluation), c[-1] or (None, ())),
    "at_most": lambda c, *_: (c[1], of_type(c, t.Expression)),
    "evaluation": lambda c, _, at: t.Evaluation(str(c[0]), c[2], where=at(c[0])),
    "consuming": lambda c, *_: tuple(c[1:]),
    "assignments": lambda c, *_: tuple(c),
    "assignment": lambda c, _, at: t.Assigned(str(c[0])[1:], c[2], where=at(c[0])),
    "constraints": lambda c, *_: of_type(c, t.Expression),
    "ordering": lambda c, *_: of_type(c, t.OrderedBy),
    "order": lambda c, _, at: t.OrderedBy(str(c[0]), c[1] == "desc", where=at(c[0])),
    "between": lambda c, extent, at: t.EventWindow((str(c[1]), str(c[3])), where=at(extent)),
    "named": lambda c, *_: replace(c[2], new=replace(c[2].new, parameter=str(c[0])[1:])),
    # expressions
    "parameter": lambda c, extent, at: t.BoundParameter(str(c[0])[1:], where=at(extent)),
    "own": lambda c, extent, at: t.OwnAttribute(str(c[0]), where=at(extent)),
    "other": lambda c, extent, at: t.OtherAttribute(str(c[0]), str(c[2]), where=at(extent)),
    "time": lambda c, extent, at: t.TimeOf(str(c[1]), where=at(extent)),
}
"""Actions for rules (or aliases) of the grammar that take one line each; see `TreeBuilder`."""


class _RuleBuilder(TreeBuilder):
    """Builder of tree nodes, with a method for each rule of the grammar that is not in `_ROWS`."""

    rows = _ROWS

    def start(self, items: list[Any], extent: Extent) -> list[Any]:
        return items

    def include(self, children: list[Any], extent: Extent) -> _Include:
        return _Include(str(children[1])[1:-1], self.locate(children[1]))

    def declaration(self, children: list[Any], extent: Extent) -> t.Declaration:
        _, fact, name, *attributes, _, _, digits = children
        return t.Declaration(
            str(name), of_type(attributes, t.Attribute), fact is not None, digits and self._read_whole_number(digits),
            self.comment_above(extent), where=self.locate(name),
        )  # fmt: skip

    def combining(self, children: list[Any], extent: Extent) -> t.DeclaredAggregate:
        _, _, name, one, other, _, combined, _, start = children
        comment = self.comment_above(extent)
        return t.DeclaredAggregate(str(name), (one, other), combined, start, comment=comment, where=self.locate(name))

    def attribute(self, children: list[Any], extent: Extent) -> t.Attribute:
        name, kind = children
        if kind is not None and str(kind) not in t.NAMED:
            hint = FOREIGN_TYPES.get(str(kind)) or did_you_mean(str(kind), t.SPELLED.values())
            self.mistake(f"'{kind}' is not a type of attributes", kind, hint)
            return t.Attribute(str(name), t.NAMED["int"], where=self.locate(name))
        return t.Attribute(str(name), None if kind is None else t.NAMED[str(kind)], where=self.locate(name))

    typed = attribute

    def rule(self, children: list[Any], extent: Extent) -> t.Rule | t.RuleFile:
        heading, body = children
        fields = {"name": str(heading or ""), "named": heading is not None, "comment": self.comment_above(extent)}
        if isinstance(body, Defining):
            return translate(body, self.mistakes, where=self.locate(heading) if heading else body.where, **fields)
        return t.Rule(**body | fields | ({"where": self.locate(heading)} if heading else {}))

    def integer(self, children: list[Any], extent: Extent) -> t.Literal:
        return t.Literal(self._read_whole_number(children[0]), where=self.locate(extent))

    def _read_whole_number(self, digits: Token) -> int:
        if len(digits) > MAX_DIGITS:
            self.mistake(f"a number of {len(digits)} digits", digits, f"at most {MAX_DIGITS} digits are read")
            return 0
        return int(digits)

    def duration(self, children: list[Any], extent: Extent) -> t.Duration:
        digits, unit = children
        amount = Decimal(str(digits))
        if amount and abs(amount.adjusted()) > LONGEST_DURATION:
            hint = f"durations are between 1e-{LONGEST_DURATION} and 1e{LONGEST_DURATION}; or write within forever"
            self.mistake(f"a duration of {digits[:40]} is out of range", digits, hint)
        return t.Duration(amount, _read_unit(str(unit or "")), where=self.locate(extent))

    def period(self, children: list[Any], extent: Extent) -> t.Period:
        duration = self.duration(children, extent)
        size = MICROSECONDS.get(duration.unit)
        amount = duration.amount * (size or 1)
        if size is None:
            hint = "in an expression write a time, 30 s, or a number"
            self.mistake(f"{duration} is not a time", extent, hint)
        elif amount != int(amount):
            hint = f"times are whole microseconds: write {max(1, int(amount))} us"
            self.mistake(f"no time is {duration}", extent, hint)
        return t.Period(int(amount), duration, where=self.locate(extent))

    def emitting(self, children: list[Any], extent: Extent) -> dict[str, Any]:
        word, first, *rest, where, limit, emission, consumed = children
        trigger = self._refuse_aggregate(first, " where $")
        emits, evaluations, (pause, per) = emission
        for each in of_type(rest, OlderAggregate):
            if each.sign:
                what = "a rule that ends with emit compares aggregates in its where clause"
                self.mistake(what, each.where, f"write $n = {each.new.function}(...) here, and below: where $n > 2")
        parts = of_type(rest, t.Predicate, OlderAggregate)
        return {
            "trigger": trigger,
            "predicates": tuple(each.new if isinstance(each, OlderAggregate) else each for each in parts),
            "where_clause": where or (),
            "limit": limit and self._read_whole_number(limit),
            "emits": str(emits),
            "evaluations": evaluations,
            "pause": pause,
            "per": per,
            "consuming": tuple(map(str, consumed or ())),
            "consuming_at": tuple(map(self.locate, consumed or ())),
            "emits_at": self.locate(emits),
            "where": self.locate(word),
        }

    def defining(self, children: list[Any], extent: Extent) -> Defining:
        _, name, *rest, where, consumed = children
        first, *predicates = of_type(rest, t.Predicate, OlderAggregate)
        trigger = self._refuse_aggregate(first)
        return Defining(
            str(name), of_type(rest, t.Attribute), trigger, tuple(predicates), where or (),
            tuple(map(str, consumed or ())), tuple(map(self.locate, consumed or ())), where=self.locate(name),
        )  # fmt: skip

    def body(self, children: list[Any], extent: Extent) -> t.Predicate:
        name, assignments, constraints, _, alias = children
        called = None if alias is None else str(alias)
        return t.Predicate(
            t.Policy.TRIGGER, str(name), assignments or (), constraints or (), called, where=self.locate(name)
        )

    def event(self, children: list[Any], extent: Extent) -> t.Predicate:
        word, body, *placed, ordering = children
        assert isinstance(body, t.Predicate)
        window, *late = placed or (None,)
        if late and body.alias is not None:
            self.mistake(f"this {body.type} is called '{body.alias}' and '{late[-1]}'", late[-1], "leave one name out")
        body = replace(body, alias=str(late[-1])) if late else body
        return replace(body, policy=t.Policy(str(word)), window=window, ordering=ordering or ())

    def absence(self, children: list[Any], extent: Extent) -> t.Predicate:
        _, body, _, duration, _, name = children
        assert isinstance(body, t.Predicate)
        window = t.EventWindow((str(name),), duration, after=True, where=self.locate(name))
        return replace(body, policy=t.Policy.ABSENT, window=window)

    def within(self, children: list[Any], extent: Extent) -> t.EventWindow:
        _, least, _, upper, _, name = children
        upper = upper if isinstance(upper, t.Duration) else None  # forever
        if least is not None and upper is not None and not least.unit:
            least = replace(least, unit=upper.unit)
        return t.EventWindow((str(name),), upper, least, where=self.locate(name))

    def plain(self, children: list[Any], extent: Extent) -> OlderAggregate | None:
        return self._aggregate(extent, children[0])

    def bounded(self, children: list[Any], extent: Extent) -> OlderAggregate | None:
        one, sign, other = children
        if isinstance(one, OlderAggregate):
            return self._aggregate(extent, one, str(sign), other)
        return self._aggregate(extent, other, operator_of(str(sign)).mirror, one)

    def _refuse_aggregate(self, first: Any, condition: str = "") -> t.Predicate:
        """Return the trigger of a rule; report a mistake if it is an aggregate."""
        if not isinstance(first, OlderAggregate):
            return first or t.Predicate(t.Policy.TRIGGER, "")
        aggregate = replace(first.new, parameter=first.new.parameter or "n")
        event = aggregate.window.names[0] if aggregate.window else "EVENT"
        bound = f"{condition.replace('$', f'${aggregate.parameter}')} {first.sign} {first.bound}" if first.sign else ""
        what = f"a rule begins with an event, its trigger, not with the aggregate {aggregate.function}"
        self.mistake(what, first.where, f"write from {event} and {aggregate}{bound}")
        return t.Predicate(t.Policy.TRIGGER, event, where=first.where)

    def _aggregate(self, extent: Extent, operand: Any, sign: str = "", bound: Any = None) -> OlderAggregate | None:
        """Return an aggregate as a predicate, with a comparison if there is one; report a mistake for anything else."""
        if isinstance(operand, OlderAggregate) and not isinstance(bound, OlderAggregate):
            return replace(operand, sign=sign, bound=bound)
        hint = "state the selection: each, first, last or not; or give an aggregate a name: $n = COUNT(...)"
        self.mistake("this is not a predicate", extent, hint)
        return None

    def call(self, children: list[Any], extent: Extent) -> OlderAggregate:
        function, name, constraints, _, attribute, *window = children
        word = str(function).upper() if function.type != "CALLED" else str(function)
        over, where = None if attribute is None else str(attribute), self.locate(extent)
        aggregate = t.Aggregate("", word, str(name), constraints or (), over, next(iter(window), None), where=where)
        return OlderAggregate(aggregate, where=where)


def _read_unit(text: str) -> str:
    unit = text.rstrip(".")
    return t.EVENTS if unit == "event" else SPELLINGS.get(unit, unit)


LANGUAGE = Dialect(
    Path(__file__).with_name("tesla.lark"),
    ("start",),
    _RuleBuilder,
    TESLA,
    r"(?:[Rr]ule[ \t]\s*\w+[ \t]*:?\s*^[ \t]*)*(?:declare|include|rule|Rule|from|define)\b",
)
"""The dialect of rules, for the parser."""
