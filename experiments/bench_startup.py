"""Benchmark: what small commands cost before they do anything, in CPU seconds of all their processes.

    python experiments/bench_startup.py [--rounds 10]

Each command runs once for what Python and workbench keep (compiled modules, the tables of the grammar), and then
`--rounds` times; the least of these counts. The ratio is to `python -c pass` of the same environment, of which a part
belongs to neither Python nor workbench: `site` runs what installed packages want done at every start, which
`python -S` leaves out.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

TEXTS = {"wrong": "pipeline p(x: int) -> int { return x + + }", "small": "pipeline p(x: bool) -> bool { return not x }"}
LOG = "x\ntrue\nfalse\n"
WORKBENCH = ("-m", "workbench.cli.main")
COMMANDS: dict[str, tuple[str, ...]] = {
    "python -S -c pass": ("-S", "-c", "pass"),
    "python -c pass": ("-c", "pass"),
    "--help": (*WORKBENCH, "--help"),
    "check --help": (*WORKBENCH, "check", "--help"),
    "check, a mistake in the text": (*WORKBENCH, "check", "wrong.pipe"),
    "check": (*WORKBENCH, "check", "small.pipe"),
    "check --engine explicit": (*WORKBENCH, "check", "small.pipe", "--engine", "explicit"),
    "run": (*WORKBENCH, "run", "small.pipe", "--input", "log.csv"),
}
BARE = "python -c pass"


def spent(arguments: tuple[str, ...], folder: Path) -> float:
    """CPU seconds of a command and of all the processes that it waits for."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=env, capture_output=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for stem, text in TEXTS.items():
            (folder / f"{stem}.pipe").write_text(text, encoding="utf-8")
        (folder / "log.csv").write_text(LOG, encoding="utf-8")
        first = {shown: spent(arguments, folder) for shown, arguments in COMMANDS.items()}
        best = {shown: min(spent(a, folder) for _ in range(rounds)) for shown, a in COMMANDS.items()}
    print("| command | CPU s | of a bare Python's | the first time |\n|---|---|---|---|")
    for shown, seconds in best.items():
        print(f"| {shown} | {seconds:.3f} | {seconds / best[BARE]:.1f} | {first[shown]:.3f} |")


if __name__ == "__main__":
    main()
