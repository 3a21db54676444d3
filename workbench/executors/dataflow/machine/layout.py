"""Where numbers stand in the arrays that machine code is given.

The rule of this module: names for places and nothing else; generated code takes them as constants.
"""

from __future__ import annotations

LOCK, BEGUN, COMPLETE, SHIFT, SIZE, HEAD, TAIL = 0, 8, 9, 10, 11, 12, 13
"""Of all threads: the lock, in a line of memory of its own; p_max; the phases complete; that of the trees' first place;
N; the run queue."""
FAILED, PLACE, INSIDE, STOPPED, ASLEEP, ABSENT = 14, 15, 16, 17, 18, 19
"""The phase in which something went wrong first, and the processor; how many threads run vertices; whether they are to
stop; whether the caller waits for something to do; how many threads could be had."""

RESULT, VERTEX, COUNT, LIVE, MADE, CLOCK = 0, 2, 3, 4, 5, 6
"""Of a thread: what its last vertex gave back; that vertex, its phases, and those of them that are to be run; whether
they have been; which clock there is."""

WORDS, COLUMNS, INPUTS, OUTPUTS, STATES, CELL, CODE, BATCH = range(8)
"""Of a vertex: where its words begin, and in them its columns; where its inputs, outputs and parts of its state begin
in their lists; its first processor; its code; how many phases are taken at once."""

FIELDS, READERS = 0, 1
"""Of a pipe: where its fields and its readers begin in their lists."""

IDLE, LATE, BAD = 0, 1, 2
"""Why a thread comes back: nothing is ready, it has been there for long (or another one is wanted), or Python has to
run the vertex."""

MOST = 256
"""The most phases of a vertex that a thread takes at once."""
STRIDE = MOST + 8
"""Words of a column of a thread."""
