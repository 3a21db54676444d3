"""Random streams of events for given rules, on which the rules are likely to have matches.

The rule of this module: values are the constants that the rules compare with, and their neighbours; times are about
as far apart as windows are long, or somewhat less or more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from workbench.conformance.generate.rule_cases import VALUES, RuleCase
from workbench.core.domain import FLOAT, INT, STR, Domain, Value
from workbench.tesla import tree as t
from workbench.tesla.check import load_rules
from workbench.tesla.occurrence import Occurrence, in_units
from workbench.tesla.rule_set import RuleSet

VALUE_COUNTS = (2, 3, 6)
"""Numbers of values that an attribute may have in one stream: with more, values are rarely equal."""
FACTS = 6
"""Maximum number of rows of a type of facts."""


def stream_case(rules: RuleSet, seed: int, max_events: int) -> RuleCase:
    """Return the rules with a stream of events and facts, which are determined by the seed.

    Parameters
    ----------
    rules: the rules, with windows in whole numbers (`in_units`).
    max_events: the maximum number of events.
    """
    rng = random.Random(seed)
    constants = {domain: list(_values(rules, domain)) for domain in VALUES}
    gaps = [0, 0, 1, *_gaps(rules)] if rng.random() < 0.7 else [0, 1]
    pools = {
        (name, domain): rng.choices([*constants[domain], *VALUES[domain][:3]], k=rng.choice(VALUE_COUNTS))
        for declared in rules.declarations.values()
        for name, domain in declared.domains.items()
    }

    def row(declared: t.Declaration) -> tuple[Value | None, ...]:
        return tuple(rng.choice(pools[each]) for each in declared.domains.items())

    time, events = 0, []
    looked_at = [name for name in rules.events if any(name in rule.types for rule in rules.rules)] or rules.events
    for _ in range(rng.randint(0, max_events)):
        time += rng.choice(gaps)
        declared = rules.declarations[rng.choice(looked_at)]
        events.append(Occurrence(declared.name, time, row(declared)))
    facts = {
        name: [row(declared) for _ in range(rng.randint(0, FACTS))]
        for name, declared in rules.declarations.items() if declared.fact
    }  # fmt: skip
    return RuleCase(rules, events, facts, rng.choice([None, time + rng.choice(gaps)]))


def stream_cases(file: str, max_events: int) -> Callable[[int], RuleCase]:
    """Return a function from seeds to streams for the rules of a file, in microseconds if windows have units."""
    rules = in_units(load_rules(file), "us")
    return lambda seed: stream_case(rules, seed, max_events)


def _values(rules: RuleSet, domain: Domain) -> Iterator[Value | None]:
    """Yield the constants that rules compare with, and their neighbours."""
    for rule in rules.rules:
        parts = [each for part in rule.parts for each in part.constraints]
        for expression in (*parts, *rule.where_clause):
            for each in t.within(expression):
                if not isinstance(each, t.Literal):
                    continue
                number = isinstance(each.value, int | float) and not isinstance(each.value, bool)
                if number and domain == INT and float(each.value).is_integer():
                    yield from (int(each.value) + beside for beside in (-1, 0, 1))
                elif number and domain == FLOAT:
                    yield from (float(each.value) + beside for beside in (-1.0, 0.0, 0.5))
                elif isinstance(each.value, str) and domain == STR:
                    yield each.value


def _gaps(rules: RuleSet) -> Iterator[int]:
    for rule in rules.rules:
        for part in rule.predicates:
            window = part.window
            if window is not None and window.far is not None:
                far = 0 if window.counts_events else window.far
                yield from (far // 3, far, far + 1)
