"""The tree of a rule file: declarations and rules of TESLA, written in either grammar.

The rule of this module: a tree holds the written text, in the extended grammar. `meaning` and the engines define its
meaning; `check` decides whether it has one. `str` of a part is text that reads back as the same tree.

Sources: Di Pilla's thesis, 3.2; extensions (`absent`, `limit`, least gaps, `forever`, `at most once`, `TIME`)
are in docs/reference/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum as Enumeration
from functools import cached_property
from typing import ClassVar, TypeGuard

from workbench.errors import Location
from workbench.language.syntax import NOWHERE, Expression, Literal, Operation, Placed
from workbench.language.syntax import walk as within
from workbench.tesla.declared import NAMED, SPELLED, Attribute, Declaration, DeclaredAggregate
from workbench.tesla.declared import listed as _listed
from workbench.tesla.windows import EVENTS, Duration, EventWindow

# --- expressions ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OwnAttribute(Expression):
    """`area`: an attribute of the event or fact that a predicate selects."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class OtherAttribute(Expression):
    """`Smoke.area`: an attribute of an event or fact that is already bound."""

    of: str
    name: str

    def __str__(self) -> str:
        return f"{self.of}.{self.name}"


@dataclass(frozen=True)
class BoundParameter(Expression):
    """`$a`: a parameter that is already bound."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True)
class TimeOf(Expression):
    """`TIME(Smoke)`: the time of an event that is already bound."""

    name: str

    def __str__(self) -> str:
        return f"TIME({self.name})"


@dataclass(frozen=True)
class Period(Literal):
    """`30 s` in an expression; its value is in microseconds, as times are wherever durations have units."""

    duration: Duration

    def __str__(self) -> str:
        return str(self.duration)


# --- predicates -----------------------------------------------------------------------------------------


NONE_OF_THEM = slice(0)


class Policy(Enumeration):
    """The selection policy of a part of a rule, a member for each word of the language, with its properties.

    Attributes
    ----------
    binds: whether it binds a candidate (an event or fact that fits the part).
    selects: whether it searches for the candidates that it binds.
    many: whether a match continues with each candidate.
    oldest, newest: whether it selects the oldest, or the newest, candidate.
    forbids: whether a match continues only if there is no candidate.
    later: whether it concerns events after the trigger.
    takes: the slice of the candidates, in their order, with which a match continues if the policy selects.
    """

    takes: slice
    binds: bool
    selects: bool
    many: bool
    oldest: bool
    newest: bool
    forbids: bool
    later: bool

    TRIGGER = "", NONE_OF_THEM, "binds"
    EACH = "each", slice(None), "binds", "selects", "many"
    FIRST = "first", slice(1), "binds", "selects", "oldest"
    LAST = "last", slice(-1, None), "binds", "selects", "newest"
    NOT = "not", NONE_OF_THEM, "forbids"
    ABSENT = "absent", NONE_OF_THEM, "later"
    AGGREGATE = ("aggregate",)

    def __new__(cls, word: str, takes: slice = NONE_OF_THEM, *true_of_it: str) -> Policy:
        """Create the member for a word."""
        member = object.__new__(cls)
        member._value_, member.takes = word, takes
        for name in cls.__annotations__.keys() - {"takes"}:
            setattr(member, name, name in true_of_it)
        return member

    @property
    def single(self) -> bool:
        """Whether it selects exactly one candidate."""
        return self.selects and not self.many

    @property
    def ends(self) -> bool:
        """Whether it selects the first or the last candidate, so that no other one matters."""
        return self.oldest or self.newest

    @property
    def newest_first(self) -> bool:
        """Whether it searches candidates from the newest one backwards."""
        return self.newest or self.forbids


@dataclass(frozen=True)
class Assigned(Placed):
    """`$a = area`: the value of a parameter."""

    name: str
    value: Expression

    def __str__(self) -> str:
        return f"${self.name} = {self.value}"


@dataclass(frozen=True)
class OrderedBy(Placed):
    """`price desc`: an attribute that orders facts."""

    name: str
    descending: bool = False

    def __str__(self) -> str:
        return f"{self.name} {'desc' if self.descending else 'asc'}"


@dataclass(frozen=True)
class Predicate(Placed):
    """`last Temp[$v = value](area == $a) as Hot within 5 min from Smoke`: a predicate on events or facts.

    Attributes
    ----------
    window: None for the trigger and for facts.
    """

    attribute: ClassVar[None] = None
    declared: ClassVar[None] = None
    policy: Policy
    type: str
    assignments: tuple[Assigned, ...] = ()
    constraints: tuple[Expression, ...] = ()
    alias: str | None = None
    window: EventWindow | None = None
    ordering: tuple[OrderedBy, ...] = ()

    @property
    def name(self) -> str:
        """The name of its event or fact in the rest of the rule."""
        return self.alias or self.type

    def __str__(self) -> str:
        text = " ".join(filter(None, [self.policy.value, self.type]))
        text += f"[{_listed(self.assignments)}]" if self.assignments else ""
        text += _parenthesize(self.constraints)
        text += f" as {self.alias}" if self.alias else ""
        text += f" {self.window}" if self.window else ""
        return text + (f" ordered by {_listed(self.ordering)}" if self.ordering else "")


@dataclass(frozen=True)
class Aggregate(Placed):
    """`$m = MAX(Temp(area == $a).value within 5 min from Smoke)`: an aggregate over events or facts.

    Attributes
    ----------
    attribute: None if it counts events or facts.
    declared: the declaration of a function that is not built in; `check` sets it.
    """

    policy: ClassVar[Policy] = Policy.AGGREGATE
    assignments: ClassVar[tuple[Assigned, ...]] = ()
    ordering: ClassVar[tuple[OrderedBy, ...]] = ()
    parameter: str
    function: str
    type: str
    constraints: tuple[Expression, ...] = ()
    attribute: str | None = None
    window: EventWindow | None = None
    declared: DeclaredAggregate | None = field(default=None, compare=False)

    def __str__(self) -> str:
        attribute = f".{self.attribute}" if self.attribute else ""
        window = f" {self.window}" if self.window else ""
        text = f"{self.function}({self.type}{_parenthesize(self.constraints)}{attribute}{window})"
        return f"${self.parameter} = {text}"


# --- rules ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Evaluation(Placed):
    """`area = $a`: the value of an attribute of the composite event."""

    name: str
    value: Expression

    def __str__(self) -> str:
        return f"{self.name} = {self.value}"


@dataclass(frozen=True)
class Rule(Placed):
    """A rule: the trigger, the other predicates and aggregates in their order, and the effect of a match.

    Attributes
    ----------
    name: its written name, or one such as `rule 3`.
    named: whether the name is written.
    emits: the type of the composite event.
    limit: the maximum number of matches of a trigger that count; None: all.
    pause, per: the time for which a rule is silent after it has emitted, separately for each tuple of values of `per`.
            None: never.
    consuming: the names of the predicates whose events a match consumes.
    comment: the comment in the lines above.
    """

    name: str
    named: bool
    trigger: Predicate
    predicates: tuple[Predicate | Aggregate, ...]
    where_clause: tuple[Expression, ...]
    emits: str
    evaluations: tuple[Evaluation, ...] = ()
    limit: int | None = None
    pause: Duration | None = None
    per: tuple[Expression, ...] = ()
    consuming: tuple[str, ...] = ()
    comment: str = ""
    emits_at: Location = field(default=NOWHERE, compare=False)
    consuming_at: tuple[Location, ...] = field(default=(), compare=False)

    @property
    def parts(self) -> tuple[Predicate | Aggregate, ...]:
        """The trigger and all other predicates and aggregates."""
        return (self.trigger, *self.predicates)

    @property
    def binding(self) -> list[Predicate]:
        """The predicates that bind an event or a fact, the trigger first."""
        return list(filter(binds, self.parts))

    @property
    def expressions(self) -> Iterator[Expression]:
        """All expressions of the rule."""
        for part in self.parts:
            yield from expressions_of(part)
        yield from self.where_clause
        yield from (each.value for each in self.evaluations)
        yield from self.per

    @cached_property
    def anchors(self) -> tuple[tuple[int, ...], ...]:
        """For each part, the places of the events on which its window depends."""
        bound, anchors = dict[str, int](), list[tuple[int, ...]]()
        for index, part in enumerate(self.parts):
            names = () if part.window is None else part.window.names
            anchors.append(tuple(bound[name] for name in names))
            if binds(part):
                bound[part.name] = index
        return tuple(anchors)

    @property
    def durations(self) -> Iterator[Duration]:
        """The bounds of its windows, followed by its pause and the times in its expressions."""
        for part in self.predicates:
            yield from () if part.window is None else part.window.bounds
        if self.pause is not None:
            yield self.pause
        leaves = (leaf for each in self.expressions for leaf in within(each))
        yield from (leaf.duration for leaf in leaves if isinstance(leaf, Period))

    @property
    def counts_events(self) -> bool:
        """Whether one of its windows counts events (of all types)."""
        return any(map(counts_events, self.parts))

    @property
    def absence(self) -> Predicate | None:
        """The `absent` predicate, about events that must not follow the trigger; None if there is none."""
        absences = (part for part in self.predicates if isinstance(part, Predicate) and part.policy.later)
        return next(absences, None)

    @property
    def timeout(self) -> int:
        """The time from the trigger to the deadline of `absent`; 0 without `absent`."""
        window = self.absence.window if self.absence is not None else None
        return (window and window.far) or 0

    @property
    def types(self) -> Iterator[str]:
        """The types of events and facts that its parts read."""
        return (part.type for part in self.parts)

    def __str__(self) -> str:
        lines = [f"rule {self.name}:"] if self.named else []
        lines.append(f"from {self.trigger}")
        lines += [f"  and {part}" for part in self.predicates]
        lines += [f"where {_listed(self.where_clause)}"] if self.where_clause else []
        lines += [f"limit {self.limit}"] if self.limit is not None else []
        emission = f"emit {self.emits}{_parenthesize(self.evaluations)}"
        pause = f" at most once in {self.pause}" if self.pause else ""
        lines.append(emission + pause + (f" per {_listed(self.per)}" if self.per else ""))
        lines += [f"consuming {_listed(self.consuming)}"] if self.consuming else []
        return "\n".join(lines)


@dataclass(frozen=True)
class RuleFile(Placed):
    """Declarations and rules in the order of the text, including those of included files."""

    declarations: tuple[Declaration, ...]
    rules: tuple[Rule, ...]
    aggregates: tuple[DeclaredAggregate, ...] = ()

    def __str__(self) -> str:
        declared: list[Declaration | DeclaredAggregate] = [*self.declarations, *self.aggregates]
        texts = [_prepend_comment(each.comment, str(each)) for each in declared]
        blocks = ["\n".join(texts)] if texts else []
        return "\n\n".join([*blocks, *(_prepend_comment(rule.comment, str(rule)) for rule in self.rules)]) + "\n"


def _parenthesize(items: tuple[object, ...]) -> str:
    return f"({_listed(items)})" if items else ""


def _prepend_comment(comment: str, text: str) -> str:
    return "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines()) + text


def binds(part: Predicate | Aggregate) -> TypeGuard[Predicate]:
    """Whether a part binds an event or a fact."""
    return part.policy.binds


def counts_events(part: Predicate | Aggregate) -> bool:
    """Whether a part's window counts events (of all types)."""
    return part.window is not None and part.window.counts_events


def expressions_of(part: Predicate | Aggregate) -> tuple[Expression, ...]:
    """Return the constraints of a part and the expressions that it assigns."""
    return (*part.constraints, *(each.value for each in part.assignments))


def conjuncts(*expressions: Expression) -> Iterator[Expression]:
    """Yield the operands of `and`, however nested: all of them hold if and only if the expressions do."""
    for each in expressions:
        if isinstance(each, Operation) and each.operator == "and":
            yield from conjuncts(*each.operands)
        else:
            yield each


__all__ = [
    "EVENTS", "NAMED", "SPELLED", "Aggregate", "Assigned", "Attribute", "BoundParameter", "Declaration",
    "DeclaredAggregate", "Duration", "Evaluation", "EventWindow", "Expression", "Literal", "Operation", "OrderedBy",
    "OtherAttribute", "OwnAttribute", "Period", "Placed", "Policy", "Predicate", "Rule", "RuleFile", "TimeOf", "binds",
    "conjuncts", "counts_events", "expressions_of", "within",
]  # fmt: skip
