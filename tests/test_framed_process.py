"""A process that is given frames and answers with frames: what it says, how it ends, and that it ends."""

import os
import signal
import sys
import time
from collections.abc import Iterator

import pytest

from workbench.framed_process import FramedProcess, ProcessLostError
from workbench.frames import read_frames, take_frames, write_frame

SERVE = """
import os, sys, time
from workbench.frames import read_frames, write_frame
for frame in read_frames(0):
    if frame["do"] == "say":
        print("a word", file=sys.stderr)
    elif frame["do"] == "exit":
        os._exit(3)
    elif frame["do"] == "sleep":
        time.sleep(60)
    write_frame(1, {"done": frame["do"]})
"""


@pytest.fixture
def served() -> Iterator[FramedProcess]:
    process = FramedProcess("the server", [sys.executable, "-c", SERVE])
    yield process
    process.kill()


def test_a_frame_may_come_in_pieces() -> None:
    reads, writes = os.pipe()
    write_frame(writes, {"a": "ä", "n": [1, None]})
    write_frame(writes, {})
    os.close(writes)
    assert list(read_frames(reads)) == [{"a": "ä", "n": [1, None]}, {}]
    whole = b"\0\0\0\2{}\0\0\0\2{}"
    buffer, found = bytearray(), []
    for byte in whole:
        buffer.append(byte)
        found += take_frames(buffer)
    assert found == [{}, {}]
    assert not buffer


def test_it_answers_one_frame_after_the_other(served: FramedProcess) -> None:
    for _ in range(3):
        served.send({"do": "say"})
        assert served.receive(60) == {"done": "say"}
    assert served.read_last_words() == ["a word"] * 3
    served.close()
    assert not served.alive


def test_how_it_was_lost(served: FramedProcess) -> None:
    served.send({"do": "exit"})
    with pytest.raises(ProcessLostError, match="the server process ended with status 3"):
        served.receive()
    served.send({"do": "say"})  # nobody hears it
    with pytest.raises(ProcessLostError, match="ended with status 3"):
        served.receive()


def test_it_is_not_waited_for_longer_than_is_said(served: FramedProcess) -> None:
    served.send({"do": "say"})
    served.receive(60)
    served.send({"do": "sleep"})
    with pytest.raises(ProcessLostError, match="the server does not answer"):
        served.receive(0.1)
    begin = time.monotonic()
    served.kill()
    assert time.monotonic() - begin < 10
    assert not served.alive


def test_what_kills_it_is_told(served: FramedProcess) -> None:
    os.kill(served.pid, signal.SIGKILL)
    with pytest.raises(ProcessLostError, match="was killed by signal 9"):
        served.receive()


def test_frames_that_come_together_are_given_one_by_one() -> None:
    """A worker says how far it is just before it answers."""
    twice = "from workbench.frames import write_frame; [write_frame(1, {'n': n}) for n in (1, 2)]; input()"
    process = FramedProcess("the server", [sys.executable, "-c", twice])
    time.sleep(0.3)
    assert [process.receive(60), process.receive(60)] == [{"n": 1}, {"n": 2}]
    process.kill()
