"""Search for new random cases until the time is over. `make fuzz` runs it.

Its rules: a round tries random pipelines on all backends, then every property of the tests, with examples that no other
run has tried; the first round that finds something ends the search and shows it, small, as a case that can be kept. A
round is decided by its number, so a search can be made again. Ctrl-C ends it well.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections.abc import Sequence

NOTHING_FOUND, FOUND = 0, 1
STOPPED = (2, 130, -signal.SIGINT)
"""How pytest, workbench and Python itself end when they are interrupted."""
PIPELINES, RULES = "200", "100"
"""Random pipelines and sets of rules in a round, besides the properties."""
LONGEST = 1800
"""Seconds for a test: it has more examples than in `make test`, and the machine may have other work."""
KEPT = "build/fuzz"
"""Where a file is written that tests what differs."""


def commands(seed: int, jobs: str, tests: Sequence[str]) -> list[list[str]]:
    """What a round runs, until one of them finds something."""
    pytest = ["-m", "pytest", "-q", "-x", "--tb=short", "-n", jobs, f"--timeout={LONGEST}"]
    pytest += ["-m", "hypothesis and (sampled or not slow)"]
    properties = [*pytest, "--hypothesis-profile=fuzz", f"--hypothesis-seed={seed}", *tests]
    random = ["--random", PIPELINES, "--random-rules", RULES]
    conform = ["-m", "workbench.cli.main", "conform", *random, "--seed", str(seed), "--to-test", KEPT]
    return [[sys.executable, *each] for each in ([properties] if tests else [conform, properties])]


def ended(command: Sequence[str], until: float) -> int | None:
    """The exit code of the command; None if the time was over before, and it was told to stop."""
    process = subprocess.Popen(command)
    try:
        return process.wait(max(0.1, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return None if process.wait() in STOPPED else process.returncode
    except KeyboardInterrupt:  # the child got it too
        process.wait()
        raise


def search(until: float, jobs: str, tests: Sequence[str], seed: int) -> int:
    """Round after round; says after each what has been done."""
    begun = time.monotonic()
    for number in range(sys.maxsize):
        for command in commands(seed + number, jobs, tests):
            code = ended(command, until)
            spent = f"{(time.monotonic() - begun) / 60:.1f} minutes"
            if code is None:
                print(f"fuzz: nothing found in {spent}, {number} full rounds from --seed {seed} on", flush=True)
                return NOTHING_FOUND
            if code != NOTHING_FOUND:
                print(f"fuzz: found after {spent}; again with --seed {seed + number}", flush=True)
                return FOUND
        print(f"fuzz: round {number + 1} found nothing, {spent}", flush=True)
    raise AssertionError


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10, help="for how long (default: 10)")
    parser.add_argument("--jobs", default="2", help="processes (default: 2)")
    parser.add_argument("--seed", type=int, help="where to begin (default: anywhere)")
    parser.add_argument("tests", nargs="*", help="files of tests, or tests (default: all)")
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have had it ignored, as for `command &`
    seed = random.randrange(10**9) if given.seed is None else given.seed
    try:
        return search(time.monotonic() + 60 * given.minutes, given.jobs, given.tests, seed)
    except KeyboardInterrupt:
        print("\nfuzz: interrupted; nothing was found", flush=True)
        return NOTHING_FOUND


if __name__ == "__main__":
    sys.exit(main())
