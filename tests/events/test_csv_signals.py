"""A signal that comes while Arrow reads a CSV file is Python's, as it is everywhere else."""

import signal
import threading
import time
from pathlib import Path

import pytest

from workbench.core.domain import INT
from workbench.core.program import Port, Ports
from workbench.events.read import read_blocks
from workbench.events.reading_options import Reading

pytest.importorskip("pyarrow")


def test_every_signal_comes(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("x\n" + "1\n" * 100_000)
    came: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: came.append(number))
    over, sent = threading.Event(), 0

    def strike() -> None:
        """One signal after the other, each when the one before it has come."""
        nonlocal sent
        while not over.is_set() and len(came) == sent:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
            sent += 1
            deadline = time.monotonic() + 5
            while len(came) < sent and time.monotonic() < deadline:
                time.sleep(0.0001)

    thread = threading.Thread(target=strike)
    thread.start()
    try:
        for _ in range(150):
            for block in read_blocks(path, Ports("log", (Port("x", INT),)), Reading()):
                block.columns()
    finally:
        over.set()
        thread.join()
        signal.signal(signal.SIGTERM, before)
    assert len(came) == sent > 50
