"""Loads for engines of rules: rule sets and logs of columns from seeds, and what must come of them.

The rule of this module: what is expected is counted from the columns by sorting and prefix sums, or computed from the
probabilities; no engine is asked. Types in a rule are written the oldest first, the trigger last.

Sources: the base scenario of Cugola and Margara (section 6, table 1; rule R5) and the load of Di Pilla's thesis (5.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from workbench.tesla.check import parse_rules
from workbench.tesla.event_block import AttributeColumn, EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

MAXIMUM = 1_000_000
"""Events of a stream; shorter ones are its first events."""
SEED = 42
AGGREGATES = (
    "SUM({oldest}(att == $x).value within {window} from {second})",
    "AVG({second}(att == $x).value within {window} from {trigger})",
    "MAX({oldest}(att == $x).value within {window} from {trigger})",
)
"""A third of the events of three types is relevant to each; with two types the second is the trigger, too."""


@dataclass(frozen=True)
class EventLog:
    """Events as columns, all of them with the same attributes.

    Attributes
    ----------
    names: of the types.
    types: int64[n], the place of each event's type in `names`.
    times: int64[n].
    attributes: name to int64[n].
    """

    names: tuple[str, ...]
    types: Any
    times: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.types)

    @property
    def declarations(self) -> str:
        """The types as a text of rules."""
        inside = ", ".join(f"{name}: int" for name in self.attributes)
        return "".join(f"declare {name}({inside})\n" for name in self.names)

    def part(self, first: int, last: int) -> EventLog:
        """The events from one place to before another."""
        return self.where(slice(first, last))

    def where(self, chosen: Any) -> EventLog:
        """The events at some places."""
        attributes = {name: column[chosen] for name, column in self.attributes.items()}
        return EventLog(self.names, self.types[chosen], self.times[chosen], attributes)

    def occurrences(self) -> Iterator[Occurrence]:
        """One by one."""
        rows = zip(*(column.tolist() for column in self.attributes.values()), strict=True)
        for type, time, row in zip(self.types.tolist(), self.times.tolist(), rows, strict=True):
            yield Occurrence(self.names[type], time, row)

    def block(self, made: RuleSet) -> EventBlock:
        """For engines that take columns."""
        chosen = {self.names[place]: self.types == place for place in np.unique(self.types).tolist()}
        places: Any = np.zeros(len(self), np.int64)
        types: Any = np.zeros(len(self), np.uint16)
        nothing = AttributeColumn(np.zeros(0, np.int64))
        columns: list[tuple[AttributeColumn, ...]] = []
        for number, name in enumerate(made.events):
            here = chosen.get(name)
            if here is None:
                columns.append((nothing,) * len(made.declarations[name].attributes))
            else:
                places[here], types[here] = np.arange(here.sum()), number
                columns.append(tuple(AttributeColumn(column[here]) for column in self.attributes.values()))
        return EventBlock(made.events, types, self.times, places, tuple(columns), {})


@dataclass(frozen=True)
class EventChain:
    """A rule: events of some types one after the other, each in a window before the next.

    Attributes
    ----------
    types: the places of types in a log, the oldest first.
    windows: between an event and the next one.
    policy: by which all but the trigger are selected.
    key: the attribute that is the same in all of them.
    """

    types: tuple[int, ...]
    windows: tuple[int, ...]
    policy: str = "each"
    key: str | None = None

    def before(self, log: EventLog, step: int, weights: Any) -> Any:
        """For each event of the type of a step, the weight of what it selects of the step before; 0 for others."""
        prior, later = (np.flatnonzero(log.types == self.types[at]) for at in (step - 1, step))
        keys = np.zeros(len(log), np.int64) if self.key is None else log.attributes[self.key]
        places = np.sort(keys[prior] * len(log) + prior)
        weighed = weights[places % len(log)]
        first = np.searchsorted(log.times, log.times[later] - self.windows[step - 1])
        low = np.searchsorted(places, keys[later] * len(log) + first)
        high = np.searchsorted(places, keys[later] * len(log) + later)
        found = np.zeros(len(log), weights.dtype)
        if self.policy == "each":
            sums = np.concatenate([[0], np.cumsum(weighed)])
            found[later] = sums[high] - sums[low]
        else:
            chosen = (high - 1 if self.policy == "last" else low).clip(0, max(0, len(prior) - 1))
            found[later] = np.where(low < high, weighed[chosen], 0) if len(prior) else 0
        return found

    def matches(self, log: EventLog, weights: Any = None, since: int = 1) -> Any:
        """For each event how many matches it triggers.

        Parameters
        ----------
        weights: of the events of the step before `since`; the sum over the matches of what they hold is told.
        """
        found = np.ones(len(log), np.int64) if weights is None else weights
        for step in range(since, len(self.types)):
            found = self.before(log, step, found)
        return found

    def summed(self, log: EventLog, attribute: str = "value") -> Any:
        """For each event of the second type the sum of an attribute over the events of the first one in its window."""
        every = EventChain(self.types, self.windows, "each", self.key)
        return every.before(log, 1, log.attributes[attribute])

    def sums(self, log: EventLog) -> Any:
        """For each trigger the total of `summed` over its matches."""
        one = self.before(log, 1, np.ones(len(log), np.int64))
        return self.matches(log, one * self.summed(log), since=2)

    def text(self, names: Sequence[str], aggregates: int = 0, where: str = "", asked: str = "") -> str:
        """As a rule that emits `CE`; without a key all events are asked the same."""
        named = [names[each] for each in self.types]
        bound, equal = (f"({asked})", asked) if self.key is None else (f"[$x = {self.key}]", f"{self.key} == $x")
        lines = [f"from {named[-1]}{bound}"]
        for at in range(len(named) - 2, -1, -1):
            lines.append(f"and {self.policy} {named[at]}({equal}) within {self.windows[at]} from {named[at + 1]}")
        said = {"oldest": named[0], "second": named[1], "trigger": named[-1], "window": self.windows[0]}
        lines += [f"and $s{i} = {each.format(**said)}" for i, each in enumerate(AGGREGATES[:aggregates])]
        lines += [f"where {where}"] if where else []
        given = ["key = $x"] * (self.key is not None) + [f"s{i} = $s{i}" for i in range(aggregates)]
        return "\n  ".join([*lines, f"emit CE({', '.join(given)})\n"])


@dataclass(frozen=True)
class RuleLoad:
    """Rules, a log, and what must come of it.

    Attributes
    ----------
    fill: how many events it takes until all windows are full.
    expected: int64[n], how many composites each event causes.
    triggers: the types that do nothing but trigger rules.
    """

    text: str
    log: EventLog
    fill: int
    expected: Any
    triggers: tuple[int, ...] = ()

    @property
    def rules(self) -> RuleSet:
        """The rules of the text."""
        return parse_rules(self.text)


def uniform_log(count: int, types: int, values: int, names: Sequence[str], *attributes: str) -> EventLog:
    """An event a tick: types and attributes are uniform, those from 1 to `values`."""
    rng = np.random.default_rng(SEED)
    kinds = rng.integers(0, types, MAXIMUM)[:count]
    drawn = {name: rng.integers(1, values + 1, MAXIMUM)[:count] for name in attributes}
    return EventLog(tuple(names), kinds, np.arange(count), drawn)


# --- the base scenario ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scenario:
    """The base scenario, and what is changed in it: table 1 of the paper, one after the other.

    Attributes
    ----------
    states: the length of sequences, and the number of types that a rule is about.
    groups: an event is relevant to one in so many rules; there are so many times the types of one rule.
    accepted: the part of the matches that a condition on the first aggregate lets pass.
    """

    policy: str = "each"
    states: int = 3
    window: int = 100_000
    values: int = 50_000
    aggregates: int = 1
    rules: int = 1
    groups: int = 1
    accepted: float = 1.0

    def load(self, measured: int) -> RuleLoad:
        """Rules and a log whose last events are to be measured."""
        fill = min((self.states - 1) * self.window, MAXIMUM // 2)
        names = [f"{'ABCDEFGH'[step]}{group}" for step in range(self.states) for group in range(self.groups)]
        log = uniform_log(fill + measured, len(names), self.values, names, "att", "value", "other")
        chains = self.chains()
        counts = sum(chain.matches(log) for chain in chains)
        where = ""
        if self.accepted < 1:
            least, counts = self._filtered(chains[0], log, fill)
            where = f"$s0 >= {least}"
        emitted = ", ".join(["key: int", *(f"s{i}: {'float' if i == 1 else 'int'}" for i in range(self.aggregates))])
        written = "".join(chain.text(names, self.aggregates, where) for chain in chains)
        triggers = tuple(range((self.states - 1) * self.groups, len(names)))
        return RuleLoad(f"{log.declarations}declare CE({emitted})\n{written}", log, fill, counts, triggers)

    def chains(self) -> list[EventChain]:
        """The rules: any so many as there are groups share no type, and no two rules are the same."""
        rng, found = np.random.default_rng(SEED), list[EventChain]()
        while len(found) < self.rules:
            places = [step * self.groups + rng.permutation(self.groups) for step in range(self.states)]
            for types in zip(*(each.tolist() for each in places), strict=True):
                found.append(EventChain(types, (self.window,) * (self.states - 1), self.policy, "att"))
        return found[: self.rules]

    def _filtered(self, chain: EventChain, log: EventLog, fill: int) -> tuple[int, Any]:
        """The least sum that passes, and how many matches do."""
        sums, one = chain.summed(log), chain.before(log, 1, np.ones(len(log), np.int64))
        bounds = [int(each) for each in np.unique(sums[one > 0])]
        low, high = 0, len(bounds) - 1
        total = chain.matches(log)[fill:].sum()
        while low < high:  # the least bound that lets no more pass than is wanted
            middle = (low + high) // 2
            passing = chain.matches(log, np.where(sums >= bounds[middle], one, 0), since=2)[fill:].sum()
            low, high = (middle + 1, high) if passing > self.accepted * total else (low, middle)
        return bounds[low], chain.matches(log, np.where(sums >= bounds[low], one, 0), since=2)


def constants_load(rules: int, window: int, measured: int, constants: int = 1_000) -> RuleLoad:
    """Rules that name one of some constants, which an event has one of: it is relevant to one rule in so many.

    Rules with the same constant differ in their windows.
    """
    drawn = uniform_log(window + rules // constants + measured, 2, constants, "AB", "att", "value")
    log = replace(drawn, attributes={**drawn.attributes, "att": drawn.attributes["att"] % 5})
    both = {"both": log.attributes["att"] * (constants + 1) + log.attributes["value"]}
    keyed = EventLog(log.names, log.types, log.times, both)
    counts: Any = 0
    lines = []
    for number in range(rules):
        more, constant = divmod(number, constants)
        if constant == 0:
            counts = counts + EventChain((0, 1), (window + more,), "last", "both").matches(keyed)
        asked = f"value == {constant + 1}"
        lines.append(f"from B[$x = att]({asked}) and last A(att == $x, {asked}) within {window + more} from B")
    text = "".join(f"{line} emit CE(key = $x, rule = {i})\n" for i, line in enumerate(lines))
    head = f"{log.declarations}declare CE(key: int, rule: int)\n"
    return RuleLoad(head + text, log, window + rules // constants, counts, (1,))


# --- workloads on which several engines agree -----------------------------------------------------------------------


def anchor_r5(count: int, window: int = 100_000, policy: str = "last", values: int = 50_000) -> RuleLoad:
    """Rule R5 with its sum."""
    log = uniform_log(count, 3, values, "ABC", "att", "value")
    chain = EventChain((0, 1, 2), (window, window), policy, "att")
    text = f"{log.declarations}declare CE(key: int, s0: int)\n{chain.text('ABC', 1)}"
    return RuleLoad(text, log, 2 * window, chain.matches(log), (2,))


def anchor_w1(count: int, window: int = 100_000, values: int = 50_000) -> RuleLoad:
    """W1: A, B and C with the same attribute, all matches that span less than the window."""
    log = uniform_log(count, 3, values, "ABC", "att", "value")
    return _spanning(log, window, "(att == $x)", "[$x = att]", log.attributes["att"])


def anchor_w2(count: int, window: int = 100) -> RuleLoad:
    """W2: A, B and C of thirty types, all matches that span less than the window."""
    log = uniform_log(count, 30, 50_000, [f"T{i}" for i in range(30)], "att", "value")
    return _spanning(log, window, "", "", np.zeros(count, np.int64))


def _spanning(log: EventLog, window: int, equal: str, bound: str, keys: Any) -> RuleLoad:
    """All A, B, C in this order that span less than the window, the first three types."""
    a, b, c = log.names[:3]
    text = (
        f"{log.declarations}declare CE(first: int, second: int)\nfrom {c}{bound}\n"
        f"  and each {a}{equal} within {window - 1} from {c}\n  and each {b}{equal} between {a} and {c}\n"
        f"  emit CE(first = TIME({a}), second = TIME({b}))\n"
    )
    n, codes = len(log), keys * len(log)
    of = [np.flatnonzero(log.types == kind) for kind in range(3)]
    sorted_a, sorted_b = (np.sort(codes[each] + each) for each in of[:2])

    def earlier(at: Any) -> Any:
        """How many B's with the same key lie before, and all with lesser ones."""
        return np.searchsorted(sorted_b, codes[at] + at)

    sums = np.concatenate([[0], np.cumsum(earlier(sorted_a % n))])
    low = np.searchsorted(sorted_a, codes[of[2]] + (of[2] - window + 1).clip(0))
    high = np.searchsorted(sorted_a, codes[of[2]] + of[2])
    expected: Any = np.zeros(n, np.int64)
    expected[of[2]] = (high - low) * earlier(of[2]) - (sums[high] - sums[low])
    return RuleLoad(text, log, window, expected, (2,))


def banded(count: int, window: int, policy: str, wide: int = 25, keys: int = 1) -> RuleLoad:
    """A and C with values: of A those whose value is that of C or `wide` more or less, and whose key is the same."""
    log = uniform_log(count, 3, 50_000, "ABC", "value", "att")
    log = replace(log, attributes={**log.attributes, "att": log.attributes["att"] % keys})
    bounds = f"value >= $v - {wide}, value <= $v + {wide}" + ", att == $k" * (keys > 1)
    text = (
        f"from C[$v = value, $k = att]\n  and {policy} A({bounds}) within {window} from C\n  emit CE(first = TIME(A))\n"
    )
    values, (a, c) = log.attributes["value"], (np.flatnonzero(log.types == kind) for kind in (0, 2))
    codes = values + 200_000 * log.attributes["att"]  # bands of two keys do not meet
    near = a[np.argsort(codes[a], kind="stable")]
    low = np.searchsorted(codes[near], codes[c] - wide)
    found = np.searchsorted(codes[near], codes[c] + wide, "right") - low
    later: Any = np.repeat(c, found)
    earlier = near[np.arange(found.sum()) - np.repeat(np.cumsum(found) - found, found) + np.repeat(low, found)]
    counts = np.bincount(later[(earlier < later) & (earlier >= later - window)], minlength=count)
    expected = counts if policy == "each" else np.minimum(counts, 1)
    return RuleLoad(f"{log.declarations}declare CE(first: int)\n{text}", log, window, expected, (2,))


# --- the thesis -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ThesisLoad:
    """The load of section 5.3: events at a rate (1/s), and windows of so many seconds, a second more or less.

    Of the four types declared in a group one is that of the composites, which nobody sends; so there are 195.

    Attributes
    ----------
    copies: how many identical rules there are of each.
    """

    rate: int = 600
    window: int = 10
    seconds: int = 60
    copies: int = 10
    groups: int = 65
    seed: int = SEED

    def chains(self) -> list[EventChain]:
        """The rules, each once."""
        least, most = (self.window - 1) * 10**6, (self.window + 1) * 10**6
        drawn = np.random.default_rng(self.seed).integers(least, most, (self.groups, 2), endpoint=True).tolist()
        return [EventChain(tuple(range(3 * at, 3 * at + 3)), tuple(each)) for at, each in enumerate(drawn)]

    def log(self) -> EventLog:
        """The events."""
        count = self.rate * self.seconds
        kinds = np.random.default_rng([self.seed, 1]).integers(0, 3 * self.groups, count)
        names = tuple(f"SE{group}_{i}" for group in range(self.groups) for i in (2, 1, 0))
        return EventLog(names, kinds, np.arange(count) * 10**6 // self.rate, {"x": np.ones(count, np.int64)})

    def load(self) -> RuleLoad:
        """Rules and events."""
        log, chains = self.log(), self.chains()
        text = "".join(chain.text(log.names, asked="x == 1") for chain in chains for _ in range(self.copies))
        counts = self.copies * sum(chain.matches(log) for chain in chains)
        return RuleLoad(f"{log.declarations}declare CE()\n{text}", log, 0, counts)

    def mean(self) -> float:
        """How many composites this load has on average, over all streams and windows.

        Three events match a rule if their types do, with a probability of 1 in 195 to the third, and if they lie in
        its windows: that is counted for any three events, as if all had all types. The mean over windows is that over
        a grid of them.
        """
        ticks = np.arange(self.rate * self.seconds)
        grid = (self.window - 1 + (np.arange(10) + 0.5) / 5) * self.rate
        total = 0.0
        for one in np.floor(grid):
            before = np.concatenate([[0], np.cumsum(np.minimum(ticks, one))])
            for other in np.floor(grid):
                low = (ticks - other).clip(0).astype(np.int64)
                total += float((before[ticks] - before[low]).sum())
        return self.groups * self.copies * total / len(grid) ** 2 / (3 * self.groups) ** 3
