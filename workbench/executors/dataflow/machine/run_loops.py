"""Threads that run vertices of machine code, without Python: listing 1 on real vertices. Imports numba.

The rule of this module: a thread works on the sets while it has the lock, and nowhere else; what a vertex reads and
writes of pipes in its phases, and its state, no other thread touches meanwhile. A pipe has a row of words for each
field, and one that says which phase stands where.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: ARG001
# numba finds the types, and what an intrinsic is given; nothing here needs its runtime.

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from workbench.executors.compiled.code.kernels import placed
from workbench.executors.dataflow.machine.layout import (
    ABSENT,
    ASLEEP,
    BAD,
    BATCH,
    BEGUN,
    CELL,
    CLOCK,
    CODE,
    COLUMNS,
    COUNT,
    FAILED,
    FIELDS,
    HEAD,
    IDLE,
    INPUTS,
    INSIDE,
    LATE,
    LIVE,
    LOCK,
    MADE,
    OUTPUTS,
    PLACE,
    READERS,
    RESULT,
    STATES,
    STOPPED,
    STRIDE,
    TAIL,
    VERTEX,
    WORDS,
)  # fmt: skip
from workbench.executors.dataflow.machine.set_loops import begin, finished, full_phases, opened, say, taken

SPINS = 64
"""How often a lock is asked for before others may have the core."""
LONG, PATIENT, ALONE, WAITS = 50_000, 2_000_000, 20_000, 30_000
"""Nanoseconds after which a thread should come back to the sets; after which it goes back to Python; the same where
others could run what is ready; for which one that finds nothing waits for something."""

NUMBER, BYTE = ir.IntType(64), types.uint8


def _begins(context, builder, kind, array, place):
    """Where the words of an array lie from a place on."""
    return builder.gep(make_array(kind)(context, builder, array).data, [place])


@intrinsic
def swapped(context, array, place):
    """Whether a word was 0, and now is 1: done by one thread at a time, which then sees what others did before."""
    del context

    def code(context, builder, signature, args):
        where = _begins(context, builder, signature.args[0], *args)
        zero, one = ir.Constant(NUMBER, 0), ir.Constant(NUMBER, 1)
        return builder.extract_value(builder.cmpxchg(where, zero, one, "acquire", "monotonic"), 1)

    return types.boolean(array, types.int64), code


@intrinsic
def released(context, array, place):
    """Make a word 0, when all that was done before can be seen."""
    del context

    def code(context, builder, signature, args):
        where = _begins(context, builder, signature.args[0], *args)
        builder.store_atomic(ir.Constant(NUMBER, 0), where, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), code


@intrinsic
def looked(context, array, place):
    """A word as another thread may have just written it."""
    del context

    def code(context, builder, signature, args):
        return builder.load_atomic(_begins(context, builder, signature.args[0], *args), "monotonic", 8)

    return types.int64(array, types.int64), code


@intrinsic
def others_first(context):
    """Let other threads have the core."""
    del context

    def code(context, builder, _, __):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(_outside(builder, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def nanoseconds(context, clock):
    """The time of a clock of the system."""
    del context, clock

    def code(_, builder, __, args):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), NUMBER.as_pointer()])
        with builder.goto_entry_block():
            room = builder.alloca(NUMBER, 2)
        builder.call(_outside(builder, kind, "clock_gettime"), [builder.trunc(args[0], ir.IntType(32)), room])
        rest = builder.gep(room, [ir.Constant(ir.IntType(32), 1)])
        return builder.add(builder.mul(builder.load(room), ir.Constant(NUMBER, 10**9)), builder.load(rest))

    return types.int64(types.int64), code


@intrinsic
def entered(context, address, given, place, result):
    """Call machine code (`ObjectFunction`) with the words from a place on; what it says: 0 where all went well."""
    del context, address

    def code(context, builder, signature, args):
        address, words, place, found = args
        _, kind, _, other = signature.args
        word = NUMBER.as_pointer()
        function = builder.inttoptr(address, ir.FunctionType(ir.IntType(32), [word] * 3).as_pointer())
        to = _begins(context, builder, other, found, ir.Constant(NUMBER, RESULT))
        error = builder.gep(to, [ir.Constant(NUMBER, 1)])
        said = builder.call(function, [to, error, _begins(context, builder, kind, words, place)])
        return builder.sext(said, NUMBER)

    return types.int64(types.int64, given, types.int64, result), code


def _outside(builder, kind, name):
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@numba.njit(nogil=True)
def lock(h):
    """Wait until nobody else works on the sets."""
    turns = 0
    while not swapped(h, LOCK):
        while looked(h, LOCK):
            turns += 1
            if turns % SPINS == 0:
                others_first()


@numba.njit(nogil=True)
def open_phases(count, inputs, stamps, pipes, readers, *sets):
    """Begin so many phases; the events of the first pipes, which are the inputs, are there."""
    h = sets[0]
    mask = stamps.shape[1] - 1
    lock(h)
    for _ in range(count):
        begin(sets)
        phase = h[BEGUN]
        for pipe in range(inputs):
            if stamps[pipe, phase & mask] == phase:
                for reader in range(pipes[pipe, READERS], pipes[pipe + 1, READERS]):
                    say(sets, readers[reader], phase)
        opened(sets)
    released(h, LOCK)
    return 0


@numba.njit(nogil=True)
def run_vertices(
    mine, phases, columns, small, vertices, words, reads, writes, states, counts, executions, pipes, fields, readers,
    stamps, values, *sets,
):  # fmt: skip
    """Run what is ready until there is nothing, or for some time; why it comes back.

    Parameters
    ----------
    mine, phases, columns, small: the thread's numbers, the phases that it runs, its columns, and these as bytes.
    vertices, words, reads, writes, states, counts, executions: of the vertices.
    pipes, fields, readers, stamps, values: of the pipes.
    """
    h, queue = sets[0], sets[-1]
    came = nanoseconds(mine[CLOCK])
    now = came
    vertex, count = 0, 0
    if mine[MADE]:  # by Python
        vertex, count = mine[VERTEX], mine[COUNT]
        mine[MADE] = 0
        carried(vertex, phases, columns, small, vertices, writes, counts, pipes, fields, stamps, values)
    lock(h)
    h[INSIDE] += 1
    while True:
        if vertex:
            spread(sets, vertex, phases, columns, vertices, writes, counts, pipes, readers)
            finished(sets, vertex, phases, count)
            executions[vertex] += count
        late = now - came > PATIENT or (now - came > ALONE and h[TAIL] - h[HEAD] > 1 and h[ASLEEP] + h[ABSENT] > 0)
        vertex = 0
        if not (h[STOPPED] or late):
            vertex = taken(h, queue)
        if not vertex:
            if not (h[STOPPED] or late) and h[INSIDE] > 1:  # what others do may make something ready
                released(h, LOCK)
                waits = now
                while now - waits < WAITS and looked(h, HEAD) == looked(h, TAIL) and looked(h, INSIDE) > 1:
                    others_first()
                    now = nanoseconds(mine[CLOCK])
                lock(h)
                if h[HEAD] != h[TAIL]:
                    continue
            h[INSIDE] -= 1
            released(h, LOCK)
            return LATE if late else IDLE
        count = full_phases(sets, vertex, phases, vertices[vertex, BATCH])
        live = count
        while live and (
            phases[live - 1] > h[FAILED] or (phases[live - 1] == h[FAILED] and vertices[vertex, CELL] >= h[PLACE])
        ):
            live -= 1
        released(h, LOCK)
        gathered(vertex, live, phases, columns, small, vertices, words, reads, pipes, fields, stamps, values)
        for output in range(vertices[vertex, OUTPUTS], vertices[vertex + 1, OUTPUTS]):
            counts[output] = 0
        if live:
            kept(vertex, vertices, states, False)
            if not vertices[vertex, CODE] or entered(vertices[vertex, CODE], words, vertices[vertex, WORDS], mine):
                mine[RESULT] = 1
            if mine[RESULT]:
                kept(vertex, vertices, states, True)
                mine[VERTEX], mine[COUNT], mine[LIVE] = vertex, count, live
                lock(h)
                h[INSIDE] -= 1
                released(h, LOCK)
                return BAD
            carried(vertex, phases, columns, small, vertices, writes, counts, pipes, fields, stamps, values)
        begun, now = now, nanoseconds(mine[CLOCK])
        if now - begun > LONG:
            vertices[vertex, BATCH] = max(1, count * LONG // (now - begun))
        elif count >= vertices[vertex, BATCH]:
            vertices[vertex, BATCH] = min(2 * count, vertices[0, BATCH])
        lock(h)


@numba.njit(nogil=True)
def gathered(vertex, live, phases, columns, small, vertices, words, reads, pipes, fields, stamps, values):
    """The inputs of a vertex in these phases, in the columns of a thread; its words say where they are."""
    mask, column = stamps.shape[1] - 1, 0
    start, stop = vertices[vertex, INPUTS], vertices[vertex + 1, INPUTS]
    for number in range(start, stop):
        for field in range(pipes[reads[number], FIELDS], pipes[reads[number] + 1, FIELDS]):
            if fields[field] == 8:
                for i in range(live):
                    columns[column, i] = values[field, phases[i] & mask]
            else:
                for i in range(live):
                    small[column, i] = values[field, phases[i] & mask]
            column += 1
    for number in range(start, stop):
        for i in range(live):
            small[column, i] = stamps[reads[number], phases[i] & mask] == phases[i]
        column += 1
    place = vertices[vertex, WORDS]
    words[place], words[place + 1] = 0, live
    place += vertices[vertex, COLUMNS]
    first = columns.ctypes.data
    for i in range((vertices[vertex + 1, WORDS] - place) >> 1):
        words[place + 2 * i] = first + 8 * STRIDE * i


@numba.njit(nogil=True)
def kept(vertex, vertices, states, back):
    """Copy the state of a vertex aside, or put it back."""
    for part in range(vertices[vertex, STATES], vertices[vertex + 1, STATES]):
        size = (states[part, 1],)
        state = numba.carray(placed(states[part, 0], BYTE), size)
        aside = numba.carray(placed(states[part, 2], BYTE), size)
        for i in range(states[part, 1]):
            if back:
                state[i] = aside[i]
            else:
                aside[i] = state[i]


@numba.njit(nogil=True)
def carried(vertex, phases, columns, small, vertices, writes, counts, pipes, fields, stamps, values):
    """Put what a vertex has emitted on its pipes."""
    mask = stamps.shape[1] - 1
    first, stop = vertices[vertex, OUTPUTS], vertices[vertex + 1, OUTPUTS]
    for output in range(first, stop):
        pipe, column, when = writes[output, 0], writes[output, 1], writes[output, 2]
        for field in range(pipes[pipe, FIELDS], pipes[pipe + 1, FIELDS]):
            if fields[field] == 8:
                for i in range(counts[output]):
                    values[field, phases[columns[when, i]] & mask] = columns[column, i]
            else:
                for i in range(counts[output]):
                    values[field, phases[columns[when, i]] & mask] = small[column, i]
            column += 1
        for i in range(counts[output]):
            phase = phases[columns[when, i]]
            stamps[pipe, phase & mask] = phase


@numba.njit(nogil=True)
def spread(sets, vertex, phases, columns, vertices, writes, counts, pipes, readers):
    """Its messages."""
    for output in range(vertices[vertex, OUTPUTS], vertices[vertex + 1, OUTPUTS]):
        pipe, when = writes[output, 0], writes[output, 2]
        for reader in range(pipes[pipe, READERS], pipes[pipe + 1, READERS]):
            for i in range(counts[output]):
                say(sets, readers[reader], phases[columns[when, i]])
