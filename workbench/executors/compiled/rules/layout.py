"""Where the compiled engine of rules has what: the words of rows, of tables, and of what comes out.

The rule of this module: everything is a whole number of 64 bits in an array, a float by its bits. An event is a row in
the ring of its type; what points to it is its place among all events of its type, which never changes.
"""

from __future__ import annotations

TIME, NUMBER, NULLS, VALUES = 0, 1, 2, 3
"""The words of a row; nulls are bits. Behind the values are the links of chains."""

(
    WIDTH, BASE, MASK, ATTRIBUTES, INPUT, COLUMNS, COLUMNS_END, RULES, RULES_END, INDEXES, INDEXES_END,
    KEPT, WATCHED, HORIZON, LATEST, AHEAD, AHEAD_END, TYPE_WORDS,
) = range(18)  # fmt: skip
"""What `T` says of a type: its rows in `W`, its columns of input in `A`; columns, rules and indexes in `L`; whether it
is kept, whether anything looks at it, how long it is kept (-1: forever), and of how many
of the latest events it is kept in any case. In which chains its events are looked up, or join, stands in `L`: the
column, whether rows of it are looked at, how many values make the key, and the places of these attributes."""

TYPE, LINK, HEADS, HEADS_MASK, ACCEPT, ACCEPT_CONSTANTS, RING, RING_MASK, COLUMN_WORDS = range(9)
"""What `K` says of a column: where chains begin in `H`, or the ring of places, -1 where it is none."""

OF_COLUMN, SORTED_BY, REAL, LEVELS, LEVELS_MASK, ORDER_STATE, KEYED = range(7)
"""What `K` says, behind columns, of an order: its column, the place of the attribute by which it is sorted, whether
that is a float, where its blocks lie in `H` (-1: nowhere yet), for how large a ring, where its state, and
whether events with the same key are together."""

MADE_FROM, MADE_TO, DEBT, WORTH, ORDER_WORDS = range(5)
"""The state of an order: from which place to before which there are blocks; how many places have been looked at one by
one since, and for how many of these a place more is put in order."""

(
    SHAPE, CONSTANTS, EMITS, SIZE, GIVEN, CONSUMED, CONSUMED_END, PAUSE, JUDGE, WAITING, RUN, RULE_WORDS,
) = range(12)  # fmt: skip
"""What `R` says of a rule: its function and constants, the type that it emits, the words of a composite, how many
values it has, in `L` which of its sources are consumed and as what, how long it is silent, its function of what it
waits for, the type of rows of what waits, and whether composites are written as runs. The type of what stands for all
matches of a trigger has no number."""

(
    COUNT, NOW, MADE, PUBLISHED, JOURNAL, WANTED, STACK, TABLE, TABLE_MASK, TABLE_WIDTH, REACHED, LEAST, DUE, DEEP,
    AWAITING, AWAITING_END, UNTIL, COSTS, ANSWERS, BEGINS, BEGINS_MASK, JOINED, JOINED_MASK, ROWS, ROOM, FOUND, SPANS,
    UNDONE, TRIGGER, ROOF, LISTS, MANY, STATE_WORDS,
) = range(33)  # fmt: skip
"""What `V` says: events so far, the time, words and composites that have come out, entries of the journal, what there
is no room for, what is to be published, where the table lies in `H` of what is consumed and of who is silent, its size
and the words of an entry, how far a run has come, the least number of an event that is there, a time before which
nothing is due, how long the chain of causes of the event is that is processed, where in `L` the rules are that wait
for something, up to which time the clock is to move, where in `H` is what rules have cost, -1 where nobody asks, what
answers about texts, and where in `H` are the beginnings of texts and texts that have been put together. Of
rules whose matches are written as numbers of events: the address of a column for each of their places, how many numbers
one has room for, and how many matches there are, less than 0 where so many are to be passed over. Where in `H` it is
said at which places in `W` spans begin, -1 where there is no room for them yet; how often a run has been undone. The
number of the trigger that rules are asked about; where in the scratch what they share of it begins, behind which there
is no room; and where in `H` the lists of that lie. After how many events and composites those are given out."""

LIST_WORDS = 3
"""A list: of which trigger it is, and from where down to where in the scratch it lies."""

BEGIN_WORDS, JOIN_WORDS = 5, 3
"""A text and its first bytes, so that greater ones come later; two texts and both together."""

ORDER, JOIN = range(2)
"""What is asked about two texts."""

PARTIAL, FULL, COMPOSED, TICKS, COST_WORDS = range(5)
"""What each rule has cost: partial and full matches, composites, and ticks of a clock. Before that stand all ticks,
behind it how many events of each type there were."""

RULE, WHEN, ID, DEPTH, CAUSE, GAPS, RECORD = range(7)
"""The words of a composite: its rule, time and number, how long its chain of causes is and which comes before it,
nulls; behind them its values and the numbers of its sources.

A run are composites of one rule that differ in the last event of their matches only. It is written as the first of
them; behind that stand how many they are, how many words all of this takes, and columns of what differs (`RunSource`).
"""

RUN_WORDS = 2
"""The words behind the first composite of a run, before its columns."""

(
    DONE, GROW_ROWS, GROW_RING, GROW_OUTPUT, GROW_SCRATCH, GROW_JOURNAL, GROW_TABLE, BEYOND, ENDLESS, FAILED, GIVE_ROWS,
    GROW_SPANS, GROW_ORDER, GIVE_OUTPUT,
) = range(14)  # fmt: skip
"""What a run ends with."""

MUCH_OUTPUT, MANY_COMPOSITES = 1 << 19, 1 << 16
"""Words of composites, and how many of them, that are given out before the next event: what is done with them finds
them near at hand."""

UNNUMBERED = -1
"""What `WATCHED` is of a type that has no place in the order."""

WAITED = 3
"""The first words of what waits: its deadline, the number of its trigger, how long that one's chain of causes is;
behind them the rows that are bound, and values of aggregates, each with whether it is null."""

NEVER = 1 << 62
"""A time that does not come."""

QUIET = 2
"""What is added to what ends a run, where 1 is silence."""

KEY_WORDS = 16
"""Where in the scratch the values are for which a rule is silent."""

FETCHED, MOST_AHEAD = 64, 4
"""Where in the scratch it stands what has been fetched for coming events, and for how many chains of one of them."""

FIXED = 128
"""Words of scratch that have a use of their own; candidates are behind them."""
LIMBS = 72
"""Words of an exact sum of floats."""
