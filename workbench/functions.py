"""Functions of events, for pipelines that are written in Python: `wb.functions.MAX(x, y)`.

They apply to streams, terms and values alike; Python's operators on streams are the same functions.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""The flag of `typing`, whose import takes a while."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.core.function import (
        ABS as ABS, ADD as ADD, ALL_VALUES as ALL_VALUES, AND as AND, ANY_VALUE as ANY_VALUE, BIT_AND as BIT_AND,
        BIT_OR as BIT_OR, DIV as DIV, EQ as EQ, EVEN as EVEN, GE as GE, GET as GET, GT as GT, HAS as HAS, IF as IF,
        IMPLIES as IMPLIES, LE as LE, LT as LT, MAX as MAX, MIN as MIN, MOD as MOD, MUL as MUL, NE as NE, NEG as NEG,
        NOT as NOT, ODD as ODD, OR as OR, SHIFT_LEFT as SHIFT_LEFT, SHIFT_RIGHT as SHIFT_RIGHT, SIZE as SIZE,
        SUB as SUB, SUM_VALUES as SUM_VALUES, XOR as XOR, Function as Function, ite as ite,
        user_function as user_function,
    )
    from workbench.core.named_functions import (
        ceil as ceil, contains as contains, divide as divide, ends_with as ends_with, exp as exp, floor as floor,
        is_null as is_null, length as length, log as log, lower as lower, matches as matches, pow as pow,
        replace as replace, round as round, sqrt as sqrt, starts_with as starts_with, substring as substring,
        to_float as to_float, to_int as to_int, to_text as to_text, upper as upper, value_or as value_or,
    )
# fmt: on
# isort: on

if not TYPE_CHECKING:  # type checkers would take any name for one of ours
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
