"""The arrays of machine code, and the offsets of numbers in them.

The rule of this module: it defines names only. Machine code uses the offsets as constants; its functions receive
related arrays as one argument.
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
"""Offsets in `SetArrays.head`: the lock, on its own cache line; p_max; the phases complete; the first phase of the
trees; N; the run queue."""
FAILED, PLACE, INSIDE, STOPPED, ASLEEP, ABSENT = 14, 15, 16, 17, 18, 19
"""Offsets there: the first phase that failed, and the processor; the number of threads that run vertices; whether they
are to stop; whether the caller waits for work; how many threads could be requested."""

RESULT, VERTEX, COUNT, LIVE, MADE, CLOCK = 0, 2, 3, 4, 5, 6
"""Offsets in `ThreadArrays.numbers`: the result of the last vertex; that vertex, its phases, and how many of them are
to be run; whether they have been; which clock to use."""

WORDS, COLUMNS, INPUTS, OUTPUTS, STATES, CELL, CODE, BATCH = range(8)
"""Columns of `VertexArrays.vertices`: the start of a vertex's words, and of the columns in them; the starts of its
inputs, outputs and parts of its state in their lists; its first processor; its code; phases per batch."""

FIELDS, READERS = 0, 1
"""Columns of `PipeArrays.pipes`: the starts of a pipe's fields and of its readers in their lists."""

IDLE, LATE, BAD = 0, 1, 2
"""The reasons why a thread returns: nothing is ready, it has run for long (or another one is needed), or Python must
run the vertex."""

MAXIMUM = 256
"""Maximum number of phases of a vertex that a thread takes at once."""
STRIDE = MAXIMUM + 8
"""Number of words in a column of a thread."""
