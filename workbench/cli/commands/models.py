"""List the programs that come with workbench, or copy them to a folder."""

from __future__ import annotations

import argparse
import re
import shutil
from importlib.resources import as_file, files
from pathlib import Path

ENDINGS = (".pipe", ".tesla")


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("part", nargs="?", default="", metavar="PART", help="only models whose path contains this text")
    parser.add_argument("--copy", metavar="FOLDER", help="copy them, with the logs in their folders, to FOLDER/models")


def execute(args: argparse.Namespace) -> int:
    """List or copy."""
    from workbench.errors import InputError

    with as_file(files("workbench") / "models") as folder:
        paths = sorted(path for path in folder.rglob("*") if path.is_file())
        matches = [path for path in paths if args.part in path.relative_to(folder).as_posix()]
        if not any(path.suffix in ENDINGS for path in matches):
            raise InputError(f"no model has '{args.part}' in its path", hint="workbench models lists all of them")
        if args.copy is not None:
            print(f"{_copy(matches, folder, Path(args.copy) / 'models')} files are in {Path(args.copy) / 'models'}")
            return 0
        for path in matches:
            if path.suffix in ENDINGS:
                print(f"models/{path.relative_to(folder).as_posix():<44}  {_summarise(path)}".rstrip())
    print("\nworkbench models --copy . puts them here")
    return 0


def _copy(paths: list[Path], source: Path, target: Path) -> int:
    """Copy files, and return their number; raise InputError where one exists already and differs."""
    from workbench.errors import InputError

    for path in paths:
        copied = target / path.relative_to(source)
        if copied.exists() and copied.read_bytes() != path.read_bytes():
            raise InputError(f"{copied} exists, and differs", hint="name another folder, or remove the file")
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copied)
    return len(paths)


def _summarise(path: Path) -> str:
    """Return the first sentence of the comment at the head of a file, or above the pipeline of the same name."""
    text = path.read_text(encoding="utf-8")
    head = re.match(rf"((?:#.*\n)++)(?!pipeline (?!{path.stem}\b))", text)
    comment = head or re.search(rf"((?:^#.*\n)+)pipeline {path.stem}\b", text, re.MULTILINE)
    lines = comment[1].splitlines() if comment else []
    return re.split(r"(?<=[\w)])[.:] |\.$", " ".join(line.lstrip("# ") for line in lines))[0]
