"""Expressions of rules as lines of code on words: each value is a whole number or a float, and whether it is null.

The rule of this module: an operator is strict in null, so whether any leaf is null is asked first, and what is computed
then is plain arithmetic. What leaves 64 bits ends the run, and is done again in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.errors import Refused
from workbench.executors.compiled.code.text_number import text_code
from workbench.executors.compiled.rules.layout import FAILED, NULLS, TIME, VALUES
from workbench.tesla import tree as t
from workbench.tesla.resolved import OWN, RuleSlot, domain_of, slots
from workbench.tesla.resolved import TIME as TIMED

WORD = 2**63
EMPTY: Mapping[Domain, str] = {INT: "0", STR: "0", FLOAT: "0.0", BOOL: "False"}
"""What stands where a null is."""
OVERFLOWS = {"+": "sum_overflows", "-": "difference_overflows", "*": "product_overflows"}
MIXED = {
    "==": ("int_same({0}, {1})", "int_same({1}, {0})"), "!=": ("(not int_same({0}, {1}))", "(not int_same({1}, {0}))"),
    "<": ("int_below({0}, {1})", "int_above({1}, {0})"), ">": ("int_above({0}, {1})", "int_below({1}, {0})"),
    "<=": ("({1} == {1} and not int_above({0}, {1}))", "({0} == {0} and not int_below({1}, {0}))"),
    ">=": ("({1} == {1} and not int_below({0}, {1}))", "({0} == {0} and not int_above({1}, {0}))"),
}  # fmt: skip
"""Comparisons of a whole number with a float, and of a float with a whole number."""


class CodeValue(NamedTuple):
    """A value in code: its text, and what tells whether it is null; nothing where it never is."""

    text: str
    null: str = ""


class RuleConstants:
    """The constants of a rule, which its code reads from a table, so that rules that differ only in them share it."""

    def __init__(self) -> None:
        self.values: list[int | float] = []
        self.texts: list[str] = []

    def text(self, value: str) -> str:
        """Source of the number of a text."""
        self.texts.append(value)
        return self.whole(text_code(value))

    def whole(self, value: int) -> str:
        """Source of a whole number."""
        self.values.append(int(value))
        return f"C[c + {len(self.values) - 1}]"

    def real(self, value: float) -> str:
        """Source of a float."""
        self.values.append(float(value))
        return f"CF[c + {len(self.values) - 1}]"


class WordLines:
    """Lines of a function, grown one expression at a time.

    Parameters
    ----------
    beyond: what is returned where a number leaves 64 bits.
    failed: what is returned where nobody answers about a text.

    Attributes
    ----------
    addresses: places of bound events, and what their rows' addresses are called; the own one's is `own`.
    operands: of what combines two values, which has no row.
    parameters: names, with `$`, to their values.
    """

    def __init__(self, constants: RuleConstants, beyond: str, failed: str = f"return {FAILED}") -> None:
        self.constants, self.beyond, self.failed = constants, beyond, failed
        self.lines: list[str] = []
        self.depth = 1
        self.addresses: dict[int, str] = {}
        self.own = ""
        self.operands: dict[str, CodeValue] = {}
        self.parameters: dict[str, CodeValue] = {}
        self._count = 0

    def add(self, *lines: str) -> None:
        """Lines at this depth."""
        self.lines += ["    " * self.depth + line for line in lines]

    @contextmanager
    def inside(self, head: str) -> Iterator[None]:
        """Lines below one that ends with a colon."""
        self.add(head)
        self.depth += 1
        yield
        self.depth -= 1

    def fresh(self, letter: str) -> str:
        """A name that no other line has."""
        self._count += 1
        return f"{letter}_{self._count}"

    def text(self) -> str:
        """All of them."""
        return "".join(f"{line}\n" for line in self.lines)

    # --- expressions ------------------------------------------------------------------------------------

    def require(self, conditions: Iterable[t.Expression], reject: str) -> None:
        """Go another way unless all of these are true."""
        for condition in conditions:
            found = self.value(condition)
            self.add(f"if {' or '.join([*filter(None, [found.null]), f'not {found.text}'])}: {reject}")

    def value(self, expression: t.Expression) -> CodeValue:
        """What an expression is."""
        if not isinstance(expression, t.Operation):
            return self._leaf(expression)
        leaves = map(self._leaf, slots(expression))
        nulls = list(dict.fromkeys(leaf.null for leaf in leaves if leaf.null))
        if not nulls and not any(isinstance(e, t.Operation) and e.operator in "/%" for e in t.within(expression)):
            return CodeValue(self._part(expression, ""))
        null, found = self.fresh("n"), self.fresh("v")
        self.add(f"{null} = {' or '.join(nulls) or 'False'}", f"{found} = {EMPTY[domain_of(expression)]}")
        with self.inside(f"if not {null}:"):
            self.add(f"{found} = {self._part(expression, null)}")
        return CodeValue(found, null)

    def real(self, expression: t.Expression) -> CodeValue:
        """What an expression is, as a float."""
        found = self.value(expression)
        return found if domain_of(expression) == FLOAT else CodeValue(f"float({found.text})", found.null)

    def _leaf(self, expression: t.Expression) -> CodeValue:
        if isinstance(expression, t.Literal):
            return CodeValue(self.literal(expression))
        assert isinstance(expression, RuleSlot)
        if expression.is_parameter:
            return self.parameters[expression.name]
        if expression.place == OWN and expression.name in self.operands:
            return self.operands[expression.name]
        return self._of_row(expression, self.own if expression.place == OWN else self.addresses[expression.place])

    def _of_row(self, slot: RuleSlot, address: str) -> CodeValue:
        """An attribute or the time of the event or fact whose row lies at an address."""
        if slot.name == TIMED:
            return CodeValue(f"W[{address} + {TIME}]")
        return attribute_of(slot.type, slot.name, address)

    def literal(self, literal: t.Literal) -> str:
        value = literal.value
        if isinstance(value, bool):
            return str(value)
        if isinstance(value, str):
            return self.constants.text(value)
        if isinstance(value, float):
            return self.constants.real(value)
        if not -WORD <= value < WORD:
            raise Refused(f"the engine 'compiled' has no numbers such as {value}", hint=OTHERS, where=literal.where)
        return self.constants.whole(value)

    def _part(self, expression: t.Expression, null: str) -> str:
        """The text of an expression none of whose leaves is null; a division by zero makes `null` true."""
        if not isinstance(expression, t.Operation):
            return self._leaf(expression).text
        texts = [self._part(operand, null) for operand in expression.operands]
        kinds = list(map(domain_of, expression.operands))
        found = self.fresh("t")
        text = self._operated(expression, texts, kinds, null)
        self.add(f"{found} = {text}")
        return found

    def _operated(self, expression: t.Operation, texts: list[str], kinds: list[Domain], null: str) -> str:
        sign, mixed = expression.operator, FLOAT in kinds and INT in kinds
        if sign in ("and", "or"):
            return f"{texts[0]} {sign} {texts[1]}"
        if sign == "not":
            return f"not {texts[0]}"
        if STR in kinds and sign not in ("==", "!="):
            return self.joined(*texts) if sign == "+" else f"{self.ordered(*texts)} {sign} 0"
        if sign in MIXED:
            return MIXED[sign][kinds[0] == FLOAT].format(*texts) if mixed else f"{texts[0]} {sign} {texts[1]}"
        if sign == "/" or FLOAT in kinds:
            texts = [text if kind == FLOAT else f"float({text})" for text, kind in zip(texts, kinds, strict=True)]
        if sign == "neg":
            if kinds == [INT]:
                self.add(f"if difference_overflows(0, {texts[0]}): {self.beyond}")
            return f"-{texts[0]}"
        if sign in ("/", "%"):
            return self._divided(sign, texts, kinds, null)
        if FLOAT not in kinds:
            self.add(f"if {OVERFLOWS[sign]}({texts[0]}, {texts[1]}): {self.beyond}")
        return f"{texts[0]} {sign} {texts[1]}"

    def ordered(self, one: str, other: str) -> str:
        """How a text stands to another: less than 0 where it comes before it."""
        found = self.fresh("t")
        self.add(f"{found} = text_order({one}, {other}, H, V)", f"if {found} == 2: {self.failed}")
        return found

    def joined(self, one: str, other: str) -> str:
        """Two texts as one."""
        found = self.fresh("t")
        self.add(f"{found} = text_joined({one}, {other}, H, V)", f"if {found} < 0: {self.failed}")
        return found

    def _divided(self, sign: str, texts: list[str], kinds: list[Domain], null: str) -> str:
        """A division whose divisor is one where it would be zero: then its result does not count."""
        by, real = self.fresh("d"), sign == "/" or FLOAT in kinds
        zero, one = ("0.0", "1.0") if real else ("0", "1")
        self.add(f"{by} = {texts[1]}", f"if {by} == {zero}: {null}, {by} = True, {one}")
        if not real:
            self.add(f"if {by} == -1: {by} = 1")  # the rest is 0 all the same, and the processor can do it
        return f"{texts[0]} {sign} {by}"

    # --- keys -------------------------------------------------------------------------------------------

    def hashed(self, expressions: Iterable[t.Expression], kinds: Iterable[Domain], reject: str) -> None:
        """The hash of values as `h`; go another way where one is null, or equals nothing of its kind."""
        self.add("h = 0")
        for each, kind in zip(expressions, kinds, strict=True):
            found, own = self.value(each), domain_of(each)
            if found.null:
                self.add(f"if {found.null}: {reject}")
            self.put_word(found.text, own, kind, reject)
            self.add("h = scattered(h, X[0])")

    def put_word(self, text: str, own: Domain, kind: Domain, reject: str) -> None:
        """Put a value of one type at `X[0]` as one of another has it that is equal; -0.0 is 0.0."""
        if own == BOOL:
            self.add(f"X[0] = 1 if {text} else 0")
        elif kind == FLOAT:
            if own == FLOAT:
                self.add(f"if {text} != {text}: {reject}")
            self.add(f"XF[0] = float({text}) + 0.0")
        elif own == FLOAT:
            self.add(f"if not (-{2.0**63} <= {text} < {2.0**63}): {reject}")
            self.add(f"if float(int({text})) != {text}: {reject}", f"X[0] = int({text})")
        else:
            self.add(f"X[0] = {text}")


OTHERS = "another engine takes them: --backend cdp"


def attribute_of(declared: t.Declaration, name: str, address: str) -> CodeValue:
    """An attribute of the event or fact whose row lies at an address."""
    at, domain = declared.positions[name], declared.domains[name]
    array = "F" if domain == FLOAT else "W"
    text = f"{array}[{address} + {VALUES + at}]"
    null = f"(W[{address} + {NULLS}] >> {at}) & 1 != 0"
    return CodeValue(f"({text} != 0)" if domain == BOOL else text, null)


__all__ = ["CodeValue", "RuleConstants", "WordLines", "attribute_of"]
