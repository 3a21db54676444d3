"""A rule set as a program on arrays: its source, which rules that are written alike share, and the tables it reads.

The rule of this module: it decides nothing. What is kept and how it is found is the plan's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cache, lru_cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT, STR
from workbench.executors.compiled.code import llvm_program
from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.text_number import text_code
from workbench.executors.compiled.rules import (
    ahead,
    asking,
    match_rows,
    matching,
    orders,
    searching,
    spans,
    sums,
    tables,
    texts,
    words,
)  # fmt: skip
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.aggregate_source import PlannedSpans
from workbench.executors.compiled.rules.lookups import lookups
from workbench.executors.compiled.rules.rule_source import AcceptSource, RuleSource
from workbench.executors.compiled.rules.run_source import RunSource
from workbench.executors.compiled.rules.shared_source import PlacedPrefix, PrefixSource, Shared
from workbench.executors.compiled.rules.step_source import ARGUMENTS
from workbench.stored import checksum
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.rule_prefixes import SharedPrefix, shared_prefixes
from workbench.tesla.engines.set_plan import SetPlan

KINDS = {"==": 0, ">": 1, ">=": 2, "<": 3, "<=": 4}
"""The numbers of comparisons in an index; of floats 5 more."""
GIVEN = {"fire": f"r, a, {ARGUMENTS}", "share": f"c, rows, a, {ARGUMENTS}"}
"""What the functions of rules, and of what they share, are given."""
COMPILED = (at, sums, spans, texts, tables, orders, ahead, asking, searching, match_rows, matching)
"""The modules that its code calls."""


class RuleProgram:
    """The program of a plan.

    Parameters
    ----------
    sources: makes the source of a rule, given a plan, the rule's place, types and settings.
    shares: whether rules share what they have in common.

    Attributes
    ----------
    types: the names of all types, events first, then facts, then what rules wait for; tables have them by their places.
    awaiting: where in `L` the rules are that wait for something.
    source: of `run` and what it calls.
    runs: of each rule whose composites are written as runs, at which of their words each column of these belongs.
    differs: of each rule and word its column there, -1 where there is none.
    learning: of rules and levels where in `C` it stands in which order is looked for what is in a group there.
    asks: whether it has to do with more of texts than whether they are the same.
    texts: those that rules name.
    spans: those that aggregates are told by.
    lists: how many there are of what rules share.
    asked: the places of the rules that are asked; the others only have their code.
    columns: those that they look into.
    T, K, R, C, L: what it reads; see `layout`. Where rows and columns lie is not said yet.
    """

    def __init__(
        self, plan: SetPlan, settings: EngineSettings, sources: Callable[..., RuleSource] = RunSource, *,
        shares: bool = True,
    ) -> None:  # fmt: skip
        self.plan, self.settings, self._sources = plan, settings, sources
        facts = [name for name, declared in plan.rules.declarations.items() if declared.fact]
        awaiting = [rule for rule, of in enumerate(plan.plans) if of.absent is not None]
        self.waiting = [f"what {plan.plans[rule].rule.name} waits for" for rule in awaiting]
        self.types = [*plan.rules.events, *facts, *self.waiting]
        self.texts: list[str] = []
        self.spans = PlannedSpans()
        self._constants: list[int | float] = []
        self._lists: list[int] = []
        self.runs: dict[int, Sequence[int]] = {}
        self.learning: dict[tuple[int, int], int] = {}
        self.T: Any = np.zeros((len(self.types) + 1, at.TYPE_WORDS), np.int64)
        self.K: Any = np.zeros((len(plan.columns) + len(plan.orders) + 1, at.COLUMN_WORDS), np.int64)
        self.R: Any = np.zeros((len(plan.plans) + 1, at.RULE_WORDS), np.int64)
        shared = shared_prefixes(plan) if shares and not settings.profiled else {}  # a profile is each rule's own
        rules = self._functions(shared)
        self.differs: Any = np.full((len(plan.plans) + 1, int(self.R[:, at.SIZE].max()) + 1), -1)
        for rule, columns in self.runs.items():
            self.differs[rule, columns] = np.arange(len(columns))
        accepts = self._shapes("accept", self._accepts())
        self.asks = "text_" in rules + accepts
        self._text = rules + accepts
        self.source = program_head(*COMPILED) + self._text
        self._tables(range(len(plan.plans)))

    def of(self, rules: Collection[int]) -> RuleProgram:
        """The same code, which asks only these rules."""
        made = copy(self)
        made._constants, made._lists = self._constants[: self._begun[0]], self._lists[: self._begun[1]]
        made.T, made.K, made.R = self.T.copy(), self.K.copy(), self.R
        made._tables(rules)
        return made

    def _tables(self, asked: Collection[int]) -> None:
        """What says which rules are asked when, and which columns are kept for them."""
        self._begun = len(self._constants), len(self._lists)
        self.asked = frozenset(asked)
        self.columns = [each for each in self.plan.columns if any(rule in self.asked for rule, _ in each.users)]
        self._types()
        awaiting = [rule for rule, of in enumerate(self.plan.plans) if of.absent is not None and rule in self.asked]
        self.awaiting = len(self._lists), len(self._lists) + len(awaiting)
        self._lists += awaiting
        self.C: Any = np.array([0 if isinstance(each, float) else each for each in [*self._constants, 0]], np.int64)
        real: Any = self.C.view(np.float64)
        for i, each in enumerate(self._constants):
            if isinstance(each, float):
                real[i] = each
        self.L: Any = np.array([*self._lists, 0], np.int64)

    # --- functions --------------------------------------------------------------------------------------

    def _sharing(self, shared: Mapping[int, SharedPrefix]) -> tuple[str, Shared]:
        """The functions of what rules share, and where they are."""
        prefixes = {each.number: each for longest in shared.values() for each in longest.chain}
        self.lists = len(prefixes)
        rows: Any = np.zeros((self.lists + 1, 2), np.int64)
        given, trex = (self.types, self.spans), self.settings.trex
        made = [(PrefixSource(self.plan, each, *given, trex=trex), rows[each.number]) for each in prefixes.values()]
        text = self._shapes("share", made) if made else ""
        return text, {
            rule: [PlacedPrefix(each, *rows[each.number].tolist()) for each in longest.chain]
            for rule, longest in shared.items()
        }

    def _functions(self, prefixes: Mapping[int, SharedPrefix]) -> str:
        """The functions of rules, and of those that wait for something a second one."""
        lists, shared = self._sharing(prefixes)
        given = self.types, self.settings, self.spans, shared
        made = [self._sources(self.plan, rule, *given) for rule in range(len(self.plan.plans))]
        fires = self._shapes("fire", ((each, self.R[rule, at.SHAPE :]) for rule, each in enumerate(made)))
        for rule, each in enumerate(made):
            begins = int(self.R[rule, at.CONSTANTS])
            self.learning |= {(rule, level): begins + place for level, place in each.learning.items()}
        places: dict[str, int] = {}
        for rule, (of, each) in enumerate(zip(self.plan.plans, made, strict=True)):
            row = self.R[rule]
            row[at.EMITS], row[at.SIZE] = self.types.index(of.rule.emits), each.size
            row[at.GIVEN], row[at.PAUSE] = len(of.emitted.attributes), of.pause or 0
            row[at.CONSUMED] = len(self._lists)
            for slot in of.consumed_slots:
                self._lists += [of.event_slots.index(slot), slot if self.settings.trex else 0]
            row[at.CONSUMED_END] = len(self._lists)
            if each.run:
                self.runs[rule], row[at.RUN] = each.run, 1
            if each.judged is not None:
                row[at.WAITING] = y = self.types.index(f"what {of.rule.name} waits for")
                row[at.JUDGE] = places.setdefault(each.judging("judge"), len(places))
                self.T[y, at.WIDTH], self.T[y, at.KEPT], self.T[y, at.HORIZON] = each.waiting, 1, -1
        return lists + fires + _dispatched("judge", f"r, first, last, {ARGUMENTS}", places, "0")

    def _accepts(self) -> Iterator[tuple[AcceptSource, Any]]:
        for planned in self.plan.columns:
            row = self.K[planned.number]
            row[at.TYPE], row[at.LINK], row[at.HEADS], row[at.RING] = self.types.index(planned.type), -1, -1, -1
            yield AcceptSource(self.plan, planned.number), row[at.ACCEPT : at.ACCEPT_CONSTANTS + 1]
        for number, order in enumerate(self.plan.orders, len(self.plan.columns)):
            declared = self.plan.rules.declarations[self.plan.columns[order.column].type]
            row = self.K[number]
            row[at.OF_COLUMN], row[at.SORTED_BY] = order.column, declared.positions[order.attribute]
            row[at.REAL] = declared.domains[order.attribute] == FLOAT
            row[at.KEYED] = bool(self.plan.columns[order.column].keys)

    def _shapes(self, name: str, made: Iterable[tuple[Any, Any]]) -> str:
        """The functions, each text once, and the one that calls them by their number."""
        places: dict[str, int] = {}
        for each, row in made:
            row[:2] = places.setdefault(each.text(name), len(places)), len(self._constants)
            self._constants += each.constants.values
            self.texts += each.constants.texts
        given = GIVEN.get(name, "c, a, C, CF, W, F, H, V, X, XF")
        return _dispatched(name, given, places, "0" if name in GIVEN else "-1")

    # --- tables -----------------------------------------------------------------------------------------

    def _types(self) -> None:
        inputs = 0
        for y, name in enumerate(self.types[: len(self.types) - len(self.waiting)]):
            declared, row = self.plan.rules.declarations[name], self.T[y]
            row[at.ATTRIBUTES], row[at.INPUT] = len(declared.attributes), inputs
            inputs += len(declared.attributes)
            own = [each for each in self.columns if each.type == name and not each.fact]
            triggered = [rule for rule in self.plan.triggered.get(name, ()) if rule in self.asked]
            links = 0
            row[at.COLUMNS] = len(self._lists)
            for each in own:
                if each.keys:
                    self.K[each.number, at.LINK] = at.VALUES + len(declared.attributes) + links
                    links += 1
                if not each.whole:
                    self._lists.append(each.number)
            row[at.COLUMNS_END] = len(self._lists)
            row[at.WIDTH] = at.VALUES + len(declared.attributes) + links
            row[at.KEPT] = bool(own)
            row[at.WATCHED] = bool(own or triggered)
            row[at.HORIZON] = -1 if any(e.reach is None for e in own) else max((e.reach or 0 for e in own), default=0)
            row[at.LATEST] = max((each.latest for each in own), default=0)
            self._triggers(name, row, triggered)
            row[at.AHEAD] = len(self._lists)
            self._lists += lookups(self.plan, name, self.asked)
            row[at.AHEAD_END] = len(self._lists)

    def _triggers(self, name: str, row: Any, triggered: Iterable[int]) -> None:
        """The rules that are asked each time, and the indexes of the others."""
        row[at.RULES] = len(self._lists)
        groups: dict[tuple[int, str], list[tuple[Any, int]]] = {}
        for rule in triggered:
            index = self.plan.index(rule)
            if index is None:
                self._lists.append(rule)
            else:
                groups.setdefault((index.attribute, index.operator), []).append((index.constant, rule))
        row[at.RULES_END] = len(self._lists)
        heads = []
        domains = list(self.plan.rules.declarations[name].domains.values())
        for (attribute, operator), found in groups.items():
            real, text = domains[attribute] == FLOAT, domains[attribute] == STR
            pairs = sorted((text_code(constant) if text else constant, rule) for constant, rule in found)
            kind = KINDS[operator] + 5 * real
            heads.append([attribute, kind, len(self._constants), len(pairs), len(self._lists)])
            self._constants += [constant for constant, _ in pairs]
            self._lists += [rule for _, rule in pairs]
        row[at.INDEXES] = len(self._lists)
        for head in heads:
            self._lists += head
        row[at.INDEXES_END] = len(self._lists)

    # --- what runs --------------------------------------------------------------------------------------

    def machine(self) -> MachineLoop:
        """The program as machine code."""
        return machine_loop(self.source)

    def plain(self) -> PlainProgram:
        """The program as Python."""
        return PlainProgram(self._text)


@lru_cache(maxsize=8)
def machine_loop(source: str) -> MachineLoop:
    """A program as machine code, which is compiled once for all that run it."""
    return MachineLoop(source, llvm_program.__name__)


class PlainProgram:
    """A program that Python runs."""

    def __init__(self, source: str, modules: Sequence[ModuleType] = COMPILED) -> None:
        from workbench.executors.compiled.code.plain import (
            PlainArray,
        )  # the loop of pipelines, which it comes with, is long

        self._array = PlainArray
        self.scope: dict[str, Any] = dict(words.PLAIN)
        put_functions(self.scope, modules, lambda function: function)
        exec(compile(source, "<compiled rules>", "exec"), self.scope)

    def __call__(self, *given: Any) -> int:
        found: int = self.scope["run"](*(self._array(each) if isinstance(each, np.ndarray) else each for each in given))
        return found


def _dispatched(name: str, given: str, places: Mapping[str, int], none: str) -> str:
    """Functions, and the one that calls them by their number."""
    lines = [text.replace(f"def {name}(", f"def {name}_{i}(", 1) for text, i in places.items()]
    calls = "".join(f"    if s == {i}: return {name}_{i}({given})\n" for i in range(len(places)))
    return "".join(lines) + f"def {name}(s, {given}):\n{calls}    return {none}\n"


def put_functions(scope: dict[str, Any], modules: Sequence[ModuleType], made: Any) -> None:
    """Put the functions and numbers of modules into a scope, where the functions find each other."""
    for module in modules:
        for name, each in vars(module).items():
            if isinstance(each, FunctionType) and each.__module__ == module.__name__:
                scope[name] = made(FunctionType(each.__code__, scope, name, each.__defaults__))
            elif isinstance(each, int | float):
                scope[name] = each


@cache
def program_head(*modules: ModuleType) -> str:
    """The first line of a program: which modules it calls, and what tells their texts and how it is compiled."""
    code = Path(llvm_program.__file__).with_name
    made = [code(f"{name}.py") for name in ("llvm_program", "llvm_function", "llvm_values", "comparisons")]
    mark = checksum(b"\0".join(path.read_bytes() for path in [*(Path(str(each.__file__)) for each in modules), *made]))
    names = ", ".join(each.__name__.rpartition(".")[2] for each in modules)
    return f"from {__package__} import {names}  # {mark.hex()}\n"
