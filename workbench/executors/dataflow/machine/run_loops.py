"""The threads that run compiled vertices without Python: listing 1 on real vertices. Imports numba.

The rule of this module: a thread accesses the sets only while it has the lock; no other thread meanwhile accesses the
state of its vertex, or the pipes that it reads and writes, in its phases. A pipe has a row of words for each field, and
a row with the phase to which each entry belongs.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# ruff: noqa: ARG001
# numba infers the types, and the arguments of intrinsics; nothing here needs its runtime.

from __future__ import annotations

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

from workbench.executors.compiled.code.kernels import view_address
from workbench.executors.dataflow.machine import layout as at
from workbench.executors.dataflow.machine.set_loops import (
    begin,
    finish_phases,
    full_phases,
    open_phase,
    send,
    take_vertex,
)

SPINS = 64
"""Attempts to take a lock before the core is yielded."""
LONG, PATIENT, ALONE, WAITS = 50_000, 2_000_000, 20_000, 30_000
"""Times in nanoseconds: the target of a batch; after which a thread returns to Python; the same where others could run
what is ready; for which an idle thread waits for work."""

NUMBER, BYTE = ir.IntType(64), types.uint8


def _begins(context, builder, kind, array, offset):
    """Return the address of an array's words from an offset on."""
    return builder.gep(make_array(kind)(context, builder, array).data, [offset])


@intrinsic
def try_set(context, array, offset):
    """Atomically set a word from 0 to 1, with acquire semantics; return whether it was 0."""
    del context

    def code(context, builder, signature, args):
        where = _begins(context, builder, signature.args[0], *args)
        zero, one = ir.Constant(NUMBER, 0), ir.Constant(NUMBER, 1)
        return builder.extract_value(builder.cmpxchg(where, zero, one, "acquire", "monotonic"), 1)

    return types.boolean(array, types.int64), code


@intrinsic
def release(context, array, offset):
    """Set a word to 0, with release semantics."""
    del context

    def code(context, builder, signature, args):
        where = _begins(context, builder, signature.args[0], *args)
        builder.store_atomic(ir.Constant(NUMBER, 0), where, "release", 8)
        return context.get_dummy_value()

    return types.void(array, types.int64), code


@intrinsic
def peek(context, array, offset):
    """Read a word that another thread may be writing."""
    del context

    def code(context, builder, signature, args):
        return builder.load_atomic(_begins(context, builder, signature.args[0], *args), "monotonic", 8)

    return types.int64(array, types.int64), code


@intrinsic
def yield_core(context):
    """Let other threads have the core."""
    del context

    def code(context, builder, _, __):
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(_outside(builder, kind, "sched_yield"), [])
        return context.get_dummy_value()

    return types.void(), code


@intrinsic
def nanoseconds(context, clock):
    """Return the time of a system clock."""
    del context, clock

    def code(_, builder, __, args):
        kind = ir.FunctionType(ir.IntType(32), [ir.IntType(32), NUMBER.as_pointer()])
        with builder.goto_entry_block():
            timespec = builder.alloca(NUMBER, 2)
        builder.call(_outside(builder, kind, "clock_gettime"), [builder.trunc(args[0], ir.IntType(32)), timespec])
        rest = builder.gep(timespec, [ir.Constant(ir.IntType(32), 1)])
        return builder.add(builder.mul(builder.load(timespec), ir.Constant(NUMBER, 10**9)), builder.load(rest))

    return types.int64(types.int64), code


@intrinsic
def call_code(context, address, words_type, offset, result):
    """Call machine code (`ObjectFunction`) with the words from an offset on; return its status: 0 on success."""
    del context, address

    def code(context, builder, signature, args):
        address, words, offset, numbers = args
        _, kind, _, other = signature.args
        word = NUMBER.as_pointer()
        function = builder.inttoptr(address, ir.FunctionType(ir.IntType(32), [word] * 3).as_pointer())
        to = _begins(context, builder, other, numbers, ir.Constant(NUMBER, at.RESULT))
        error = builder.gep(to, [ir.Constant(NUMBER, 1)])
        status = builder.call(function, [to, error, _begins(context, builder, kind, words, offset)])
        return builder.sext(status, NUMBER)

    return types.int64(types.int64, words_type, types.int64, result), code


def _outside(builder, kind, name):
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


@numba.njit(nogil=True)
def lock(h):
    """Wait for the lock of the sets."""
    turns = 0
    while not try_set(h, at.LOCK):
        while peek(h, at.LOCK):
            turns += 1
            if turns % SPINS == 0:
                yield_core()


@numba.njit(nogil=True)
def open_phases(count, inputs, of_pipes, sets):
    """Begin `count` phases; the events of the first pipes, which are the inputs, are there."""
    h, stamps, pipes = sets.head, of_pipes.stamps, of_pipes.pipes
    mask = stamps.shape[1] - 1
    lock(h)
    for _ in range(count):
        begin(sets)
        phase = h[at.BEGUN]
        for pipe in range(inputs):
            if stamps[pipe, phase & mask] == phase:
                for reader in range(pipes[pipe, at.READERS], pipes[pipe + 1, at.READERS]):
                    send(sets, of_pipes.readers[reader], phase)
        open_phase(sets)
    release(h, at.LOCK)
    return 0


@numba.njit(nogil=True)
def run_vertices(thread, of_vertices, of_pipes, sets):
    """Run ready vertices until there are none, or for some time; return the reason for stopping."""
    h, numbers, vertices = sets.head, thread.numbers, of_vertices.vertices
    came = nanoseconds(numbers[at.CLOCK])
    now = came
    vertex, count = 0, 0
    if numbers[at.MADE]:  # outputs come from Python
        vertex, count = numbers[at.VERTEX], numbers[at.COUNT]
        numbers[at.MADE] = 0
        put_outputs(vertex, thread, of_vertices, of_pipes)
    lock(h)
    h[at.INSIDE] += 1
    while True:
        if vertex:
            send_messages(vertex, thread, of_vertices, of_pipes, sets)
            finish_phases(sets, vertex, thread.phases, count)
            of_vertices.executions[vertex] += count
        late = now - came > PATIENT
        late = late or (now - came > ALONE and h[at.TAIL] - h[at.HEAD] > 1 and h[at.ASLEEP] + h[at.ABSENT] > 0)
        vertex = 0
        if not (h[at.STOPPED] or late):
            vertex = take_vertex(sets)
        if not vertex:
            if not (h[at.STOPPED] or late) and h[at.INSIDE] > 1:  # work of others may make something ready
                release(h, at.LOCK)
                waits = now
                while now - waits < WAITS and peek(h, at.HEAD) == peek(h, at.TAIL) and peek(h, at.INSIDE) > 1:
                    yield_core()
                    now = nanoseconds(numbers[at.CLOCK])
                lock(h)
                if h[at.HEAD] != h[at.TAIL]:
                    continue
            h[at.INSIDE] -= 1
            release(h, at.LOCK)
            return at.LATE if late else at.IDLE
        count = full_phases(sets, vertex, thread.phases, vertices[vertex, at.BATCH])
        live = count_live(thread.phases, count, h, vertices[vertex, at.CELL])
        release(h, at.LOCK)
        gather_inputs(vertex, live, thread, of_vertices, of_pipes)
        for output in range(vertices[vertex, at.OUTPUTS], vertices[vertex + 1, at.OUTPUTS]):
            of_vertices.counts[output] = 0
        if live:
            copy_state(vertex, vertices, of_vertices.states, False)
            code = vertices[vertex, at.CODE]
            if not code or call_code(code, of_vertices.words, vertices[vertex, at.WORDS], numbers):
                numbers[at.RESULT] = 1
            if numbers[at.RESULT]:
                copy_state(vertex, vertices, of_vertices.states, True)
                numbers[at.VERTEX], numbers[at.COUNT], numbers[at.LIVE] = vertex, count, live
                lock(h)
                h[at.INSIDE] -= 1
                release(h, at.LOCK)
                return at.BAD
            put_outputs(vertex, thread, of_vertices, of_pipes)
        start, now = now, nanoseconds(numbers[at.CLOCK])
        if now - start > LONG:
            vertices[vertex, at.BATCH] = max(1, count * LONG // (now - start))
        elif count >= vertices[vertex, at.BATCH]:
            vertices[vertex, at.BATCH] = min(2 * count, vertices[0, at.BATCH])
        lock(h)


@numba.njit(nogil=True)
def count_live(phases, count, h, cell):
    """Return how many of the phases precede the failure, for a vertex that begins with this processor."""
    while count and (phases[count - 1] > h[at.FAILED] or (phases[count - 1] == h[at.FAILED] and cell >= h[at.PLACE])):
        count -= 1
    return count


@numba.njit(nogil=True)
def gather_inputs(vertex, live, thread, of_vertices, of_pipes):
    """Copy the inputs of a vertex in these phases to the columns of a thread; its words get their addresses."""
    phases, columns, small = thread.phases, thread.columns, thread.small
    vertices, words, reads = of_vertices.vertices, of_vertices.words, of_vertices.reads
    pipes, stamps, values = of_pipes.pipes, of_pipes.stamps, of_pipes.values
    mask, column = stamps.shape[1] - 1, 0
    start, stop = vertices[vertex, at.INPUTS], vertices[vertex + 1, at.INPUTS]
    for number in range(start, stop):
        for field in range(pipes[reads[number], at.FIELDS], pipes[reads[number] + 1, at.FIELDS]):
            if of_pipes.fields[field] == 8:
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
    offset = vertices[vertex, at.WORDS]
    words[offset], words[offset + 1] = 0, live
    offset += vertices[vertex, at.COLUMNS]
    first = columns.ctypes.data
    for i in range((vertices[vertex + 1, at.WORDS] - offset) >> 1):
        words[offset + 2 * i] = first + 8 * at.STRIDE * i


@numba.njit(nogil=True)
def copy_state(vertex, vertices, states, back):
    """Save the state of a vertex, or restore it."""
    for part in range(vertices[vertex, at.STATES], vertices[vertex + 1, at.STATES]):
        size = (states[part, 1],)
        state = numba.carray(view_address(states[part, 0], BYTE), size)
        aside = numba.carray(view_address(states[part, 2], BYTE), size)
        for i in range(states[part, 1]):
            if back:
                state[i] = aside[i]
            else:
                aside[i] = state[i]


@numba.njit(nogil=True)
def put_outputs(vertex, thread, of_vertices, of_pipes):
    """Put the output of a vertex on its pipes."""
    phases, columns, small = thread.phases, thread.columns, thread.small
    vertices, writes, counts = of_vertices.vertices, of_vertices.writes, of_vertices.counts
    pipes, stamps, values = of_pipes.pipes, of_pipes.stamps, of_pipes.values
    mask = stamps.shape[1] - 1
    for output in range(vertices[vertex, at.OUTPUTS], vertices[vertex + 1, at.OUTPUTS]):
        pipe, column, when = writes[output, 0], writes[output, 1], writes[output, 2]
        for field in range(pipes[pipe, at.FIELDS], pipes[pipe + 1, at.FIELDS]):
            if of_pipes.fields[field] == 8:
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
def send_messages(vertex, thread, of_vertices, of_pipes, sets):
    """Send the messages of a vertex."""
    vertices, writes, pipes = of_vertices.vertices, of_vertices.writes, of_pipes.pipes
    for output in range(vertices[vertex, at.OUTPUTS], vertices[vertex + 1, at.OUTPUTS]):
        pipe, when = writes[output, 0], writes[output, 2]
        for reader in range(pipes[pipe, at.READERS], pipes[pipe + 1, at.READERS]):
            for i in range(of_vertices.counts[output]):
                send(sets, of_pipes.readers[reader], thread.phases[thread.columns[when, i]])
