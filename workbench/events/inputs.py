"""The files of a log: the inputs that a user names, in their order.

The rule of this module: a folder or a pattern stands for its files in natural order (`log2` comes before `log10`), and
if there are none, that is an error.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from workbench.errors import InputError, did_you_mean
from workbench.events.files import ending, is_stream, refuse_overwriting
from workbench.events.packing import COMPRESSIONS
from workbench.events.table import USUAL, FormatRow, endings, format_row

LogPath = str | Path

SAMPLE = 1 << 16
"""The number of bytes that show how long the lines of a file are."""
PACKED = 4
"""The approximate ratio of the size of a log to its compressed size."""


def list_named_files(log: Any) -> list[LogPath] | None:
    """Return the given log as files, if it is a path or several; None otherwise."""
    if isinstance(log, str | Path):
        return [log]
    if isinstance(log, list | tuple) and log and all(isinstance(each, str | Path) for each in log):
        return list(log)
    return None


def log_files(log: LogPath | Sequence[LogPath]) -> list[LogPath]:
    """Return the files of a log in order: files, `-` for the standard input, folders and patterns.

    Raises
    ------
    InputError: a file does not exist, or a folder has no file.
    """
    files = [file for each in list_named_files(log) or () for file in _files(each)]
    if files.count("-") > 1:
        raise InputError("the standard input can be read once", hint="write --input - once")
    return files


def estimate_rows(log: Any) -> int | None:
    """Return the number of rows of data, estimated from sizes for files; None if the end is unknown."""
    if list_named_files(log) is None:
        some = next(iter(log.values()), ()) if isinstance(log, Mapping) else log
        return len(some) if isinstance(some, Sequence) else getattr(some, "num_rows", getattr(some, "size", None))
    total = 0
    names = [str(each).rpartition("=")[2] for each in list_named_files(log) or ()]
    try:
        files = log_files(names) if names else []
    except InputError:
        return None
    if not files or any(map(is_stream, files)):
        return None
    for file in map(Path, files):
        row = format_row(endings().get(ending(file), USUAL))
        size = file.stat().st_size * (PACKED if file.suffix in COMPRESSIONS else 1)
        total += round(size / (_measure_line(file, row) or row.row_bytes))
    return total


def _measure_line(file: Path, row: FormatRow) -> float:
    """Return the average length of the first lines of a file, if its rows are lines; else 0."""
    if not (row.text and row.in_lines) or file.suffix in COMPRESSIONS:
        return 0
    with suppress(OSError), open(file, "rb") as opened:
        first = opened.read(SAMPLE)
        return (first.rfind(b"\n") + 1) / max(first.count(b"\n"), 1)
    return 0


def see_apart(
    read: Iterable[object], option_files: Mapping[str, LogPath | None], programs: Iterable[object] = ()
) -> None:
    """Raise InputError if a file named by an option would replace what is read, or the file of another option.

    Parameters
    ----------
    read: logs and facts, as a user names them; Python data counts for nothing.
    programs: `FILE`, or `FILE:NAME`.
    """
    files = {option: file for option, file in option_files.items() if file not in (None, "error", "skip")}
    named = [(log, "what is read") for log in read] + [(program, "the program") for program in programs]
    roles = {os.path.realpath(each): role for log, role in named for each in read_files(log)} if files else {}
    for option, file in files.items():
        refuse_overwriting(option, str(file), roles)


def read_files(log: object) -> Iterator[str]:
    """Yield the files of a log, also where a type of events precedes them (`Smoke=smoke.csv`), or a name follows.

    The name is that of a table of facts (`bank.db:lines`), or of a pipeline.
    """
    for each in list_named_files(log) or ():
        path = str(each) if os.path.exists(each) else str(each).rpartition("=")[2]
        file = path.rpartition(":")[0]
        with suppress(InputError):  # the error is reported when the file is read
            yield from map(str, _files(file if os.path.isfile(file) and not os.path.exists(path) else path))


ROTATED = re.compile(r"[.-][0-9][0-9T:-]*")
"""The endings of rotated files: `.1`, `-20261124`; compressed ones have a further ending."""
MAX_ROTATIONS = 9999
"""The greatest number of a rotation; a greater number after a name is a date."""


def sort_log(files: Iterable[LogPath]) -> list[LogPath]:
    """Sort files in natural order; a log and its rotated files with the oldest first."""
    order = sorted(files, key=natural)
    name = str(order[0])
    unpacked = {each: re.sub(rf"({'|'.join(map(re.escape, COMPRESSIONS))})$", "", str(each)) for each in order[1:]}
    ends = {each: text[len(name) :] for each, text in unpacked.items()}
    if not all(str(each).startswith(name) and ROTATED.fullmatch(end) for each, end in ends.items()):
        return order
    ages = {each: int(end[1:]) if end[1:].isdecimal() else MAX_ROTATIONS + 1 for each, end in ends.items()}
    numbered = [each for each, age in ages.items() if age <= MAX_ROTATIONS]
    dated = [each for each in ages if each not in numbered]
    return [*dated, *sorted(numbered, key=ages.__getitem__, reverse=True), order[0]]


def natural(path: LogPath) -> list[tuple[int, str]]:
    """Return the sort key of natural order: numbers in names count as numbers."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"([0-9]+)", str(path))]


def _files(entry: LogPath) -> list[LogPath]:
    path = str(entry)
    if os.path.isdir(path):
        inside = list(_inside(Path(path)))
        if not inside:
            raise InputError("there is no file in this folder", where=path)
        return sort_log(inside)
    if path == "-" or os.path.exists(path):
        return [entry]
    if glob.has_magic(path):
        matched: list[LogPath] = [name for name in glob.glob(path, recursive=True) if os.path.isfile(name)]
        if not matched:
            raise InputError("no file matches this pattern", where=path, hint=f"list the folder: ls {_folder(path)}")
        return sort_log(matched)
    raise InputError("cannot be read: No such file or directory", where=path, hint=suggest_file(path))


def suggest_file(path: str) -> str:
    """Return a hint for a missing file: a file in its folder with a similar name; empty if there is none."""
    name, _, file = path.partition("=")
    if name.isidentifier() and os.path.exists(file):
        return f"{name}=FILE is for rules, for events of one type; inputs of a pipeline are columns: --input {file}"
    if all(map(os.path.exists, several := path.split(","))):
        return f"each file needs an option: {' '.join(f'--input {each}' for each in several)}"
    beside = os.listdir(_folder(path)) if os.path.isdir(_folder(path)) else []
    close = did_you_mean(os.path.basename(path), beside)
    return close if close.startswith("did") else ""


def _inside(folder: Path) -> Iterator[LogPath]:
    """Yield the files in a folder, and in the folders that Spark creates there for parts, such as `batch=00000007`."""
    for each in folder.iterdir():
        if each.name[0] not in "._" and each.is_file():
            yield each
        elif each.name[0] not in "._" and "=" in each.name:
            yield from _inside(each)


def _folder(path: str) -> str:
    """Return the folder in front of the first part of a pattern that stands for several."""
    folder = os.path.dirname(path)
    while glob.has_magic(folder):
        folder = os.path.dirname(folder)
    return folder or "."
