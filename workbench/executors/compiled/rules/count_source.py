"""The program that counts matches of rules by sums (`match_counts`): its source, and the tables that it reads.

The rule of this module: an event is looked at once, by all predicates of its type, the last of each rule first; then it
joins their sums. What it knows of sums it knows before that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.rules import counting
from workbench.executors.compiled.rules.layout import NULLS
from workbench.executors.compiled.rules.lines import RuleConstants, WordLines
from workbench.executors.compiled.rules.program import PlainProgram, machine_loop, program_head
from workbench.tesla import tree as t
from workbench.tesla.engines.match_counts import CountedStep, MatchCount, Weight
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.scope import RuleScope

PRIMES = (2147483647, 2147483629, 2147483587, 2147483579, 2147483563, 2147483549, 2147483543, 2147483497)
"""The largest below 2**31: sums of more than 64 bits are told by what is left of them."""
TOTALS = 2
"""Where in `V` totals begin."""


@dataclass(frozen=True)
class CountedColumn:
    """The events of a predicate, in sums.

    Attributes
    ----------
    rule: the place of its rule among those that are counted.
    """

    number: int
    rule: int
    step: CountedStep

    @property
    def aged(self) -> bool:
        """Whether its events become old enough to count, or too old."""
        return self.step.window is not None and self.step.window != (0, None)


class CountSource:
    """The source of a program.

    Parameters
    ----------
    counts: of some rules.
    rules: with the types of events.

    Attributes
    ----------
    parts: in how many parts sums are kept: see `counting`.
    columns: the predicates behind the triggers.
    texts: those that rules name.
    """

    def __init__(self, counts: Sequence[MatchCount], rules: RuleSet) -> None:
        self.counts, self._rules = counts, rules
        self.parts = min(max(1, *(len(each.steps) - 2 for each in counts)), 1 + len(PRIMES))
        columns = ((rule, step) for rule, each in enumerate(counts) for step in each.steps[1:])
        self.columns = [CountedColumn(number, rule, step) for number, (rule, step) in enumerate(columns)]
        self._constants = RuleConstants()
        types = list(dict.fromkeys(step.step.type for each in counts for step in each.steps))
        functions = [self._function(type) for type in types]
        given = "now, place, A, P, Q, C, CF, W, F, G, X, XF, V"
        calls = (
            f"    if y == {rules.events.index(type)}: return arrive_{i}({given})\n" for i, type in enumerate(types)
        )
        code = f"def arrive(y, {given}):\n{''.join(calls)}    return 0\n"
        self._body = (
            "".join(f"def arrive_{i}({given}):\n{text}    return 0\n" for i, text in enumerate(functions)) + code
        )
        self.texts = self._constants.texts

    @cached_property
    def asked(self) -> Mapping[str, set[str]]:
        """Of each type the attributes that are asked for."""
        found: dict[str, set[str]] = {}
        for step in (step for each in self.counts for step in each.steps):
            asked = found.setdefault(step.step.type, set())
            asked |= {e.name for each in step.filters for e in t.within(each) if isinstance(e, t.OwnAttribute)}
            asked |= {name for names in (step.keys, *step.probes.values()) for name in names}
        return found

    @property
    def text(self) -> str:
        """The source of `run` and what it calls."""
        return program_head(counting) + self._body

    def machine(self) -> MachineLoop:
        """The program as machine code."""
        return machine_loop(self.text)

    def plain(self) -> PlainProgram:
        """The program as Python."""
        return PlainProgram(self._body, (counting,))

    @cached_property
    def constants(self) -> Any:
        """int64, a float by its bits."""
        values = [*self._constants.values, 0]
        found: Any = np.array([0 if isinstance(each, float) else each for each in values], np.int64)
        real = found.view(np.float64)
        for i, each in enumerate(values):
            if isinstance(each, float):
                real[i] = each
        return found

    # --- one type ---------------------------------------------------------------------------------------

    def _steps(self, type: str) -> Iterator[tuple[int, CountedStep]]:
        """The predicates about a type, and which rule each is of; the last of a rule first."""
        for rule, each in enumerate(self.counts):
            yield from ((rule, step) for step in reversed(each.steps) if step.step.type == type)

    def _column(self, rule: int, step: int) -> CountedColumn:
        return next(each for each in self.columns if (each.rule, each.step.step.number) == (rule, step))

    def _function(self, type: str) -> str:
        declared = self._rules.declarations[type]
        code = WordLines(self._constants, "return 0")
        code.scope, code.own = replace(RuleScope(), own=declared), "0"
        code.add("c = 0")  # all constants are of one program
        steps = list(self._steps(type))
        for rule, step in steps:
            if step.step.number:
                number = self._column(rule, step.step.number).number
                code.add(f"code = room_for({number}, now, {self.parts}, P, Q, G, V)", "if code != 0: return code")
        self._load(code, type)
        for rule, step in steps:
            self._seen(code, rule, step)
        for rule, step in steps:
            self._joins(code, rule, step)
        return code.text()

    def _load(self, code: WordLines, type: str) -> None:
        """The attributes that predicates ask for, as a row."""
        declared = self._rules.declarations[type]
        inputs = 0
        for name in self._rules.events:
            if name == type:
                break
            inputs += len(self._rules.declarations[name].attributes)
        code.add("gaps = 0")
        for name in sorted(self.asked[type]):
            n = declared.positions[name]
            code.add(f"gaps |= load({inputs + n}, {n}, place, A, W)")
        code.add(f"W[{NULLS}] = gaps")

    # --- what an event knows ----------------------------------------------------------------------------

    def _seen(self, code: WordLines, rule: int, step: CountedStep) -> None:
        """Whether a predicate is about the event, and what it counts in sums."""
        me = f"{rule}_{step.step.number}"
        code.add(f"p{me} = False")
        with code.inside("while True:"):
            code.require(step.filters, "break")
            self._key(code, f"y{me}", step.keys)
            for u, names in step.probes.items():
                self._known(code, rule, step, u, names)
            weights: Sequence[Weight] = step.weights
            for i, weight in enumerate(weights):
                for part in range(self.parts):
                    code.add(f"w{me}_{i}_{part} = {self._product(me, weight, part)}")
            if not step.step.number:
                self._total(code, me, rule)
            code.add(f"p{me} = True", "break")

    def _key(self, code: WordLines, name: str, attributes: Sequence[str]) -> None:
        """The words of a key, and its hash, as variables."""
        assert code.scope.own is not None
        code.add(f"h{name} = 0")
        for i, attribute in enumerate(attributes):
            found, domain = code.value(t.OwnAttribute(attribute)), code.scope.own.domains[attribute]
            code.add(f"if {found.null}: break")
            code.put_word(found.text, domain, domain, "break")
            code.add(f"{name}_{i} = X[0]", f"h{name} = scattered(h{name}, X[0])")

    def _known(self, code: WordLines, rule: int, step: CountedStep, u: int, names: Sequence[str]) -> None:
        """The sums over the events of a predicate, as variables."""
        me, column = f"{rule}_{step.step.number}", self._column(rule, u)
        self._key(code, f"z{me}_{u}", names)
        if column.aged:
            code.add(f"slide({column.number}, now, {self.parts}, P, Q, G)")
        code.add(*(f"X[KEY + {i}] = z{me}_{u}_{i}" for i in range(len(names))))
        code.add(f"g = found_group({column.number}, hz{me}_{u}, now, Q, G, X)")
        for i in range(len(column.step.weights)):
            for part in range(self.parts):
                code.add(f"f{me}_{u}_{i}_{part} = G[g + {i * self.parts + part}] if g >= 0 else 0")
        if column.step.step.type == step.step.type:  # it may be among them
            same = [f"p{rule}_{u}", *(f"z{me}_{u}_{i} == y{rule}_{u}_{i}" for i in range(len(names)))]
            for i in range(len(column.step.weights)):
                for part in range(self.parts):
                    known, own = f"f{me}_{u}_{i}_{part}", f"w{rule}_{u}_{i}_{part}"
                    code.add(f"e{me}_{u}_{i}_{part} = {known}")
                    with code.inside(f"if {' and '.join(same)}:"):
                        code.add(f"e{me}_{u}_{i}_{part} = {self._sum(known, own, part)}")

    def _product(self, me: str, weight: Weight, part: int) -> str:
        found = "1"
        for u, i, among in weight:
            sum_of = f"{'e' if among else 'f'}{me}_{u}_{i}_{part}"
            found = sum_of if found == "1" else self._reduced(f"{found} * {sum_of}", part)
        return found

    def _sum(self, one: str, other: str, part: int) -> str:
        return self._reduced(f"{one} + {other}", part)

    @staticmethod
    def _reduced(text: str, part: int) -> str:
        return f"(({text}) % {PRIMES[part - 1]})" if part else f"wrapped({text})"

    def _total(self, code: WordLines, me: str, rule: int) -> None:
        for part in range(self.parts):
            at = f"V[{TOTALS + rule * self.parts + part}]"
            for weight, times in self.counts[rule].terms.items():
                product = self._reduced(f"{times} * {self._product(me, weight, part)}", part)
                code.add(f"{at} = {self._sum(at, product, part)}")

    # --- what it joins ----------------------------------------------------------------------------------

    def _joins(self, code: WordLines, rule: int, step: CountedStep) -> None:
        if not step.step.number:
            return
        me, column = f"{rule}_{step.step.number}", self._column(rule, step.step.number)
        with code.inside(f"if p{me}:"):
            code.add(*(f"X[KEY + {i}] = y{me}_{i}" for i in range(len(step.keys))))
            code.add(f"g = begun_event({column.number}, hy{me}, now, Q, G, X)")
            for i in range(len(step.weights)):
                for part in range(self.parts):
                    at, own = f"G[g + {i * self.parts + part}]", f"w{me}_{i}_{part}"
                    code.add(f"{at} = {own if column.aged else self._sum(at, own, part)}")


def told_total(parts: Sequence[int], most: int) -> int | None:
    """A number that is not negative and at most `most`, by what is left of it; None where that does not tell it."""
    if most < 1 << 63:
        return parts[0]
    found, modulus = parts[0] % (1 << 64), 1 << 64
    for part, prime in zip(parts[1:], PRIMES, strict=False):
        found += modulus * ((part - found) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return found if most < modulus else None
