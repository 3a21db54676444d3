"""What the dataflow executor costs beside what its vertices do, and what threads bring.

    python experiments/bench_dataflow.py [--only compiled] [--threads 2]

- *scheduling*: microseconds of CPU a vertex and phase, for vertices that do nothing, beside the reference executor;
  vertices of Python, and of machine code.
- *rates*: the same where only a part of the sources has news in a phase; vertices run in proportion.
- *size*: chains and phases in flight, up to 10 000 vertices and 1 000 phases: the cost of a pair stays the same.
- *threads*: wall time with one thread and with two, where a vertex hashes a buffer, which gives up Python's lock.
- *compiled*: the same where a vertex is machine code that computes.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from statistics import median

import workbench as wb
from workbench.builder import Builder, BuiltStream
from workbench.core.domain import INT
from workbench.core.function import user_function
from workbench.core.pipeline import Pipeline
from workbench.executors.dataflow import executor
from workbench.executors.dataflow.executor import AHEAD, Dataflow
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.manager import ThreadManager
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import Group
from workbench.processors.passthrough import Passthrough

TURNS = 5
Steps = Sequence[Mapping[str, int]]


def chain(length: int) -> Pipeline:
    """Vertices that do nothing, one behind the other."""
    builder = Builder("chain")
    stream = builder.input("x", INT)
    for _ in range(length):
        stream = Passthrough()(stream)
    return builder.build(stream)


def side_by_side(width: int, depth: int, *functions: Callable[[int], int]) -> Pipeline:
    """So many chains, each with an input of its own; what the first one says comes out.

    Vertices do nothing, or apply a function for each place in a chain.
    """
    builder = Builder("lanes")
    outputs: dict[str, BuiltStream] = {}
    steps = [ApplyFunction(user_function(f, result=INT, name=f"{f.__name__}{i}")) for i, f in enumerate(functions)]
    for i in range(width):
        stream = builder.input(f"x{i}", INT)
        for j in range(depth):
            stream = (steps[j] if steps else Passthrough())(stream)
        outputs.setdefault("y", stream)
    return builder.build(outputs)


def in_groups(count: int, length: int) -> Pipeline:
    """A chain of so many groups of vertices that do nothing."""
    builder = Builder("groups")
    stream = builder.input("x", INT)
    for _ in range(count):
        stream = Group(chain(length))(stream)
    return builder.build(stream)


def hashing(depth: int, width: int, microseconds: float) -> Pipeline:
    """Chains of vertices that hash a buffer, which takes so long."""
    data = bytes(int(microseconds / per_byte()))

    def work(value: int) -> int:
        hashlib.sha256(data)
        return value

    return side_by_side(width, depth, *[work] * depth)


def per_byte() -> float:
    """Microseconds to hash a byte on this machine."""
    data = bytes(1 << 20)
    return min(clocked(partial(hashlib.sha256, data), time.perf_counter) for _ in range(5)) / len(data) * 1e6


def computing(depth: int, microseconds: float) -> Pipeline:
    """A chain of called pipelines that divide great numbers again and again, which takes about so long."""
    great = partial(math.fmod, 1e300, 3e-300)
    each = min(clocked(lambda: [great() for _ in range(1000)], time.perf_counter) for _ in range(TURNS)) * 1e3
    count = round(float(f"{max(microseconds / each, 1):.1g}"))  # roughly: code is kept for the next time
    divides = [f"v{i + 1} = divided(v{i})" for i in range(count)]
    calls = [f"w{i + 1} = vertex(w{i})" for i in range(depth)]
    source = wb.parse(
        "\n".join([
            "function divided(v) = ((v + 1.0) * 1e300) mod 3e-300",
            "pipeline vertex(v0: float) -> float {", *divides, f"return v{count}", "}",
            "pipeline computing(w0: float) -> float {", *calls, f"return w{depth}", "}",
        ])
    )  # fmt: skip
    return source.get("computing").pipeline


def clocked(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Seconds that a call takes."""
    begin = clock()
    work()
    return clock() - begin


def drained(outputs: Iterator[object]) -> None:
    """Take what comes out."""
    for _ in outputs:
        pass


def scheduling() -> None:
    """What a pair costs."""
    print("\nscheduling: us of CPU a vertex and phase; vertices do nothing")
    print(f"{'graph':<22} {'reference':>9} {'dataflow':>9} {'one phase at a time':>20} {'compiled':>9}")
    for name, program, size, count in (
        ("chain of 10", chain(10), 10, 20_000),
        ("chain of 100", chain(100), 100, 2_000),
        ("20 chains of 5", side_by_side(20, 5), 100, 2_000),
        ("200 chains of 5", side_by_side(200, 5), 1_000, 400),
    ):
        steps: Steps = [dict.fromkeys((i for i, _ in program.inputs), k) for k in range(count)]
        reference = Reference(program).emitted(iter(steps))
        runs = [reference, Dataflow(program).streamed(steps), Dataflow(program, batch=1).streamed(steps)]
        runs.append(warm(program).streamed(steps))
        found = [clocked(partial(drained, run), time.process_time) / count / size * 1e6 for run in runs]
        print(f"{name:<22} {found[0]:>9.2f} {found[1]:>9.2f} {found[2]:>20.2f} {found[3]:>9.2f}", flush=True)
    program, count = in_groups(10, 10), 20_000
    steps = [{"x": k} for k in range(count)]
    for what, each in (("group", Dataflow(program, groups=True)), ("compiled group", warm(program))):
        seconds = clocked(partial(drained, each.streamed(steps)), time.process_time)
        micros = seconds / count / 10 * 1e6
        print(f"10 groups of 10: {micros:.2f} a {what} and phase, {micros / 10:.2f} a processor in it")


def warm(program: Pipeline, ahead: int = AHEAD, manager: ThreadManager | None = None) -> Dataflow:
    """An executor whose vertices are machine code, which has been made."""
    running = Dataflow(program, manager, compiled=True, ahead=ahead)
    while not running.runs_machine_now:
        drained(running.streamed([dict.fromkeys((name for name, _ in program.inputs), 1)] * 1000))
    return running


def rates() -> None:
    """Only what has news is run."""
    print("\nrates: 200 chains of 5, so many have news in a phase")
    print(f"{'rate':>6} {'executions':>11} {'of all':>7} {'us a phase':>11} {'us an execution':>16}")
    width, depth, count = 200, 5, 1_000
    program = side_by_side(width, depth)
    for rate in (0.005, 0.01, 0.1, 1.0):
        news = max(1, int(width * rate))
        steps = [{f"x{(k * 7 + j) % width}": k for j in range(news)} for k in range(count if rate < 1 else count // 5)]
        running = Dataflow(program)
        seconds = clocked(partial(drained, running.streamed(steps)), time.process_time)
        run = running.executions.total() - running.phases
        share = run / (len(steps) * width * depth)
        phase = seconds / len(steps) * 1e6
        print(f"{rate:>6.1%} {run:>11,} {share:>7.1%} {phase:>11.1f} {seconds / run * 1e6:>16.2f}")


def size() -> None:
    """Many vertices and phases; in machine code without what a stream costs that has one step."""
    print("\nsize: us of CPU a pair in a chain; in Python one phase at a time, and all of them in flight")
    print(f"{'vertices':>9} {'in flight':>9} {'Python':>8} {'compiled':>9}")
    for vertices, phases in ((100, 10), (100, 1_000), (10_000, 10), (10_000, 100), (1_000, 1_000), (10_000, 1_000)):
        program = chain(vertices)
        running = Dataflow(program, ahead=phases, batch=1)
        steps = [{"x": k} for k in range(phases)]
        seconds = clocked(partial(drained, running.streamed(steps)), time.process_time)
        machine, many = warm(program, phases), [{"x": k} for k in range(max(2 * phases, 4_000_000 // vertices))]
        first, last = (clocked(partial(drained, machine.streamed(p)), time.process_time) for p in (many[:1], many))
        python, compiled = seconds / vertices / phases * 1e6, (last - first) / vertices / len(many) * 1e6
        print(f"{vertices:>9,} {phases:>9,} {python:>8.2f} {compiled:>9.3f}", flush=True)


def threads(most: int, what: str) -> None:
    """What threads bring; bare threads that hash as much, in the same turns, tell what the machine gives."""
    counts = [n for n in (2, 4, 8, 16) if n <= most]
    print(f"\nthreads: a chain of 8 vertices that {what}; times as fast as one thread, the median of")
    print(f"{TURNS} turns; 'bare': threads that only hash, in the same turns; 'CPU': of all threads, beside one's")
    heads = " ".join(f"{f'{n} threads':>10} {'bare':>5} {'CPU':>5}" for n in counts)
    print(f"{'us a vertex':>12} {'one thread, us a pair':>22} {heads}")
    for microseconds in (5, 20, 50, 200, 1000) if what == "hash" else (5, 20, 50, 100):
        count = max(50, int(60_000 / microseconds))
        with ThreadManager(0) as alone, ThreadManager(most - 1) as manager:
            one, several = (working(what, 8, microseconds, each) for each in (alone, manager))
            turns = []
            for _ in range(TURNS):
                turns.append([timed(one, alone, count, microseconds)])
                for n in counts:
                    manager.limit = n - 1
                    turns[-1].append(timed(several, manager, count, microseconds))
        found = []
        for i in range(1, len(counts) + 1):
            found.append(median(turn[0][0] / turn[i][0] for turn in turns))
            found.append(median(turn[0][2] / turn[i][2] for turn in turns))
            found.append(median(turn[i][1] / turn[0][1] for turn in turns))
        shown = " ".join(f"{a:>10.2f} {b:>5.2f} {c:>5.2f}" for a, b, c in zip(*[iter(found)] * 3, strict=True))
        print(f"{microseconds:>12} {median(turn[0][0] for turn in turns):>22.1f} {shown}", flush=True)


def working(what: str, depth: int, microseconds: float, manager: ThreadManager, width: int = 1) -> Dataflow:
    """Chains of vertices that take about so long: of Python, that hash, or one of machine code, which has been made."""
    if what == "hash":
        return Dataflow(hashing(depth, width, microseconds), manager)
    executor.WARM_UP = executor.UNCACHED_WARM_UP = 0
    return warm(computing(depth, microseconds), manager=manager)


def timed(running: Dataflow, manager: ThreadManager, count: int, microseconds: float) -> tuple[float, float, float]:
    """Microseconds of a vertex and phase, and of CPU, in so many phases; of bare threads that hash as long."""
    names, n = [name for name, _ in running.flat.inputs], 1 + (manager.limit or 0)
    steps: Steps = [dict.fromkeys(names, k) for k in range(count)]
    data, pairs = bytes(int(microseconds / per_byte())), count * (len(running.vertices.names) - 1)
    begin = time.process_time()
    wall = clocked(partial(drained, running.streamed(steps)), time.perf_counter)
    spent = time.process_time() - begin

    def hash_all() -> None:
        for _ in range(pairs // n):
            hashlib.sha256(data)

    def bare() -> None:
        for task in [manager.start(hash_all) for _ in range(n)]:
            task.wait_for()

    alone = clocked(bare, time.perf_counter)
    return wall / pairs * 1e6, spent / pairs * 1e6, alone / pairs * 1e6


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description="The dataflow executor: costs, rates, sizes, threads.")
    parser.add_argument("--only", choices=["scheduling", "rates", "size", "threads", "compiled"])
    parser.add_argument("--threads", type=int, default=2, help="the most threads (default: 2)")
    args = parser.parse_args()
    for name, part in (("scheduling", scheduling), ("rates", rates), ("size", size)):
        if args.only in (None, name):
            part()
    for name, what in (("threads", "hash"), ("compiled", "compute")):
        if args.only in (None, name):
            threads(args.threads, what)


if __name__ == "__main__":
    main()
