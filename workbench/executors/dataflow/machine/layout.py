"""The arrays of machine code, and the offsets of numbers in them.

The rule of this module: it has only names; machine code takes those of offsets as constants, and its functions take
related arrays together.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class SetArrays(NamedTuple):
    """The sets of the scheduler.

    Attributes
    ----------
    head: numbers, at the offsets from `LOCK` on.
    last, m: those of the graph.
    waiting, vertex_levels: for each phase the vertices with a message, as bit sets, and the layout of such a set.
    news, phase_levels: for each vertex the phases in which it has a message, and their layout.
    own, least: two trees (`minima`) of own bounds and of least partial vertices.
    busy: which vertices are ready or run.
    queue: the run queue.
    """

    head: Any
    last: Any
    m: Any
    waiting: Any
    vertex_levels: Any
    news: Any
    phase_levels: Any
    own: Any
    least: Any
    busy: Any
    queue: Any


class ThreadArrays(NamedTuple):
    """The arrays of a thread.

    Attributes
    ----------
    numbers: numbers, at the offsets from `RESULT` on.
    phases: the phases that it runs.
    columns, small: inputs and outputs of their vertex, as words and as bytes.
    """

    numbers: Any
    phases: Any
    columns: Any
    small: Any


class VertexArrays(NamedTuple):
    """The arrays of the vertices.

    Attributes
    ----------
    vertices: numbers of each, at the offsets from `WORDS` on.
    words: the arguments of its code.
    reads: the pipes of inputs.
    writes: for each output its pipe, and the columns of its first field and of the indexes of its phases.
    states: for each part of a state its address, its size in bytes, and the address of a copy.
    counts: for each output its number of events.
    executions: for each vertex the number of phases it has run.
    """

    vertices: Any
    words: Any
    reads: Any
    writes: Any
    states: Any
    counts: Any
    executions: Any


class PipeArrays(NamedTuple):
    """The arrays of the pipes.

    Attributes
    ----------
    pipes: numbers of each, at the offsets from `FIELDS` on.
    fields: the size in bytes of each field.
    readers: the vertices that read it.
    stamps: for each pipe the phase whose event is in each row.
    values: for each field its values.
    """

    pipes: Any
    fields: Any
    readers: Any
    stamps: Any
    values: Any


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
