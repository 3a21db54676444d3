"""Logs of every format, and what may become of them on the way: cut, flipped, put together wrongly, renamed."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from pathlib import Path
from random import Random

import pyarrow as pa

from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.packing import COMPRESSIONS
from workbench.events.read import read_blocks, read_events
from workbench.events.rows import LogBlock
from workbench.events.table import format_rows
from workbench.events.write import write_events

PORTS = tuple(Port(n, d) for n, d in {"x": INT, "f": FLOAT, "b": BOOL, "s": STR, "e": Enum(("red", "green"))}.items())
LOG = Ports("log", PORTS, PORTS)
ENDINGS = [row.endings[0] for row in format_rows().values() if row.writer is not None]
NAMES = ENDINGS + [f"{ending}{packed}" for ending in ENDINGS for packed in COMPRESSIONS]
ODD = [
    b"\0", b'"', b"'", b"\n", b"\r", b"\r\n", b"\xff", b"\xc3", b"\xef\xbb\xbf", b",", b"\t", b"{", b"}", b"{}\n",
    b"9" * 5000, b"1e999", b"-", b"null", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1", b"ARROW1", b"x" * 70000, b"\x1a",
    b"," * 5000, b'{"x":' * 2000, b"[" * 3000, b"\\ud800", b"\xed\xa0\x80", b"NaN", b'""', b'"\n"',
]  # fmt: skip
"""What is rarely in a log."""


def sound_logs(folder: Path, rows: int = 40) -> dict[str, bytes]:
    """A log in every format, under what its name ends with."""
    found = {}
    for ending in NAMES:
        path = folder / f"log{ending}"
        with write_events(path, LOG) as writer:
            for i in range(rows):
                row: dict[str, list] = {"x": [i] if i % 3 else [], "f": [i / 7], "b": [i > 9], "s": [f'"{i},\n']}
                writer.write({**row, "e": ["red"] if i % 2 else []})
        found[ending] = path.read_bytes()
        path.unlink()
    return found


def damaged(random: Random, sound: Mapping[str, bytes]) -> tuple[str, bytes]:
    """What a name ends with, and the bytes of a log that has not come as it was."""
    ending = random.choice(NAMES)
    data = sound[ending]
    for _ in range(random.randint(1, 3)):
        data = random.choice(DAMAGES)(random, data, sound)
    if random.random() < 0.1:
        data = pa.compress(data, "zstd", asbytes=True) if random.random() < 0.5 else gzip.compress(data, 1)
    return random.choice([ending] * 80 + NAMES), data


def _part(random: Random, data: bytes) -> tuple[int, int]:
    begin = random.randint(0, len(data))
    return begin, min(len(data), begin + random.choice([1, 4, 8, 50, len(data)]))


def _cut(random: Random, data: bytes, _: object) -> bytes:
    begin, end = _part(random, data)
    return random.choice([data[:begin], data[begin:], data[:begin] + data[end:], data[begin:end]])


def _flip(random: Random, data: bytes, _: object) -> bytes:
    found = bytearray(data)
    for _ in range(random.choice([1, 1, 2, 20])):
        if found:
            found[random.randrange(len(found))] = random.choice([0, 1, 0x7F, 0x80, 0xFF, random.randrange(256)])
    return bytes(found)


def _end(random: Random, data: bytes, _: object) -> bytes:
    """Footers lie at the end, lengths before it."""
    found = bytearray(data)
    for _ in range(random.randint(1, 4)):
        if found:
            found[-random.randint(1, min(16, len(found)))] = random.randrange(256)
    return bytes(found)


def _swap(random: Random, data: bytes, _: object) -> bytes:
    begin, end = _part(random, data)
    other = random.randint(end, len(data))
    return data[:begin] + data[end:other] + data[begin:end] + data[other:]


def _join(random: Random, data: bytes, sound: Mapping[str, bytes]) -> bytes:
    other = random.choice([data, sound[random.choice(NAMES)]])
    begin, end = _part(random, other)
    place = random.choice([0, len(data), random.randint(0, len(data))])
    return data[:place] + random.choice([other, other[begin:end]]) + data[place:]


def _insert(random: Random, data: bytes, _: object) -> bytes:
    place = random.choice([0, len(data), random.randint(0, len(data))])
    return data[:place] + random.choice(ODD) * random.choice([1, 1, 1, 3]) + data[place:]


def _lines(random: Random, data: bytes, _: object) -> bytes:
    lines = data.splitlines(keepends=True)
    few = lines[: random.randint(0, 3)]
    return b"".join(random.choice([few, few + lines, lines[:1], random.sample(lines, len(lines))]))


DAMAGES = [_cut, _flip, _flip, _end, _swap, _join, _insert, _lines]


def how_it_ends(path: Path, *, by_columns: bool = False) -> InputError | None:
    """The error, if it is no log any more."""
    try:
        for item in read_blocks(path, LOG) if by_columns else read_events(path, LOG):
            if isinstance(item, LogBlock) and item.columns() is None:
                list(item.steps())
    except InputError as error:
        return error
    return None
