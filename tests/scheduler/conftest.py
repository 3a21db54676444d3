"""How the command of `experiments/scheduler` is run."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from tests.cli.conftest import ROOT, Ended


@pytest.fixture
def scheduler() -> Callable[..., Ended]:
    """Runs the command in a process of its own."""

    def run(*args: object) -> Ended:
        done = subprocess.run(
            [sys.executable, "-m", "experiments.scheduler", *map(str, args)], cwd=ROOT, capture_output=True, text=True,
            timeout=60, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert "Traceback" not in done.stdout + done.stderr
        return Ended(done.returncode, done.stdout, done.stderr)

    return run
