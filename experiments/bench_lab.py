"""Benchmark: what the lab itself costs for each point, on the local pool and on Spark's `local[2]`.

    python experiments/bench_lab.py [--points 10000] [--jobs 2] [--rounds 1] [--checkout FOLDER ...]

Wall-clock and CPU milliseconds per point of a sweep over points that do nothing, measured in kept processes. The CPU
time is that of all processes: the caller, Java, Spark's Python workers, supervisors, and the processes in which the
points run. Spark's session is there before the clock starts, nothing else is: there is no supervisor yet, and Java has
compiled nothing. With several checkouts of workbench each is measured in turn, in processes of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = """
from workbench.lab import *
suite = Suite("nothing", "Points that do nothing")

@suite.experiment(Region(n=range({points})), kept=True, same=Output("n", kind=int))
def nothing(n):
    return {{"same": n}}
"""
ROOT = Path(__file__).resolve().parent.parent


def main() -> None:
    """Measure, and print a line for each sweep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--checkout", type=Path, nargs="*", default=[ROOT])
    parser.add_argument("--one", choices=["local", "spark"], help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.one:
        sweep(args.one, args.points, args.jobs)
        return
    for _ in range(args.rounds):
        for way in ("local", "spark"):
            for checkout in args.checkout:
                command = [sys.executable, __file__, "--one", way]
                command += ["--points", str(args.points), "--jobs", str(args.jobs)]
                env = {**os.environ, "PYTHONPATH": str(checkout.resolve())}
                print(f"{checkout.resolve().name:>12} ", end="", flush=True)
                subprocess.run(command, check=True, env=env, cwd=checkout)


def sweep(way: str, points: int, jobs: int) -> None:
    """One sweep, in this process and what it starts."""
    from workbench.lab import local_sweep, spark
    from workbench.lab.measure.tree import own_cpu
    from workbench.lab.plan import Lab, Origin, Selection, tasks
    from workbench.lab.store import ResultStore
    from workbench.lab.suite_search import load_suite

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "experiments" / "nothing.py"
        path.parent.mkdir()
        path.write_text(SUITE.format(points=points))
        lab = Lab(load_suite(path), path, ResultStore(Path(folder) / "data", "nothing"))
        todo, origin = tasks(lab, lab.code(), Selection()), Origin.of(lab)
        session = spark.session(f"local[{jobs}]") if way == "spark" else None
        cpu, begin = own_cpu(), time.monotonic()
        made = (
            local_sweep.sweep(lab, todo, origin, jobs) if session is None else spark.sweep(lab, todo, origin, session)
        )
        inside = sum(result.measured.cpu_seconds for result in made)
        wall, cpu = time.monotonic() - begin, own_cpu() - cpu
        wall, cpu, inside = (seconds / points * 1e3 for seconds in (wall, cpu, inside))
        print(
            f"{way:>6}, {points} points: {wall:.2f} ms of wall-clock time and {cpu:.2f} ms of CPU time for each, "
            f"{inside:.2f} ms of it the point's own; load {os.getloadavg()[0]:.1f}",
            flush=True,
        )
        if session is not None:
            session.stop()


if __name__ == "__main__":
    main()
