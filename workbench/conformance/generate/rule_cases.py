"""Random cases of rules with their inputs, grown by choices, on which engines have to agree.

The rule of this module: rules are built as trees, predicate after predicate, each reading earlier bindings, so that
nothing is generated and then rejected; choices are listed simplest first. Everything stays small: a rule triggered by
a composite has a limit if it selects `each`, and a composite causes only composites of later types, or of its own
type with a larger number, up to `DEEPEST`.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_rows
from workbench.tesla.check import check_rule_set
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

Chooser = Callable[[Sequence[Any]], Any]
"""A function that chooses one of some items, the first of which is the simplest."""

DEEPEST = 3
"""The number up to which a rule that triggers itself counts."""
MAX_EACH = 1
"""Maximum number of predicates of a crowd that select `each` event: two have too many matches."""
CROWD, CROWDED_RULES = range(65, 81), 5
"""Number of events in a crowd, all within a few steps of time; and number of rules, which begin alike."""
MAX_RULES, MAX_PREDICATES, MAX_HAPPENING, MAX_ROWS = 3, 4, 12, 4
SINGLE = [each.value for each in t.Policy if each.single]
LITERALS: Mapping[Domain, Sequence[Value]] = {
    INT: (1, 0, 2, 3), FLOAT: (1.0, 0.5, 0.0, 2.5, 1e16), STR: ("a", "b", ""), BOOL: (True, False),
}  # fmt: skip
VALUES: Mapping[Domain, Sequence[Value | None]] = {
    INT: (1, 0, 2, 1, 0, 2, -1, 3, None, 2**53 + 1, 2**70),
    FLOAT: (1.0, 0.5, 0.1, 0.0, 1.0, 0.5, 0.1, -1.0, 2.5, None, 1e16, math.nan, math.inf, -math.inf, 1e308),
    STR: ("a", "b", "a", "b", "", "ab", None, "a" * 30, "a" * 30 + "b", "\u00e9", "a\0"),
    BOOL: (True, False, True, False, None),
}
"""The values of attributes of events and facts, by type."""


@dataclass(frozen=True)
class RuleCase:
    """A rule set with a stream of events.

    Attributes
    ----------
    rules: the rules, with windows in the unit of the events' times.
    events: the events from outside, in order.
    until: the time to which the clock is advanced at the end; None: it is not.
    trex: whether windows and consumption have the semantics of T-Rex.
    saved: the index of the event before which another engine resumes from a snapshot; None: no snapshot.
    """

    rules: RuleSet
    events: Sequence[Occurrence]
    facts: Facts = field(default_factory=dict)
    until: int | None = None
    trex: bool = False
    saved: int | None = None


def _declare(name: str, fact: bool = False, **attributes: Domain) -> t.Declaration:
    return t.Declaration(name, tuple(t.Attribute(each, domain) for each, domain in attributes.items()), fact)


PRIMITIVE = (
    _declare("A", x=INT, f=FLOAT), _declare("B", x=INT, s=STR), _declare("C", x=INT, b=BOOL), _declare("N"),
)  # fmt: skip
COMPOSITE = (_declare("P", x=INT), _declare("Q", x=INT, f=FLOAT, s=STR, b=BOOL), _declare("R"))
"""Types of composites, in the order in which one may cause the next."""
STATIC = (_declare("F", fact=True, x=INT, f=FLOAT, s=STR), _declare("G", fact=True, x=INT))


def _combining(name: str, domain: Domain, combined: t.Expression, start: Value) -> t.DeclaredAggregate:
    return t.DeclaredAggregate(name, (t.Attribute("a", domain), t.Attribute("b", domain)), combined, t.Literal(start))


_PAIR = (t.OwnAttribute("a"), t.OwnAttribute("b"))
AGGREGATES = (
    _combining("PRODUCT", INT, t.Operation("*", _PAIR), 1), _combining("SCALED", FLOAT, t.Operation("*", _PAIR), 1.0),
    _combining("JOINED", STR, t.Operation("+", _PAIR), ""), _combining("ANY", BOOL, t.Operation("or", _PAIR), False),
    _combining("NEWEST", INT, _PAIR[1], 2), _combining("TOTAL", FLOAT, t.Operation("+", _PAIR), 0.0),
    _combining("NOTHING", STR, t.Operation("+", (_PAIR[0], t.Literal(""))), "-"),
)  # fmt: skip
"""Declared aggregates of each type; some on floats round, and some depend on the order."""
DECLARATIONS = {each.name: each for each in (*PRIMITIVE, *COMPOSITE, *STATIC)}


def random_case(seed: int, *, alike: bool = False, crowded: bool = False) -> RuleCase:
    """Return the case of a seed."""
    return grow_case(random.Random(seed).choice, alike=alike, crowded=crowded)


def make_varied_case(seed: int) -> RuleCase:
    """Return the case of a seed, of any kind: most are small."""
    return random_case(seed, alike=seed % 8 == 3, crowded=seed % 8 == 7)


def grow_case(choose: Chooser, *, alike: bool = False, crowded: bool = False) -> RuleCase:
    """Draw rules, a stream, facts, and the settings of a run.

    Parameters
    ----------
    alike: whether rules begin like others, and those about events from outside have no limit.
    crowded: whether more events than usual come within windows of several rules with a common beginning.
    """
    kinds = tuple({each.name: each for each in (choose(PRIMITIVE), choose(PRIMITIVE))}.values())
    count = choose(range(1, MAX_RULES + 1))
    again, rule_list = _Again(choose), list[t.Rule]()
    for number in range(1, (CROWDED_RULES if crowded else 2 * count if alike else count) + 1):
        rule_list.append(_Growing(again if alike or crowded else choose, kinds, f"r{number}", crowded).rule())
        if crowded:
            again = _Again(choose, again.made, len(again.made) // 2 if number == 1 else again.count)
            continue
        again = _Again(choose, again.made, choose(range(len(again.made) + 1)) if alike else 0)
        if alike and not {each.name for each in COMPOSITE} & set(rule_list[-1].types):
            rule_list[-1] = replace(rule_list[-1], limit=None)
    rules = check_rule_set(t.RuleFile(tuple(DECLARATIONS.values()), tuple(rule_list), AGGREGATES), "random")
    events = _stream(choose, [*kinds, *kinds, *kinds, choose((*PRIMITIVE, *COMPOSITE))], crowded)
    until = choose((None, 0, 1, 2, 5, 9))
    return RuleCase(
        rules,
        events,
        {each.name: [_row(choose, each) for _ in range(choose(range(MAX_ROWS + 1)))] for each in STATIC},
        None if until is None else until + (events[-1].time if events else 0),
        choose((False, False, True)),
        choose((None, None, *range(len(events) + 1))),
    )


def _stream(choose: Chooser, kinds: Sequence[t.Declaration], crowded: bool) -> list[Occurrence]:
    """Draw events in order, many at the same time."""
    time, events = 0, []
    for _ in range(choose(CROWD if crowded else range(MAX_HAPPENING + 1))):
        time += choose((0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1) if crowded else (0, 1, 0, 1, 2, 5))
        declared = choose(kinds)
        events.append(Occurrence(declared.name, time, _row(choose, declared)))
    return events


def _row(choose: Chooser, declared: t.Declaration) -> tuple[Value | None, ...]:
    """Draw values of the attributes of an event or a fact."""
    return tuple(choose(VALUES[domain]) for domain in declared.domains.values())


class _Again:
    """A chooser that first repeats the choices of another one, so that two rules begin alike."""

    def __init__(self, choose: Chooser, before: Sequence[Any] = (), count: int = 0) -> None:
        self._choose, self._before, self.made = choose, before[:count], list[Any]()
        self.count = count

    def __call__(self, items: Sequence[Any]) -> Any:
        index = len(self.made)
        self.made.append(self._before[index] if index < len(self._before) else self._choose(items))
        return self.made[-1]


class _Growing:
    """A rule under construction, and its bindings so far."""

    def __init__(self, choose: Chooser, kinds: Sequence[t.Declaration], name: str, crowded: bool = False) -> None:
        self.choose, self.name, self.crowded = choose, name, crowded
        self.kinds = (*kinds, *kinds) if crowded else (*kinds, *kinds, *kinds, *COMPOSITE)
        self.events: dict[str, t.Declaration] = {}
        self.facts: dict[str, t.Declaration] = {}
        self.parameters: dict[str, Domain] = {}
        self.own: t.Declaration | None = None
        self.start, self.absent = "", False
        self._names = 0

    # --- choices ----------------------------------------------------------------------------------------

    def one(self, *choices: Any) -> Any:
        """Choose one of the arguments; the first is the simplest."""
        return self.choose(choices)

    def some(self, items: Sequence[Any]) -> tuple[Any, ...]:
        """Choose some of the items, mostly none."""
        return tuple(each for each in items if self.one(False, False, True))

    def up_to(self, limit: int, grown: Callable[[], Any]) -> tuple[Any, ...]:
        """Grow at most `limit` items."""
        return tuple(grown() for _ in range(self.one(0, 0, *range(limit + 1))))

    def fresh(self) -> int:
        """Return a number that no name has yet."""
        self._names += 1
        return self._names

    # --- a rule -----------------------------------------------------------------------------------------

    def rule(self) -> t.Rule:
        """Grow the rule."""
        declared = self.one(*self.kinds[:-1])
        trigger = self.predicate(t.Policy.TRIGGER, declared, None)
        self.start = trigger.name
        parts = [self.part() for _ in range(self.one(1, 0, *range(MAX_PREDICATES + 1)))]
        trigger, emits, counted = self._draw_emit(trigger, declared)
        indices = [n for n, each in enumerate(parts) if each.policy.many]
        for index in indices[MAX_EACH:] if self.crowded else ():
            part = parts[index]
            if isinstance(part, t.Predicate) and part.window is not None:  # facts are few and unordered
                parts[index] = replace(part, policy=t.Policy.LAST)
        each = len(indices)
        crowded = each > 1 or (each and declared in COMPOSITE)
        paused = self.one(False, False, False, True)
        attributes = list(emits.domains.items())
        return t.Rule(
            self.name,
            True,
            trigger,
            tuple(parts),
            self.conditions(),
            emits.name,
            tuple(
                t.Evaluation(name, counted if counted and name == "x" else self._fitting(domain))
                for name, domain in self.one(attributes, attributes[::-1])
            ),
            self.one(1, 2) if crowded else self.one(None, None, None, 1, 2),
            t.Duration(Decimal(self.one(2, 1, 4, 0))) if paused else None,
            self.up_to(2, lambda: self.expression(self.one(INT, FLOAT, STR, BOOL))) if paused else (),
            self.some(tuple(self.events)),
        )

    def _draw_emit(
        self, trigger: t.Predicate, declared: t.Declaration
    ) -> tuple[t.Predicate, t.Declaration, t.Expression | None]:
        """Draw the trigger, the emitted type, and its number if the rule triggers itself and counts up."""
        if declared in PRIMITIVE:
            return trigger, self.one(*COMPOSITE), None
        if self.one(False, True):
            return trigger, self.one(*COMPOSITE[COMPOSITE.index(declared) + 1 :]), None
        x = t.OwnAttribute("x")
        ends = (t.Operation("<", (x, t.Literal(DEEPEST))), t.Operation(">=", (x, t.Literal(0))))
        counted = t.Operation("+", (t.OtherAttribute(trigger.name, "x"), t.Literal(1)))
        return replace(trigger, constraints=(*ends, *trigger.constraints)), declared, counted

    def _fitting(self, domain: Domain) -> t.Expression:
        """Draw a value for an attribute; a whole number may stand for a float."""
        return self.expression(self.one(FLOAT, INT) if domain == FLOAT else domain)

    # --- predicates -------------------------------------------------------------------------------------

    def part(self) -> t.Predicate | t.Aggregate:
        """Draw one more predicate or aggregate."""
        kind = self.one("each", *SINGLE[::-1], "not", "aggregate", "each fact", "fact", "aggregate of facts", "absent")
        if kind == "absent":
            if self.absent:
                return self.part()
            self.absent = True
            window = t.EventWindow((self.start,), t.Duration(Decimal(self.one(1, 2, 0, 4))), after=True)
            return self.predicate(t.Policy.ABSENT, self.one(*self.kinds), window)
        if kind == "aggregate of facts":
            return self.aggregate(self.one(*STATIC), None)
        if kind == "aggregate":
            return self.aggregate(self.one(*self.kinds), self.window())
        if "fact" not in kind:
            return self.predicate(t.Policy(kind), self.one(*self.kinds), self.window())
        policy = t.Policy.EACH if kind == "each fact" else t.Policy(self.one("not", *SINGLE))
        return self.predicate(policy, self.one(*STATIC), None)

    def window(self) -> t.EventWindow:
        """Draw a window that is anchored at bound events."""
        names = tuple(self.events)
        if len(names) > 1 and self.one(False, True):
            return t.EventWindow((self.one(*names), self.one(*names[::-1])))
        least, more = self.one(None, None, None, 0, 1, 2), self.one(3, 1, 0, 2, 5, None)
        unit = self.one("", "", t.EVENTS)
        more = more or 1 if unit and more == 0 else more
        farthest = None if more is None else t.Duration(Decimal((least or 0) + more), unit)
        of, nearest = self.one(*names[::-1]), None if least is None else t.Duration(Decimal(least), unit)
        return t.EventWindow((of,), farthest, nearest)

    def predicate(self, policy: t.Policy, declared: t.Declaration, window: t.EventWindow | None) -> t.Predicate:
        """Draw a predicate; its name is known to later parts if it binds."""
        self.own, before = declared, dict(self.parameters)
        assignments = self.up_to(1, self._draw_assignments)
        constraints = self.conditions()
        self.own = None
        if not policy.binds:
            self.parameters = before
            return t.Predicate(policy, declared.name, assignments, constraints, None, window)
        is_bound = declared.name in (*self.events, *self.facts)
        alias = f"{declared.name}{self.fresh()}" if is_bound or self.one(False, False, True) else None
        (self.facts if declared.fact else self.events)[alias or declared.name] = declared
        names = self.some(tuple(declared.domains)) if declared.fact else ()
        if declared.fact and not policy.many:
            names = names or (self.one(*declared.domains),)
        ordering = tuple(t.OrderedBy(name, self.one(False, True)) for name in names)
        return t.Predicate(policy, declared.name, assignments, constraints, alias, window, ordering)

    def _draw_assignments(self) -> t.Assigned:
        name, domain = f"p{self.fresh()}", self.one(INT, FLOAT, STR, BOOL)
        assignment = t.Assigned(name, self.expression(domain))
        self.parameters[name] = domain
        return assignment

    def aggregate(self, declared: t.Declaration, window: t.EventWindow | None) -> t.Aggregate:
        """Draw an aggregate; its parameter is known to later parts."""
        self.own = declared
        constraints = self.conditions()
        self.own = None
        pairs = [
            (row.name, name, result_domain)
            for name, domain in ((None, None), *declared.domains.items())
            for row in aggregate_rows().values()
            if (result_domain := row.result(domain)) is not None
        ]
        pairs += [
            (each.name, name, each.domain)
            for name, domain in declared.domains.items()
            for each in AGGREGATES
            if domain == each.domain or (domain, each.domain) == (INT, FLOAT)
        ]
        function, attribute, domain = self.one(*pairs)
        name = f"p{self.fresh()}"
        self.parameters[name] = domain
        return t.Aggregate(name, function, declared.name, constraints, attribute, window)

    # --- expressions ------------------------------------------------------------------------------------

    def conditions(self) -> tuple[t.Expression, ...]:
        """Draw conditions, mostly comparisons of known values; in a predicate, first with its own attributes."""
        return self.up_to(2, self._condition)

    def _condition(self) -> t.Expression:
        domains = list(self.own.domains.items()) if self.own else []
        if not domains or self.one(False, False, False, True):
            return self.expression(BOOL)
        name, domain = self.one(*domains)
        operator = self.one("==", "!=") if domain == BOOL else self.one("==", ">=", "<=", "!=", "<", ">")
        other = self.one(INT, FLOAT) if domain == INT else domain
        return t.Operation(operator, (t.OwnAttribute(name), self.expression(other, 1)))

    def expression(self, domain: Domain, depth: int = 2) -> t.Expression:
        """Draw an expression of this type over the known values."""
        known = self.list_known(domain)
        if depth == 0 or self.one(True, True, False):
            literals = [t.Literal(each) for each in LITERALS[domain]]
            leaf: t.Expression = self.one(*(known if known and self.one(True, True, True, False) else literals))
            return leaf
        operator, *domains = self.one(*OPERATIONS[domain])
        if domains == [None, None]:
            kind = self.one(INT, FLOAT, STR, *([BOOL] if operator in ("==", "!=") else []))
            domains = [kind, self.one(INT, FLOAT) if kind in (INT, FLOAT) else kind]
        return t.Operation(operator, tuple(self.expression(each, depth - 1) for each in domains))

    def list_known(self, domain: Domain) -> list[t.Expression]:
        """Return the known attributes, parameters and times of this type."""
        own = self.own.domains if self.own else {}
        expressions: list[t.Expression] = [t.OwnAttribute(name) for name, each in own.items() if each == domain]
        expressions += [t.BoundParameter(name) for name, each in self.parameters.items() if each == domain]
        for of, declared in {**self.events, **self.facts}.items():
            expressions += [t.OtherAttribute(of, name) for name, each in declared.domains.items() if each == domain]
        return expressions + [t.TimeOf(name) for name in self.events if domain == INT]


OPERATIONS: Mapping[Domain, Sequence[tuple[Any, ...]]] = {
    INT: (("+", INT, INT), ("-", INT, INT), ("*", INT, INT), ("%", INT, INT), ("neg", INT)),
    FLOAT: (
        ("+", FLOAT, FLOAT), ("-", INT, FLOAT), ("*", FLOAT, INT), ("/", INT, INT), ("%", FLOAT, INT), ("neg", FLOAT),
    ),
    STR: (("+", STR, STR),),
    BOOL: (
        ("==", None, None), ("<", None, None), (">=", None, None), ("!=", None, None), (">", None, None),
        ("<=", None, None), ("and", BOOL, BOOL), ("or", BOOL, BOOL), ("not", BOOL),
    ),
}  # fmt: skip
"""The operators with results of a type, and the types of their operands; None: any comparable types."""
