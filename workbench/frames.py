"""Frames on a pipe between two processes: a JSON text after its length in bytes (4 bytes, big-endian).

A process that may die is a fork that serves its parent: it receives jobs as frames, and answers with frames.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from workbench.interrupts import end_with_parent

Frame = dict[str, Any]


def write_frame(fd: int, frame: Frame) -> None:
    """Send one frame."""
    data = json.dumps(frame).encode()
    data = len(data).to_bytes(4, "big") + data
    while data:
        data = data[os.write(fd, data) :]


def take_frames(buffer: bytearray) -> list[Frame]:
    """Remove the complete frames from the front of a buffer and return them."""
    frames = []
    while len(buffer) >= 4 and len(buffer) >= 4 + (size := int.from_bytes(buffer[:4], "big")):
        frames.append(json.loads(bytes(buffer[4 : 4 + size])))
        del buffer[: 4 + size]
    return frames


def read_frames(fd: int) -> Iterator[Frame]:
    """Yield the frames that come from a pipe, until it ends."""
    buffer = bytearray()
    while data := os.read(fd, 1 << 20):
        buffer += data
        yield from take_frames(buffer)


def fork_serving(serve: Callable[[int, int], None], log: int, parents: Iterable[int]) -> tuple[int, int, int]:
    """Fork a process that serves this one: return its id, the pipe for its jobs, and the pipe of its answers.

    It ends with this process, or with its work, without any of the clean-up that a copy of its parent would do.

    Parameters
    ----------
    serve: the work of the process, given the pipes of jobs and answers.
    log: the file for its printed output.
    parents: descriptors of the parent, which it closes.
    """
    jobs, to_child = os.pipe()
    from_child, answers = os.pipe()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            end_with_parent(signal.SIGKILL)
            if os.getppid() != parent:  # the parent has ended already
                os._exit(0)
            for fd in (*parents, to_child, from_child):
                os.close(fd)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(log, 1)
            os.dup2(log, 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # crashes are expected here
            serve(jobs, answers)
        except MemoryError:
            os.write(2, b"out of memory\n")
        except BaseException:
            os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(70)
    os.close(jobs)
    os.close(answers)
    return pid, to_child, from_child


def read_tail(log: int, length: int) -> str:
    """Return the last bytes of a file as text."""
    end = os.lseek(log, 0, os.SEEK_END)
    return os.pread(log, length, max(0, end - length)).decode(errors="replace")
