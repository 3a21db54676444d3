"""Frames on a pipe between two processes: a JSON text after its length in bytes (4 bytes, big-endian)."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any

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
    """The frames that come from a pipe, until it ends."""
    buffer = bytearray()
    while data := os.read(fd, 1 << 20):
        buffer += data
        yield from take_frames(buffer)
