"""Compress and decompress bytes while they are written and read.

The rule of this module: a file may be compressed piece by piece, and the concatenated pieces are a file. So several
threads can compress what one of them then writes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import IO, Any, NamedTuple, cast

from workbench.errors import InputError
from workbench.extras import install_extra

Bytes = bytes | bytearray | memoryview


class Compression(NamedTuple):
    """A compression format: its first bytes, a decompressing reader, and a compressing function.

    Files may be compressed piece by piece; the concatenated pieces are a file.
    """

    magic: bytes
    read: Callable[[io.BufferedReader], Callable[[Any], int]]
    """Return a function that fills a buffer with the decompressed bytes of a stream."""
    pack: Callable[[Bytes], bytes]


PACKED = 1 << 17
"""Maximum number of compressed bytes that are read at a time."""
PIECE = 1 << 21
"""Default number of bytes that are compressed at a time."""


def _gunzip(stream: io.BufferedReader) -> Callable[[Any], int]:
    """Decompress the bytes that have arrived: `gzip.GzipFile` would wait for the next 8 KB of a pipe."""
    import zlib

    member, full = zlib.decompressobj(31), False

    def fill(buffer: Any) -> int:
        nonlocal member, full
        while True:
            if member.eof:
                data = member.unused_data.lstrip(b"\0")
                while not data:  # zeros may precede and follow members
                    packed = stream.read1(PACKED)
                    if not packed:
                        return 0
                    data = packed.lstrip(b"\0")
                member = zlib.decompressobj(31)
            else:
                data = member.unconsumed_tail
                if not data and not full:
                    data = stream.read1(PACKED)
                    if not data:
                        raise EOFError("it is truncated")
            content = member.decompress(data, len(buffer))
            full = len(content) == len(buffer)
            if content:
                buffer[: len(content)] = content
                return len(content)

    return fill


def _gzip(data: Bytes) -> bytes:
    import zlib

    packing = zlib.compressobj(9, wbits=31)  # without a time stamp: the same events make the same file
    return packing.compress(data) + packing.flush()


def _unzstd(stream: io.BufferedReader) -> Callable[[Any], int]:
    pa = _arrow()
    fill: Callable[[Any], int] = pa.CompressedInputStream(pa.PythonFile(_Others(stream), "r"), "zstd").readinto
    return fill


def _zstd(data: Bytes) -> bytes:
    frame: bytes = _arrow().compress(data, "zstd", asbytes=True)
    return frame


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        hint = f"{install_extra('lab')}; or use gzip"
        raise InputError("zstandard needs pyarrow, which is not installed", hint=hint) from error
    return pyarrow


COMPRESSIONS = {
    ".gz": Compression(b"\x1f\x8b", _gunzip, _gzip),
    ".zst": Compression(b"\x28\xb5\x2f\xfd", _unzstd, _zstd),
}
"""The compression formats by the endings of names."""


class DerivedBytes(io.RawIOBase):
    """Bytes that are derived from those of another stream.

    Attributes
    ----------
    source: that stream.
    """

    def __init__(self, source: io.BufferedReader) -> None:
        self.source = source

    def readable(self) -> bool:
        return True


class Decompressed(DerivedBytes):
    """The decompressed bytes of a stream."""

    def __init__(self, source: io.BufferedReader, how: Compression) -> None:
        super().__init__(source)
        self._read = how.read(source)

    def readinto(self, buffer: Any) -> int:
        import zlib

        try:
            return self._read(buffer)
        except (EOFError, OSError, zlib.error) as error:
            raise DamagedError(str(error)) from error


class PackedFile(io.RawIOBase):
    """A file that is compressed piece by piece: by its writer, or by several threads in advance.

    Parameters
    ----------
    target: takes the compressed bytes.

    Attributes
    ----------
    packed: compresses some bytes into a piece.
    """

    def __init__(self, target: IO[bytes], how: Compression) -> None:
        self._target, self.packed = target, how.pack
        self._kept, self._last = bytearray(), b"" if target.tell() else self.packed(b"")

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._kept += data
        if len(self._kept) >= PIECE:
            self._settle()
        return memoryview(data).nbytes

    def flush(self) -> None:
        """Write all bytes to the file."""
        super().flush()
        self._settle()
        self._target.flush()

    def tell(self) -> int:
        """Return the number of compressed bytes."""
        return self._target.tell()

    def put(self, piece: bytes) -> None:
        """Append a piece."""
        self._settle()
        self._target.write(piece)
        self._last = b""

    def close(self) -> None:
        """Complete the file: an empty one is an empty piece."""
        if not self.closed:
            self.put(self._last)
        super().close()

    def _settle(self) -> None:
        if self._kept:
            buffer, self._kept = self._kept, bytearray()
            self.put(self.packed(buffer))


class DamagedError(OSError):
    """The error for compressed data that cannot be read."""


class _Others(io.RawIOBase):
    """A stream for `pyarrow`, which closes the streams that it gets."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self._stream.read1(size)
        return piece


def decompress_stream(stream: io.BufferedReader) -> io.BufferedReader:
    """Return the decompressed bytes of a stream, or the stream itself if it is not compressed."""
    start = stream.peek(4)[:4]
    compression = next((each for each in COMPRESSIONS.values() if start.startswith(each.magic)), None)
    return stream if compression is None else io.BufferedReader(Decompressed(stream, compression))


def ready_bytes(stream: IO[str], pieces: Sequence[Bytes]) -> Callable[[], None]:
    """Compress bytes, if need be, and return a function that appends them to the text of a `destination`."""
    raw: Any = cast(io.TextIOWrapper, stream).buffer
    packed = raw.packed(b"".join(pieces)) if isinstance(raw, PackedFile) else None

    def put() -> None:
        stream.flush()
        if isinstance(raw, PackedFile) and packed is not None:
            raw.put(packed)
            return
        for piece in pieces:
            raw.write(piece)

    return put
