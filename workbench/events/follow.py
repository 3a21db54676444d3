"""Follow a file that grows: read its bytes as they are written, also when it is rotated.

The rule of this module: a renamed file is read to its end, and until the new file of its name has content; a truncated
one is read from its beginning. Each is a file of the log, with its own header. A file is identified by its inode, and,
as a file system may use the inode of a removed file again, by its first lines.
"""

from __future__ import annotations

import glob
import io
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from workbench.errors import InputError
from workbench.events.files import is_stream
from workbench.events.inputs import ROTATED, LogPath, list_named_files, sort_log, suggest_file
from workbench.events.packing import COMPRESSIONS
from workbench.interrupts import checkpoint, hold

POLL = 0.1
"""Seconds between two checks of a file without new bytes."""
HEAD = 4096
"""The greatest number of bytes that identify a file."""


class FollowedFile(io.RawIOBase):
    """The bytes of a file as they come; they end when it is truncated, or another file has its name.

    Parameters
    ----------
    path: the file.
    name: the name under which another file may come; None: that of the file.
    ends: whether they end at the present end of the file.

    Attributes
    ----------
    inode: the number of the file.
    count: the number of bytes that have been read.
    head: the first of these.
    """

    def __init__(self, path: str, name: str | None = None, *, ends: bool = False) -> None:
        self._path, self._file, self._ends = name or path, io.FileIO(path), ends
        self.inode, self.count, self.head = os.fstat(self._file.fileno()).st_ino, 0, b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            is_over = self._ends or self._is_over()  # before reading: all that has been written until then is read
            if size := self._file.readinto(buffer) or 0:
                self.count += size
                self.head += bytes(buffer[: min(size, HEAD - len(self.head))])
                return size
            if is_over:
                return 0
            checkpoint()
            time.sleep(POLL)

    def close(self) -> None:
        self._file.close()
        super().close()

    def _is_over(self) -> bool:
        try:
            status = os.stat(self._path)
        except FileNotFoundError:  # it has been renamed, and there is no new one yet
            return False
        return status.st_size < self.count if status.st_ino == self.inode else status.st_size > 0


@dataclass
class Follower:
    """Reads a file that grows, and the files that have had its name.

    Parameters
    ----------
    older: files that are read before it, to their ends.
    rotated: called when a file has been read, and the next one is opened.

    Attributes
    ----------
    file: the file that is being read; None before the first.
    """

    path: str
    older: Sequence[str] = ()
    rotated: Callable[[], object] = field(default=bool, compare=False)
    file: FollowedFile | None = field(default=None, init=False, compare=False)

    def files(self) -> Iterator[FollowedFile]:
        """Yield the files, one after the other."""
        older = self.older
        while True:
            with suppress(FileNotFoundError):  # it may be renamed at any moment
                if self.file is not None:
                    older = (files_since(self.path, self.file.inode, self.file.count) or ())[1:]
                path, *later = *older, self.path
                yield self._next(path, ends=len(later) > 1)
            checkpoint()
            time.sleep(POLL)

    def _next(self, path: str, *, ends: bool) -> FollowedFile:
        file = FollowedFile(path, self.path, ends=ends)
        with hold():  # the state of the log must match the file that is read
            if self.file is not None:
                self.rotated()
            self.file = file
        return file


def find_followed_file(log: Any) -> str:
    """Return the file to follow.

    Raises
    ------
    InputError: the log is not a text file, or several files.
    """
    files = list_named_files(log) or []
    path = str(files[0]).rpartition("=")[2] if files and not os.path.exists(files[0]) else str(*files[:1])
    several = len(files) > 1 or os.path.isdir(path) or (glob.has_magic(path) and not os.path.exists(path))
    refused = (
        (not files, "data in memory does not grow", "give the path of a file"),
        (several, "only one file can be followed", "name the file that is written"),
        (Path(path).suffix in COMPRESSIONS, "a compressed file does not grow line by line", "name one that is text"),
        (path == "-" or is_stream(path), "a pipe is always read as it comes", "leave it out"),
    )
    for is_refused, what, hint in refused:
        if is_refused:
            raise InputError(f"--follow: {what}", where=path, hint=hint)
    return path


def await_followed_file(log: Any, say: Callable[[str], object]) -> None:
    """Wait until the file to follow exists; `say` reports once that it does not."""
    path = find_followed_file(log)
    if not os.path.exists(path):
        say(
            f"{path}: there is no such file yet: waiting for it"
            + (f" ({hint})" if (hint := suggest_file(path)) else "")
        )
    while not os.path.exists(path):
        checkpoint()
        time.sleep(POLL)


def files_since(path: LogPath, inode: int, count: int, head: bytes = b"") -> list[str] | None:
    """List the files that have had the name of a file since `count` bytes of the file `inode` were read, and that file.

    Parameters
    ----------
    head: the first bytes of that file.

    Returns
    -------
    The files older than `path`, the oldest first; none if `inode` is `path` itself; None if it is gone.
    """
    beside = glob.glob(f"{glob.escape(str(path))}[.-]*")
    names = [each for each in beside if ROTATED.fullmatch(each[len(str(path)) :]) and os.path.isfile(each)]
    names = [str(name) for name in sort_log([path, *names]) if name != path]  # for equal times
    names = [*sorted(names, key=os.path.getmtime), *[str(path)] * os.path.exists(path)]
    at = next((i for i, name in enumerate(names) if _is_file(name, inode, count, head)), None)
    return None if at is None else [name for name in names[at:] if name != str(path)]


def _is_file(name: str, inode: int, count: int, head: bytes) -> bool:
    status = os.stat(name)
    if status.st_ino != inode or status.st_size < count:
        return False
    with open(name, "rb") as file:
        return file.read(len(head)) == head
