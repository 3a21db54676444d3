"""Encoding of values of rules on the pipes of a model.

The rule of this module: a pipe carries numbers if these are close together, and otherwise names of values, for a model
has no floats, no texts and no null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, NULL, Bool, Domain, Enum, Integer, Range, SomeNumbers, Value
from workbench.core.ops import ADD, EQ, SUB, Conversion, as_term, ite, negate
from workbench.core.term import Term, const, exactly
from workbench.tesla.model.guarded_values import GuardedValue, ValueTable

MAX_FREE_TICKS = 12
"""Maximum length of a step for which every number of ticks is possible."""
COMES = Enum(("comes",))
"""The domain of streams of events without attributes in a model."""


class ValueEncoding(NamedTuple):
    """The encoding of a table's values on pipes.

    Attributes
    ----------
    codes: the code of each value on a pipe, by `exactly`.
    """

    table: ValueTable
    domain: Domain
    codes: Mapping[Any, Value]

    @classmethod
    def of(cls, table: ValueTable, *, exact: bool = False, texts: bool = False) -> ValueEncoding:
        """Encode numbers as numbers if close together, else by name.

        Parameters
        ----------
        exact: whether the domain has no other values.
        texts: whether they are texts. A table without values has 0, or null in place of a text.
        """
        values: tuple[Value | None, ...] = table.values or ((None,) if texts else (0,))
        if all(isinstance(each, bool) for each in values) and len(values) > exact:
            return cls.of_pairs(table, BOOL, values, values)
        if all(isinstance(each, int | float) and not isinstance(each, bool) and each == each and abs(each) < 1e9
               and each == int(each) for each in values):  # fmt: skip
            whole = [int(each) for each in values if each is not None]
            if max(whole) - min(whole) < (1 if exact else 4) * len(whole):
                return cls.of_pairs(table, Range(min(whole), max(whole)), values, whole)
        names = list(map(name_value, values))
        numbers = {int, float} >= {type(each) for each in values if each is not None} != set()
        return cls.of_pairs(table, (SomeNumbers if numbers else Enum)(tuple(names)), values, names)

    @classmethod
    def of_pairs(
        cls, table: ValueTable, domain: Domain, values: Iterable[Value | None], codes: Iterable[Value | None]
    ) -> ValueEncoding:
        """Make an encoding from some values of a table and their codes."""
        return cls(table, domain, dict(zip(map(exactly, values), codes, strict=True)))

    def code_of(self, value: Value | None) -> Value | None:
        """Return the code of a value; for one without a code, a text for people."""
        named = isinstance(self.domain, Enum)
        return self.codes.get(exactly(value), name_value(value) if named else value)

    def decode_value(self, code: Value) -> Value | None:
        """Return the value with a code."""
        key = next(key for key, each in self.codes.items() if each == code)
        return self.table.values[self.table.places[key]]

    def decode(self, item: Term) -> GuardedValue:
        """Return the value that a pipe carries, as a term."""
        table, domain = self.table, self.domain
        if len(table) == 1:
            return GuardedValue.constant(table.values[0])
        if isinstance(domain, Range | Integer) and self._is_in_table_order(table):
            return GuardedValue.at(SUB(Conversion.to(item, Range(domain.lo, domain.hi)), domain.lo), table)
        if isinstance(domain, Bool):
            return GuardedValue.of([(False, negate(item)), (True, item)])
        index: Any = const(0, table.domain)
        for key, each in self.codes.items():
            index = ite(EQ(item, const(each, domain)), const(table.places[key], table.domain), index)
        return GuardedValue.at(index, table)

    def encode(self, choice: GuardedValue) -> Any:
        """Return the code of a value, as a term."""
        domain, table = self.domain, choice.table
        if isinstance(domain, Bool):
            return choice.is_true
        if isinstance(domain, Integer):  # codes are converted to it, as by a cast
            whole = [value for value, _ in choice.cases.values() if isinstance(value, int)] or [domain.lo]
            exact = ValueEncoding.of_pairs(self.table, Range(min(whole), max(whole)), whole, whole)
            return Conversion.to(as_term(exact.encode(choice), exact.domain), domain)
        if (
            choice.index is not None
            and isinstance(domain, Range)
            and table is not None
            and self._is_in_table_order(table)
        ):
            return ADD(choice.index, domain.lo)
        code: Any = const(domain.default, domain)
        for key, (_, when) in choice.cases.items():
            if key in self.codes:
                code = ite(when, const(self.codes[key], domain), code)
        return code

    def _is_in_table_order(self, table: ValueTable) -> bool:
        """Whether codes are the positions in a table, counted from the least number."""
        assert isinstance(self.domain, Range | Integer)
        return [self.codes.get(key) for key in table.places] == list(range(self.domain.lo, self.domain.hi + 1))


def name_value(value: Value | None) -> str:
    """Return the name of a value on a pipe."""
    return NULL if value is None else f'"{NULL}"' if value == NULL else str(value)


def pause_domain(max_ticks: int, least: int = 1) -> Domain:
    """Return the domain of ticks in a step: all numbers up to the maximum, or powers of two if there are many.

    Every pause is a sum of such steps; a search of all states is faster with fewer successors.
    """
    if max_ticks <= MAX_FREE_TICKS or not least:  # if time never passes by itself, pauses are not sums
        return Range(least, max_ticks)
    powers = (str(1 << i) for i in range(max_ticks.bit_length()) if 1 << i < max_ticks)
    return Enum((*powers, str(max_ticks)))


def ticks_of(pause: Any) -> Any:
    """Return the number of ticks in a value of `pause_domain`."""
    if not isinstance(pause, Term):
        return int(pause)
    if not isinstance(pause.domain, Enum):
        return pause
    *labels, last = pause.domain.labels
    ticks: Any = const(int(last), Range(int(last), int(last)))
    for label in labels:
        ticks = ite(EQ(pause, const(label, pause.domain)), int(label), ticks)
    return ticks
