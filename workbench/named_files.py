"""Files that the text of a program names: rules, included files, and systems in SMV.

The rule of this module: a text may be untrusted. The files that it names lie in the folder of its program or below, or
in a folder that the user allows, after following links; and errors show lines only of files named like programs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

from workbench.errors import InputError, LanguageError, Location, did_you_mean

Folders = tuple[Path, ...]
PROGRAMS = (".pipe", ".tesla")
LOGS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather", ".xml", ".log")
_ALLOWED: ContextVar[Folders] = ContextVar("allowed", default=())


@contextmanager
def allow(folders: Iterable[str | Path] | Path) -> Iterator[Folders]:
    """Let programs that are read in this block name files in more folders; yield all allowed folders."""
    folders = [folders] if isinstance(folders, str | Path) else folders
    all_folders = dict.fromkeys((*_ALLOWED.get(), *(follow_links(Path(each)) for each in folders)))
    token = _ALLOWED.set(tuple(all_folders))
    try:
        yield tuple(all_folders)
    finally:
        _ALLOWED.reset(token)


def find_named(name: str, beside: Path, where: Location | str) -> Path:
    """Return the file that a text names, searched beside that text, then in the allowed folders.

    Raises
    ------
    LanguageError: it would lie elsewhere, or is not a plain file. A missing file is an error when it is opened.
    """
    folders = _ALLOWED.get()
    paths = [Path(folder, name) for folder in (beside, *folders)] if "\0" not in name else []
    inside = [path for path in paths if any(follow_links(path).is_relative_to(folder) for folder in folders)]
    if not inside:
        what = f"'{name}' lies outside the folder of the program"
        hint = "allow the folder in which it lies: --include DIR, or include=[DIR] in Python"
        raise LanguageError(what, where=where, hint=hint)
    there = [path for path in inside if os.path.lexists(path)] or inside
    if file := next((path for path in there if os.path.isfile(path)), None):
        return file
    if os.path.exists(there[0]):  # it might have no end, or block
        raise LanguageError(f"'{name}' is not a file", where=where, hint="name a file")
    return there[0]


def read_text(path: str | Path, hint: Callable[[], str], where: Location | str = "") -> str:
    """Return the text of a file; InputError, with this hint, if it cannot be read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(f"cannot read {path}: {reason}", where=where, hint=hint()) from error


def suggest_program(path: Path, ending: str, show: Callable[[Path], str] = str) -> str:
    """Return the hint for a program that does not exist: one that has a similar name, or how to get the models.

    Parameters
    ----------
    show: formats the path of another program.
    """
    from difflib import get_close_matches
    from importlib.resources import files

    if path.parts[:1] == ("models",) and files("workbench").joinpath(*path.parts).is_file():
        return "workbench models --copy . puts the models of the installation here"
    near = {show(each): each.stem for each in path.parent.glob(f"*{ending}")} if path.parent.is_dir() else {}
    hint = did_you_mean(show(path), near, fits=lambda each: bool(get_close_matches(path.stem, [near[each]])))
    return hint or f"give the path of a {ending} file"


def describe_other(path: str | Path) -> str:
    """Describe a file that is not a program, by its name, with advice; empty if the name is unknown."""
    kinds = {".py": "Python: run it with python", **dict.fromkeys(LOGS, "a log: name the program first")}
    kind = kinds.get(Path(path).suffix) if Path(path).is_file() else None
    return f"{path} is {kind}" if kind else ""


def follow_links(path: Path) -> Path:
    """Follow links to their end; a broken link stays."""
    return Path(os.path.realpath(path))


@contextmanager
def hide_text(path: Path, other: str = "") -> Iterator[None]:
    """Hide the text of a file in errors if it is not named like a program, but unknown or as `other` describes it."""
    try:
        yield
    except LanguageError as error:
        if follow_links(path).suffix in PROGRAMS:
            raise
        location = error.where if isinstance(error.where, Location) else Location(str(path))
        where = Location(location.file, location.line, location.column)
        hint = f"lines are shown only of files named {' or '.join(PROGRAMS)}"
        if other:
            raise LanguageError(other) from None
        raise LanguageError("there is a mistake here, or this is not a program", where=where, hint=hint) from None
