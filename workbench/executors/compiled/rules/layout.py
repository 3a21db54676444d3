"""Where the compiled engine of rules has what: the words of rows, of tables, and of what comes out.

The rule of this module: everything is a whole number of 64 bits in an array, a float by its bits. An event is a row in
the ring of its type; what points to it is its place among all events of its type, which never changes.
"""

from __future__ import annotations

TIME, NUMBER, NULLS, VALUES = 0, 1, 2, 3
"""The words of a row; nulls are bits. Behind the values are the links of chains."""

(
    WIDTH, BASE, MASK, ATTRIBUTES, INPUT, COLUMNS, COLUMNS_END, RULES, RULES_END, INDEXES, INDEXES_END,
    KEPT, WATCHED, HORIZON, TYPE_WORDS,
) = range(15)  # fmt: skip
"""What `T` says of a type: its rows in `W`, its columns of input in `A`; columns, rules and indexes in `L`; whether it
is kept, whether anything looks at it, and how long it is kept (-1: forever)."""

TYPE, LINK, HEADS, HEADS_MASK, ACCEPT, ACCEPT_CONSTANTS, RING, RING_MASK, COLUMN_WORDS = range(9)
"""What `K` says of a column: where chains begin in `H`, or the ring of places, -1 where it is none."""

SHAPE, CONSTANTS, EMITS, SIZE, GIVEN, CONSUMED, CONSUMED_END, PAUSE, RULE_WORDS = range(9)
"""What `R` says of a rule: its function and constants, the type that it emits, the words of a composite, how many
values it has, in `L` which of its sources are consumed and as what, and how long it is silent."""

(
    COUNT, NOW, MADE, PUBLISHED, JOURNAL, WANTED, STACK, TABLE, TABLE_MASK, TABLE_WIDTH, REACHED, LEAST, STATE_WORDS,
) = range(13)  # fmt: skip
"""What `V` says: events so far, the time, words and composites that have come out, entries of the journal, what there
is no room for, what is to be published, where the table lies in `H` of what is consumed and of who is silent, its size
and the words of an entry, how far a run has come, and the least number of an event that is there."""

RULE, WHEN, ID, DEPTH, CAUSE, GAPS, RECORD = range(7)
"""The words of a composite: its rule, time and number, how long its chain of causes is and which comes before it,
nulls; behind them its values and the numbers of its sources."""

DONE, GROW_ROWS, GROW_RING, GROW_OUTPUT, GROW_SCRATCH, GROW_JOURNAL, GROW_TABLE, BEYOND, ENDLESS = range(9)
"""What a run ends with."""

QUIET = 2
"""What is added to what ends a run, where 1 is silence."""

KEY_WORDS = 16
"""Where in the scratch the values are for which a rule is silent."""

FIXED = 64
"""Words of scratch that have a use of their own; candidates are behind them."""
LIMBS = 72
"""Words of an exact sum of floats."""
