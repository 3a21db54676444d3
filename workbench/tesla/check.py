"""Turns a tree of rules into a rule set, or reports all mistakes in it at once.

The rule of this module: nothing is guessed. The meaning of a name, the type of a value, and that a predicate refers
only to what is bound before it are determined here, before anything runs.

Sources: thesis, 2.3 and 3.2 (types, references), 2.4 (order of evaluation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

from workbench.budget import suspend_collection
from workbench.core.domain import BOOL, FLOAT, INT, Domain
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.readable import plural
from workbench.errors import LanguageError, did_you_mean
from workbench.named_files import allow
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.check_declarations import check_types, check_unique, collect_declarations
from workbench.tesla.own_aggregates import AggregateDefinitions, OwnAggregates, read_declarations, resolve_call
from workbench.tesla.parser import parse_rule_file, read_rules
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_warnings import remarks
from workbench.tesla.scope import RuleScope
from workbench.tesla.windows import check_bounds, check_pause

MAX_MISTAKES = 100
"""Number of mistakes after which no more rules are checked: more than anyone reads."""


Types = Mapping[str, t.Declaration]


def parse_rules(
    text: str,
    name: str = "rules",
    types: Types | None = None,
    aggregates: AggregateDefinitions | None = None,
    include: Iterable[str | Path] = (),
) -> RuleSet:
    """Parse and check the rule set of a text.

    Parameters
    ----------
    types: types of events that the text does not declare, such as those of a log.
    aggregates: aggregates that it does not declare, by name: an associative function of two values, and the value to
            start from, whose type all values have: `{"GCD": (math.gcd, 0)}`. It is never called with null; if it
            returns None, the aggregate is null.
    include: folders for files that it includes, besides the folder of a file.

    Raises
    ------
    LanguageError: it cannot be read or has no meaning; all mistakes are reported at once.
    """
    with allow(include):
        return check_rule_set(parse_rule_file(text), name, types, aggregates)


def load_rules(
    path: str | Path,
    types: Types | None = None,
    aggregates: AggregateDefinitions | None = None,
    include: Iterable[str | Path] = (),
) -> RuleSet:
    """Load and check the rule set of a `.tesla` file; see `parse_rules`."""
    with allow(include):
        return check_rule_set(read_rules(path), Path(path).stem, types, aggregates)


@suspend_collection()
def check_rule_set(
    file: t.RuleFile, name: str, types: Types | None = None, aggregates: AggregateDefinitions | None = None
) -> RuleSet:
    """Check a tree, and return its rule set; `types` and `aggregates` are declared elsewhere."""
    mistakes = Mistakes()
    functions = read_declarations(file.aggregates, aggregates or {}, mistakes)
    declared = collect_declarations(file, types or {}, mistakes)
    declared.update(_infer_types(declared, file.rules, functions))
    check_types(declared, mistakes)
    check_unique("rule", [rule for rule in file.rules if rule.named], mistakes)
    rule_trees = takewhile(lambda _: len(mistakes.errors) < MAX_MISTAKES, file.rules)
    rules = mistakes.each(rule_trees, lambda rule: _RuleChecker(declared, mistakes, functions).check_rule(rule))
    mistakes.refuse()
    own = {name: each for name, each in functions.items() if each is not None}
    plain = RuleSet(name, declared, rules, own)
    return replace(plain, warnings=tuple(remarks(plain)))


# --- declarations ---------------------------------------------------------------------------------------


def _infer_types(declared: Types, rules: Sequence[t.Rule], functions: OwnAggregates) -> dict[str, t.Declaration]:
    """Return the declarations whose types the older grammar leaves open, with types from what rules emit."""
    known = dict(declared)
    open_ones = {name for name, each in known.items() if len(each.domains) < len(each.attributes)}
    todo = [rule for rule in rules if rule.emits in open_ones]
    looking = {name: list[t.Rule]() for name in open_ones}
    for rule in todo:
        for name in open_ones.intersection(rule.types):
            looking[name].append(rule)
    for rule in todo:  # grows: a new type may determine the types in rules that read it
        before = known[rule.emits]
        domains = _RuleChecker(known, Mistakes(), functions).infer_emitted(rule)
        attributes = tuple(
            part if part.domain is not None else replace(part, domain=domains.get(part.name))
            for part in before.attributes
        )
        if attributes != before.attributes:
            known[rule.emits] = replace(before, attributes=attributes)
            todo += looking[rule.emits]
    return {name: known[name] for name in open_ones}


# --- rules ----------------------------------------------------------------------------------------------


class _RuleChecker:
    """Checker of one rule, predicate by predicate."""

    def __init__(self, declared: Types, mistakes: Mistakes, functions: OwnAggregates) -> None:
        self.declared, self.mistakes, self.functions = declared, mistakes, functions
        self.scope = RuleScope()
        self.given: set[str] = set()

    def check_rule(self, rule: t.Rule) -> t.Rule:
        """Check a rule, and return it with all names resolved and types inferred."""
        trigger, *predicates = self._check_parts(rule)
        for condition in t.conjuncts(*rule.where_clause):
            with self.mistakes.apart():
                self._check_truth(self.scope, condition)
        evaluations = self._check_evaluations(rule)
        for key in rule.per:
            with self.mistakes.apart():
                self.scope.domain(key)
        self._check_consuming(rule)
        check_pause(rule.pause, self.mistakes)
        if rule.limit == 0:
            self.mistakes.report("a limit of 0 emits nothing", rule.where, "leave the rule out")
        if sum(part.policy.later for part in predicates) > 1:
            self.mistakes.report("a rule has at most one 'absent'", rule.where, "write a separate rule for each")
        assert isinstance(trigger, t.Predicate)
        return replace(rule, trigger=trigger, predicates=tuple(predicates), evaluations=evaluations)

    def infer_emitted(self, rule: t.Rule) -> dict[str, Domain]:
        """Return the types of the attributes that a rule emits, where they can be inferred; report no mistakes."""
        domains: dict[str, Domain] = {}
        list(self._check_parts(rule))
        for each in rule.evaluations:
            with self.mistakes.apart():
                domains[each.name] = self.scope.domain(each.value)
        return domains

    def _check_parts(self, rule: t.Rule) -> list[t.Predicate | t.Aggregate]:
        parts: list[t.Predicate | t.Aggregate] = []
        for part in rule.parts:
            replacement = part
            with self.mistakes.apart():
                replacement = (
                    self._check_aggregate(part) if isinstance(part, t.Aggregate) else self._check_predicate(part)
                )
            parts.append(replacement)
        return parts

    def _find_type(self, part: t.Predicate | t.Aggregate) -> t.Declaration:
        if part.type not in self.declared:
            is_timed = part.window is not None or part.policy is t.Policy.TRIGGER
            fits = self._is_event if is_timed else self.declared.__contains__
            hint = did_you_mean(part.type, self.declared, "declared are: ", fits)
            if not hint.startswith("did"):
                hint = f"declare {part.type}(...), or take the types of a log: --infer" + (f"; {hint}" if hint else "")
            raise LanguageError(f"no type '{part.type}' is declared", where=part.where, hint=hint)
        return self.declared[part.type]

    def _is_event(self, name: str) -> bool:
        return not self.declared[name].fact

    def _check_predicate(self, part: t.Predicate) -> t.Predicate:
        try:
            declared = self._find_type(part)
        except LanguageError:
            self._bind_unknown(part)
            raise
        if declared.fact:
            self._check_fact(part, declared)
        else:
            self._check_event(part)
        scope = self.scope.about(declared)
        assignments = []
        for each in part.assignments:
            value = _name_attribute(each.value, declared)
            domain: Domain | None = None
            with self.mistakes.apart():
                domain = scope.domain(value)
            self._bind_parameter(each.name, each)
            scope = scope.with_parameter(each.name, domain)
            assignments.append(replace(each, value=value))
        for constraint in t.conjuncts(*part.constraints):
            with self.mistakes.apart():
                self._check_truth(scope, constraint)
        if part.policy.binds:
            self.scope = replace(scope.about(None), bound=self.scope.bound).with_bound(part.name, declared)
        else:
            self.given -= {each.name for each in part.assignments}
        return replace(part, assignments=tuple(assignments))

    def _bind_unknown(self, part: t.Predicate) -> None:
        """Bind the names of a predicate on an unknown type as unknown, so that no mistake is reported twice."""
        if part.policy.binds:
            for each in part.assignments:
                self.scope = self.scope.with_parameter(each.name, None)
            self.scope = self.scope.with_bound(part.name, _Unknown(part.name, ()))

    def _bind_parameter(self, name: str, where: t.Placed) -> None:
        if name in self.given:
            hint = f"compare with it: attribute == ${name}; or choose another name"
            self.mistakes.report(f"the parameter '${name}' is bound already", where.where, hint)
        self.given.add(name)

    def _check_event(self, part: t.Predicate) -> None:
        if part.ordering:
            self.mistakes.report("events have an order of their own", part.ordering[0].where, "leave out 'ordered by'")
        if part.policy is t.Policy.TRIGGER:
            return
        if part.window is None:
            hint = "write within 5 min from NAME, between NAME and NAME, or within forever from NAME"
            raise LanguageError(f"the predicate about {part.type} has no window", where=part.where, hint=hint)
        self._check_window(part.window)

    def _check_window(self, window: t.EventWindow) -> None:
        for name in window.names:
            with self.mistakes.apart():
                if self.scope.event(name, window).declared.fact:
                    hint = "a window lies between events"
                    raise LanguageError(f"'{name}' is a fact, which has no time", where=window.where, hint=hint)
        if window.after and window.of != next(iter(self.scope.bound), window.of):
            hint = f"write after {next(iter(self.scope.bound))}"
            what = f"'absent' is about events after the trigger, not after '{window.of}'"
            self.mistakes.report(what, window.where, hint)
        check_bounds(window, self.mistakes)

    def _check_fact(self, part: t.Predicate, declared: t.Declaration) -> None:
        if not part.policy.selects and not part.policy.forbids:
            what = f"'{part.type}' is a fact, which does not happen"
            hint = "a rule begins with an event" if part.policy is t.Policy.TRIGGER else "write not instead of absent"
            raise LanguageError(what, where=part.where, hint=hint)
        if part.window is not None:
            what, hint = f"'{part.type}' is a fact, which has no time", "leave out its window"
            self.mistakes.report(what, part.window.where, hint)
        if part.policy.single and not part.ordering:
            order = f"ordered by {declared.attributes[0].name if declared.attributes else 'attribute'} asc"
            hint = f"write {order}; or each {part.type}, for all that satisfy it"
            self.mistakes.report(f"facts have no order: which one is the {part.policy.value}?", part.where, hint)
        for each in part.ordering:
            with self.mistakes.apart():
                RuleScope(declared).domain(t.OwnAttribute(each.name, where=each.where))

    def _check_aggregate(self, part: t.Aggregate) -> t.Aggregate:
        domain: Domain | None = None
        try:
            part = resolve_call(part, self.functions)
            domain = self._find_aggregate_type(part)
        finally:
            if part.parameter:
                self._bind_parameter(part.parameter, part)
                self.scope = self.scope.with_parameter(part.parameter, domain)
        if not part.parameter:
            what = "the value of this aggregate is not used"
            raise LanguageError(what, where=part.where, hint=f"give it a name: $n = {part.function}(...)")
        return part

    def _find_aggregate_type(self, part: t.Aggregate) -> Domain:
        declared = self._find_type(part)
        if declared.fact and part.window is not None:
            hint = "leave out its window"
            raise LanguageError(f"'{part.type}' is a fact, which has no time", where=part.window.where, hint=hint)
        if not declared.fact:
            if part.window is None:
                hint = "write within 5 min from NAME inside the parentheses"
                raise LanguageError(f"the aggregate over {part.type} has no window", where=part.where, hint=hint)
            self._check_window(part.window)
        scope = self.scope.about(declared)
        for constraint in t.conjuncts(*part.constraints):
            with self.mistakes.apart():
                self._check_truth(scope, constraint)
        values: Domain | None = None
        if part.attribute is not None:
            values = scope.domain(t.OwnAttribute(part.attribute, where=part.where))
        domain = aggregate_row(part).result(values)
        if domain is not None:
            return domain
        if values is None:
            hint = f"write {part.function}({part.type}(...).attribute ...)"
            raise LanguageError(f"{part.function} of what?", where=part.where, hint=hint)
        raise LanguageError(f"{part.function} is not defined on {t.SPELLED[values]}", where=part.where)

    def _check_truth(self, scope: RuleScope, expression: t.Expression) -> None:
        domain = scope.domain(expression)
        if domain != BOOL:
            what = f"a condition is true or false, but this is {t.SPELLED[domain]}"
            raise LanguageError(what, where=expression.where, hint="compare it with something")

    def _check_evaluations(self, rule: t.Rule) -> tuple[t.Evaluation, ...]:
        if rule.emits not in self.declared:
            hint = did_you_mean(rule.emits, self.declared, fits=self._is_event) or f"declare {rule.emits}(...)"
            error = LanguageError(f"no type '{rule.emits}' is declared", where=rule.emits_at, hint=hint)
            self.mistakes.add(error)
            return rule.evaluations
        declared = self.declared[rule.emits]
        if declared.fact:
            self.mistakes.report(f"facts such as '{rule.emits}' are not emitted", rule.emits_at)
        names: set[str] = set()
        for each in rule.evaluations:
            with self.mistakes.apart():
                if each.name in names:
                    raise LanguageError(f"'{each.name}' is given twice", where=each.where, hint="leave one out")
                names.add(each.name)
                self._check_evaluation(each, declared)
        missing = [part.name for part in declared.attributes if part.name not in names]
        if missing:
            hint = f"write {', '.join(f'{name} = ...' for name in missing)}"
            self.mistakes.report(f"'{missing[0]}' of {declared.name} is not given", rule.emits_at, hint)
        return rule.evaluations

    def _check_evaluation(self, each: t.Evaluation, declared: t.Declaration) -> None:
        if each.name not in declared.positions:
            hint = did_you_mean(each.name, declared.positions, f"{declared.name} has: ")
            raise LanguageError(f"{declared.name} has no attribute '{each.name}'", where=each.where, hint=hint)
        domain, target = self.scope.domain(each.value), declared.domains.get(each.name)
        if target is None:
            raise FollowUp
        if domain != target and (domain, target) != (INT, FLOAT):
            what = f"'{each.name}' of {declared.name} is {t.SPELLED[target]}, but this is {t.SPELLED[domain]}"
            hint = "declare it as float" if (domain, target) == (FLOAT, INT) else ""
            raise LanguageError(what, where=each.value.where, hint=hint)

    def _check_consuming(self, rule: t.Rule) -> None:
        locations = rule.consuming_at or (rule.where,) * len(rule.consuming)
        for name, where in zip(rule.consuming, locations, strict=True):
            with self.mistakes.apart():
                if self.scope.event(name, t.Placed(where=where)).declared.fact:
                    raise LanguageError(f"'{name}' is a fact, which is not consumed", where=where)


class _Unknown(t.Declaration):
    """An undeclared type, whose uses are not reported again."""

    @property
    def positions(self) -> dict[str, int]:
        raise FollowUp


def _name_attribute(value: t.Expression, declared: t.Declaration) -> t.Expression:
    """Turn an attribute given by position, as in `A($x)` of the older grammar, into its name."""
    if isinstance(value, t.OwnAttribute) and value.name.isdecimal():
        at = int(value.name)
        if at >= len(declared.attributes):
            what = f"{declared.name} has {plural(len(declared.attributes), 'attribute')}"
            raise LanguageError(what, where=value.where, hint="name the attribute: attribute = $x")
        return replace(value, name=declared.attributes[at].name)
    return value
