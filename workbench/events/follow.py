"""Follow a file that grows: read its bytes as they are written, also when it is rotated.

The rule of this module: a renamed file is read to its end, and until a newer one has content; a truncated one is read
from its beginning. Each is a file of the log, with its own header. New files are opened when they are seen, also while
an older one is being read, and wait in their order: an open file is not lost when it is renamed or removed. A closed
one is identified by its inode, and, as a file system may use the inode of a removed file again, by its first lines.
"""

from __future__ import annotations

import glob
import io
import math
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from workbench.errors import InputError, listed
from workbench.events.files import is_stream
from workbench.events.inputs import ROTATED, list_named_files, sort_log, suggest_file
from workbench.events.packing import COMPRESSIONS
from workbench.interrupts import checkpoint, hold

POLL = 0.1
"""Seconds between two looks for new bytes and new files."""
HEAD = 4096
"""The greatest number of bytes that identify a file."""


class FileMark(NamedTuple):
    """What identifies a file that has been read.

    Attributes
    ----------
    inode: the number of the file.
    length: the number of bytes that have been read.
    head: the first of these.
    written: the time of its last change, in ns since 1970.
    """

    inode: int
    length: int = 0
    head: bytes = b""
    written: float = math.inf

    def is_of(self, path: str, status: os.stat_result) -> bool:
        """Whether a file is this one."""
        return status.st_ino == self.inode and status.st_size >= self.length and self.begins(path)

    def begins(self, path: str) -> bool:
        """Whether a file has the same first bytes."""
        with open(path, "rb") as file:
            return file.read(len(self.head)) == self.head


class FollowedFile(io.RawIOBase):
    """The bytes of a file as they come; they end when it is truncated, or a newer file has some.

    Parameters
    ----------
    path: the file.
    follower: sees newer files.

    Attributes
    ----------
    mark: identifies the file.
    seen: the greatest size of the file that has been seen.
    is_truncated: whether the file has been truncated.
    note: a note for the user when the file is read.
    """

    def __init__(self, path: str, follower: Follower) -> None:
        self.path, self._follower, self._file = path, follower, io.FileIO(path)
        status = os.fstat(self._file.fileno())
        self.mark, self.seen = FileMark(status.st_ino, written=status.st_mtime_ns), 0
        self.is_truncated, self.note = False, ""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self.is_truncated:
            is_last = not self._follower.has_next()  # before reading: all that has been written until then is read
            if size := self._file.readinto(buffer) or 0:
                inode, length, head, _ = self.mark
                head += bytes(buffer[: min(size, HEAD - len(head))])
                self.mark = FileMark(inode, length + size, head, os.fstat(self._file.fileno()).st_mtime_ns)
                return size
            if not is_last:
                break
            self._follower.rest()
        return 0

    def has_content(self) -> bool:
        """Whether the file has bytes."""
        return os.fstat(self._file.fileno()).st_size > 0

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass
class Follower:
    """Reads a file that grows, and the files that have had its name.

    Parameters
    ----------
    mark: the file in which an earlier run has stopped.
    rotated: called when a file has been read, and the next one is begun.
    report: shows the user a note.

    Attributes
    ----------
    file: the file that is being read; None before the first.
    waiting: the files that are read after it, in their order.
    """

    path: str
    mark: FileMark | None = None
    rotated: Callable[[], object] = field(default=bool, compare=False)
    report: Callable[[str], object] = field(default=bool, compare=False)
    file: FollowedFile | None = field(default=None, init=False, compare=False)
    waiting: deque[FollowedFile] = field(default_factory=deque, init=False, compare=False)
    _lock: threading.RLock = field(default_factory=threading.RLock, init=False, compare=False, repr=False)
    _has_rested: bool = field(default=False, init=False, compare=False)

    def files(self) -> Iterator[FollowedFile]:
        """Yield the files, one after the other."""
        while True:
            self.look()
            while not self.waiting:
                self.rest()
                self.look()
            with hold(), self._lock:  # the state of the log must match the file that is read
                if self.file is not None:
                    self.rotated()
                self.file = self._pop()
            yield self.file

    def _pop(self) -> FollowedFile:
        """Return the next file; leave out those without content before others."""
        while True:
            if self.waiting[0].note:
                self.report(self.waiting[0].note)
            if self.waiting[0].has_content() or not self.has_next():
                return self.waiting.popleft()
            self.waiting.popleft().close()

    def resume(self) -> bool:
        """Open the file in which an earlier run has stopped, if there was one; return False if it is gone."""
        while not self.look():
            checkpoint()
        if self.mark is None or (self.waiting and not self.waiting[0].note):
            return True
        self.mark = self.mark._replace(inode=0)  # a file that comes later is another one
        return False

    def has_next(self) -> bool:
        """Look for new files, and return whether one that waits has content."""
        self.look()
        with self._lock:
            return any(each.has_content() for each in self.waiting)

    def rest(self) -> None:
        """Wait for new bytes; the first time, report that all rows so far have been read."""
        if self.file is not None and not self._has_rested:
            self._has_rested = True
            self.report(f"following {self.path}")
        checkpoint()
        time.sleep(POLL)

    def await_file(self) -> None:
        """Wait until there is a file to read; a note reports that there is none."""
        if self.look() and not self.waiting:
            hint = suggest_file(self.path)
            self.report(f"{self.path}: there is no such file yet: waiting for it{f' ({hint})' if hint else ''}")
        while not self.waiting:
            checkpoint()
            time.sleep(POLL)
            self.look()

    @contextmanager
    def watch(self) -> Iterator[None]:
        """Look for new files in this block, in a thread."""
        over = threading.Event()

        def watch() -> None:
            while not over.wait(POLL):
                with suppress(OSError):  # the reader meets it again
                    self.look()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()
            for file in self.waiting:
                file.close()

    def look(self) -> bool:
        """Open the files that are newer than the newest one; return False if names have changed meanwhile."""
        with self._lock, suppress(FileNotFoundError):
            newest = self.waiting[-1] if self.waiting else self.file
            length = newest.mark.length if newest else 0  # before the size of the file, which may grow
            now = os.stat(self.path) if os.path.exists(self.path) else None
            if newest and now and now.st_ino == newest.mark.inode:
                if now.st_size < length:
                    newest.is_truncated, again = True, FollowedFile(self.path, self)
                    if newest.seen > length:
                        again.note = f"{self.path}: truncated before all of it was read: rows are missing"
                    self.waiting.append(again)
                newest.seen = now.st_size
                return True
            entries = list_files(self.path)
            names, note = self._list_new(entries, newest)
            files = [FollowedFile(name, self) for name in names]
            if inodes(list_files(self.path)) == inodes(entries):
                for file in files[:1]:
                    file.note = note
                self.waiting.extend(files)
                return True
            for file in files:
                file.close()
        return False

    def _list_new(self, entries: Mapping[str, os.stat_result], newest: FollowedFile | None) -> tuple[list[str], str]:
        """List the files that come after the newest one, and a note if others may have come in between."""
        mark, last = newest.mark if newest else self.mark, [self.path] * (self.path in entries)
        if mark is None:
            return last, ""
        at = next((i for i, (name, status) in enumerate(entries.items()) if mark.is_of(name, status)), None)
        opened = {each.mark.inode for each in (self.file, *self.waiting) if each}
        names = [name for name in [*entries][at or 0 :] if entries[name].st_ino not in opened]
        if at is not None:
            return names, ""
        newer = [name for name in names if name != self.path and entries[name].st_mtime_ns > mark.written]
        copies = [name for name in newer if mark.head and mark.begins(name)]
        new = [name for name in newer if name not in copies] + last
        note = f"{self.path}: the file that was read last is gone: the run goes on with {''.join(new[:1])}"
        where = f" ({listed(copies)} may have them)" if copies else ""
        return new, f"{note}; rows in between may be missing{where}"


def list_files(path: str) -> dict[str, os.stat_result]:
    """Return a file, and those that have had its name, the oldest first."""
    beside = glob.glob(f"{glob.escape(path)}[.-]*")
    names = [each for each in beside if ROTATED.fullmatch(each[len(path) :]) and os.path.isfile(each)]
    older = {str(name): os.stat(name) for name in sort_log([path, *names]) if name != path}  # for equal times
    older = dict(sorted(older.items(), key=lambda entry: entry[1].st_mtime_ns))
    return older | ({path: os.stat(path)} if os.path.exists(path) else {})


def inodes(entries: Mapping[str, os.stat_result]) -> dict[str, int]:
    """Return the inodes of files by their names."""
    return {name: status.st_ino for name, status in entries.items()}


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
