"""Functions of floats and texts under their names in the language, for Python: `wb.functions.sqrt(x)`."""

from __future__ import annotations

from workbench.core.function import IS_NULL, NAMED, VALUE_OR

divide = NAMED["/"]
sqrt, exp, log, pow, round, floor, ceil = (NAMED[name] for name in "sqrt exp log pow round floor ceil".split())
length, lower, upper, contains, starts_with, ends_with = (
    NAMED[name] for name in "length lower upper contains starts_with ends_with".split()
)
matches, replace, substring = (NAMED[name] for name in "matches replace substring".split())
to_int, to_float, to_text = (NAMED[name] for name in "to_int to_float to_text".split())
is_null, value_or = IS_NULL, VALUE_OR
