"""Compare this checkout with another one, byte for byte, on random runs (`tests/runner/random_runs.py`).

    python scripts/compare_trees.py ../before --runs 5000

Each checkout makes the runs in a process of its own. What a run writes and says, and its exit code, are the same; else
they are printed, the run's folders stay, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHOWN = 300
"""Characters of what differs that are shown."""


class Tree:
    """A checkout that makes runs."""

    def __init__(self, root: Path, folder: Path) -> None:
        folder.mkdir()
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "tests" / "runner" / "random_runs.py")], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)},
        )  # fmt: skip

    def begin(self, seed: int) -> None:
        """Make this run."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{seed}\n")
        self._process.stdin.flush()

    def outcome(self) -> dict[str, Any]:
        """What the run has left."""
        assert self._process.stdout is not None
        return dict(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        """Make no run any more."""
        self._process.communicate()


def compare(other: Path, seeds: Sequence[int], folder: Path) -> int:
    """Make the runs of these seeds with both; the number of those that differ, each of which is printed."""
    trees, different = [Tree(root, folder / name) for root, name in ((other, "before"), (ROOT, "after"))], 0
    try:
        for seed in seeds:
            for tree in trees:
                tree.begin(seed)
            before, after = [tree.outcome() for tree in trees]
            for name in sorted({*before, *after}):
                if before.get(name) != after.get(name):
                    print(f"seed {seed}, {name}:\n  {_end(before.get(name))}\n  {_end(after.get(name))}", flush=True)
            different += before != after
            for name in ("before", "after") if before == after else ():
                shutil.rmtree(folder / name / str(seed))
    finally:
        for tree in trees:
            tree.close()
    return different


def _end(text: object) -> str:
    return repr(text)[-SHOWN:]


def formats_of(seed: int) -> set[str]:
    """The formats of the logs and of the output of a run."""
    from tests.runner.random_runs import random_run

    run = random_run(seed, large=True)
    return {run.form.partition(".")[0], run.output}


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="the root of the other checkout")
    parser.add_argument("--runs", type=int, default=2000, help="how many (default: 2000)")
    parser.add_argument("--seed", type=int, default=0, help="the first one")
    parser.add_argument(
        "--without", action="append", default=[], metavar="FORMAT",
        help="pass over runs with a format that the other checkout does not have; repeatable",
    )  # fmt: skip
    args = parser.parse_args()
    sys.path.append(str(ROOT))
    every = range(args.seed, args.seed + args.runs)
    seeds = [seed for seed in every if formats_of(seed).isdisjoint(args.without)]
    folder = Path(tempfile.mkdtemp(prefix="workbench-"))
    found = compare(args.other.resolve(), seeds, folder)
    print(f"{len(seeds)} runs, {found} differ" + (f"; see {folder}" if found else ""))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
