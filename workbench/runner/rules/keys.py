"""Run rules for each key of a log, each on the events of its own key.

The rule of this module: a key is an attribute of all events while they are read and written; types that do not
declare it get it, and engines never see that attribute. All keys have one clock, that of the log.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import heappop, heappush

from workbench.core.domain import STR, Domain, Value
from workbench.errors import InputError
from workbench.events.reading_options import Reading
from workbench.events.values import KeyTexts
from workbench.executors.run_options import RunOptions
from workbench.executors.snapshot import join_states, split_states
from workbench.runner.source import LogSource, source_of
from workbench.tesla.engines.engine import RuleEngine
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet, find_shared_domains
from workbench.tesla.tree import Attribute

WITHOUT = ("--rules-control", "--with-sources", "--profile")


def with_key(rules: RuleSet, key: str, source: LogSource, options: RunOptions) -> RuleSet:
    """Add the key as an attribute to all types of events.

    Raises
    ------
    InputError: composites have such an attribute, an option excludes keys, or the type of the keys is unknown.
    """
    if foreign := options.list_present(*WITHOUT):
        raise InputError(f"{foreign} and --key cannot be combined for rules", hint="leave one out")
    if clash := next((n for n in rules.composites if key in rules.declarations[n].domains), None):
        what = f"{clash} has an attribute '{key}', which is also the column of keys"
        raise InputError(what, hint="leave --key out if the rules compare that attribute themselves, or rename it")
    domain = find_shared_domains(rules.declarations[name] for name in rules.events).get(key)
    more = Attribute(key, _key_domain(key, source, options.reading()) if domain is None else domain)
    declared = {
        name: each if each.fact or key in each.domains else replace(each, attributes=(*each.attributes, more))
        for name, each in rules.declarations.items()
    }
    return replace(rules, declarations=declared)


def _key_domain(key: str, source: LogSource, reading: Reading) -> Domain:
    """Infer the domain of keys that no type declares."""
    log = source.logs()[0]
    path = log.name.rpartition("=")[2]
    domain = (log if path == log.name else source_of(path)).key_domain(key, reading)
    if domain is None:
        hint = "declare it as a string, an int or a bool, or read the log from a file"
        raise InputError(f"nothing shows the type of the key '{key}'", hint=hint)
    return STR if isinstance(domain, KeyTexts) else domain


class KeyedRules:
    """An engine for each key, which takes and returns the events of `with_key`.

    Parameters
    ----------
    plain: the rules without the key, windows in the unit of times.
    wide: the rules with the key.
    make: starts an engine.
    """

    def __init__(self, key: str, plain: RuleSet, wide: RuleSet, make: Callable[[], RuleEngine]) -> None:
        self.key, self.rules, self._make = key, wide, make
        self._runs: dict[Value, tuple[int, RuleEngine]] = {}
        """The engine of each key, and the number of keys that came before it."""
        self._due: list[tuple[int, int, Value]] = []
        """A heap of possible deadlines, each with the number of its key, and the key."""
        self._timeouts: defaultdict[str, set[int]] = defaultdict(set)
        """The timeouts of absences, by the type of their trigger."""
        for rule in plain.rules:
            if rule.absence is not None:
                self._timeouts[rule.trigger.type].add(rule.timeout)
        self._key_positions: Mapping[str, tuple[int, int]] = {
            name: (wide.declarations[name].positions[key], len(plain.declarations[name].attributes))
            for name in plain.events
        }

    def process(self, event: Occurrence) -> list[Occurrence]:
        """Return the composites that the clock causes in all runs, then those of the event in the run of its key."""
        index, count = self._key_positions[event.type]
        key = event.values[index]
        if key is None:
            what = f"an event of type {event.type} has no '{self.key}', so it belongs to no key"
            raise InputError(what, hint="give it one, or leave the row out")
        output = self.advance(event.time - 1)
        if key not in self._runs:
            self._runs[key] = len(self._runs), self._make()
        composites = self._runs[key][1].process(replace(event, values=event.values[:count]))
        self._await(key, (event, *composites))
        return [*output, *self._read_output(key, composites)]

    def advance(self, time: int) -> list[Occurrence]:
        """Return the composites that the clock causes, by time; at equal times, by the first events of keys."""
        output = list[Occurrence]()
        while self._due and self._due[0][0] <= time:
            deadline, _, key = heappop(self._due)
            if composites := self._runs[key][1].advance(deadline):
                self._await(key, composites)
                output += self._read_output(key, composites)
        return output

    def _await(self, key: Value, events: Iterable[Occurrence]) -> None:
        """Note the possible deadlines of absences that these events trigger."""
        for event in events:
            for timeout in self._timeouts.get(event.type, ()):
                heappush(self._due, (event.time + timeout, self._runs[key][0], key))

    def snapshot(self) -> bytes:
        """Return the deadlines, each with the number of its key, as a line of JSON, then the states of all engines."""
        due = json.dumps([(deadline, number) for deadline, number, _ in self._due])
        return due.encode() + b"\n" + join_states(list(self._runs), (run.snapshot() for _, run in self._runs.values()))

    def restore(self, state: bytes) -> None:
        """Restore what `snapshot` has returned."""
        due, _, states = state.partition(b"\n")
        for key, each in split_states(states):
            self._runs[key] = len(self._runs), self._make()
            self._runs[key][1].restore(each)
        keys = list(self._runs)
        self._due = [(deadline, number, keys[number]) for deadline, number in json.loads(due)]

    def profile(self) -> Sequence[object]:
        """Return nothing: there are as many engines as keys."""
        return ()

    @staticmethod
    def _read_output(key: Value, composites: list[Occurrence]) -> list[Occurrence]:
        return [replace(each, values=(*each.values, key)) for each in composites]
