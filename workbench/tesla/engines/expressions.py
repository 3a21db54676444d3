"""Compiles expressions of rules to the source of Python functions.

The rule of this module: an operator is strict in null, so an expression is null if any of its leaves is, or if it
divides by zero. These cases are tested first, and the rest is plain arithmetic, without recursion at run time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from workbench.core.domain import FLOAT, STR
from workbench.core.evaluate import DEEPEST
from workbench.core.floats import as_float
from workbench.tesla import tree as t
from workbench.tesla.declared import Combines
from workbench.tesla.operators import may_divide_by_zero, row_of
from workbench.tesla.resolved import OWN, TIME, RuleSlot, domain_of
from workbench.tesla.scope import RuleScope

WORDS = 2**63
"""Bound of whole numbers written as text; larger ones are passed as constants, as very long texts cannot be read."""


MatchLayout = Mapping[tuple[int, str], int]
"""The slot in a partial match of each event (place, `EVENT`) and parameter (place, name)."""
EVENT = ""


class PythonLines:
    """The source of a function of a partial match `m` and an event or a row `e`, built one expression at a time."""

    def __init__(self, layout: MatchLayout, arguments: str) -> None:
        self.layout, self.arguments = layout, arguments
        self.lines: list[str] = []
        self.constants: dict[str, Any] = {"real": as_float}
        self._loaded: set[str] = set()

    def require(self, conditions: Iterable[t.Expression]) -> None:
        """Return None unless all conditions are true."""
        for condition in conditions:
            tests, text = self._compute(condition)
            self.lines.append(f"if {' or '.join([*tests, f'not {text}'])}: return None")

    def assign(self, assignments: Iterable[t.Assigned]) -> None:
        """Assign the predicate's own parameters."""
        for each in assignments:
            self.lines.append(f"a_{each.name} = {self.value(each.value)}")

    def value(self, expression: t.Expression, *, as_real: bool = False) -> str:
        """Return source for the value of an expression; null is None."""
        tests, text = self._compute(expression)
        text = f"real({text})" if as_real else text
        return f"(None if {' or '.join(tests)} else {text})" if tests else text

    def bind_keys(self, values: Iterable[t.Expression]) -> list[str]:
        """Assign values to variables, returning None if one is null, or NaN, which equals nothing; return the names."""
        names = []
        for i, each in enumerate(values):
            self.lines.append(f"k{i} = {self.value(each)}")
            self.lines.append(f"if k{i} is None{f' or k{i} != k{i}' if domain_of(each) == FLOAT else ''}: return None")
            names.append(f"k{i}")
        return names

    def key_function(self, values: Iterable[t.Expression]) -> Callable[..., Any]:
        """Compile the lines to a function that returns these values as a key; None if one is null, or NaN."""
        names = self.bind_keys(values)
        return self.function(as_tuple(names) if len(names) > 1 else names[0] if names else "True")

    def function(self, result: str) -> Callable[..., Any]:
        """Compile the lines to a function that returns a result, given as source."""
        lines = [*self.lines, f"return {result}"]
        text = f"def of_rule({self.arguments}):\n" + "".join(f"    {line}\n" for line in lines)
        namespace = dict(self.constants)
        exec(compile(text, "<function of a rule>", "exec"), namespace)
        function: Callable[..., Any] = namespace["of_rule"]
        return function

    def _compute(self, expression: t.Expression) -> tuple[list[str], str]:
        """Return tests for null, and source for the value if it is not null."""
        tests: dict[str, None] = {}
        text, _ = self._write(expression, tests)
        return list(tests), text

    def _write(self, expression: t.Expression, tests: dict[str, None]) -> tuple[str, int]:
        if isinstance(expression, t.Literal):
            return self._write_constant(expression.value), 0
        if isinstance(expression, RuleSlot):
            name = self._load_slot(expression)
            if expression.name != TIME:
                tests[f"{name} is None"] = None
            return name, 0
        assert isinstance(expression, t.Operation)
        parts = [self._write(operand, tests) for operand in expression.operands]
        texts, depth = [text for text, _ in parts], 1 + max(depth for _, depth in parts)
        row = row_of(expression)
        if domain_of(expression) == FLOAT:
            kinds = map(domain_of, expression.operands)
            texts = [text if kind == FLOAT else f"real({text})" for text, kind in zip(texts, kinds, strict=True)]
        if row.null == "may":
            texts[1] = self._store_value(texts[1], tests, " == 0")
        text = row.python.format(*texts)
        return (self._store_value(text, tests, " is None"), 0) if depth >= DEEPEST else (text, depth)

    def _store_value(self, text: str, tests: dict[str, None], test: str) -> str:
        """Add a variable for a value to the tests, with a test for null; the variable is used instead of the value."""
        name = f"d{len(tests)}"
        tests[f"({name} := {text}){test}"] = None
        return name

    def _load_slot(self, slot: RuleSlot) -> str:
        if slot.is_parameter:
            if slot.part == OWN:
                return f"a_{slot.name[1:]}"
            at = self.layout[slot.part, slot.name]
            return self._load(f"p{at}", f"m[{at}]")
        values = "" if slot.type.fact else ".values"
        if slot.part == OWN:
            return self._load(f"o{slot.index}", f"e{values}[{slot.index}]")
        at = self.layout[slot.part, EVENT]
        if slot.name == TIME:
            return self._load(f"t{at}", f"m[{at}].time")
        return self._load(f"x{at}_{slot.index}", f"m[{at}]{values}[{slot.index}]")

    def _load(self, name: str, source: str) -> str:
        if name not in self._loaded:
            self._loaded.add(name)
            self.lines.append(f"{name} = {source}")
        return name

    def _write_constant(self, value: Any) -> str:
        if isinstance(value, bool | str) or (isinstance(value, int) and -WORDS < value < WORDS):
            return repr(value)
        if isinstance(value, float) and math.isfinite(value):
            return repr(value)
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name


def effort(expression: t.Expression) -> int:
    """Estimate the cost of computing an expression: comparing and joining texts costs most."""
    if not isinstance(expression, t.Operation):
        return 0
    texts = expression.operator not in ("==", "!=") and domain_of(expression.operands[0]) == STR
    own = 20 if texts else 5 if may_divide_by_zero(expression) else 1
    return own + sum(effort(each) for each in expression.operands)


def as_tuple(names: Iterable[str]) -> str:
    """Return source for a tuple of names."""
    return "(" + "".join(f"{name}, " for name in names) + ")"


def combines(declared: t.DeclaredAggregate) -> Combines:
    """Return a declared aggregate's function of two values."""
    if declared.combined is None:
        assert declared.function is not None
        return declared.function
    code, combined = PythonLines({}, "e"), RuleScope(declared.scope).resolve(declared.combined)
    of_row = code.function(code.value(combined, as_real=declared.domain == FLOAT))
    return lambda one, other: of_row((one, other))
