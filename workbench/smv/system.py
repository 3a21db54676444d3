"""A hand-written SMV system as text: its declarations, and the same text as a part of a larger model.

The rule of this module: the text is kept line by line. Only `MODULE main` is renamed, and DEFINEs for expressions over
its names go on that line, so that the lines in an engine's messages stay those of the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.errors import LanguageError, Location, Refused
from workbench.named_files import read_text

FairnessKind = Literal["", "justice", "compassion"]

_COMMENT = re.compile(r"/--.*?--/|--[^\n]*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_$#-]*")
_MODULE = re.compile(r"^[ \t]*MODULE[ \t]+(\w+)[ \t]*(\([^)]*\))?", re.MULTILINE)
_SECTION = re.compile(
    r"\b(VAR|IVAR|FROZENVAR|DEFINE|MDEFINE|ASSIGN|INIT|TRANS|INVAR|CONSTANTS|CTLSPEC|SPEC|LTLSPEC|PSLSPEC|INVARSPEC"
    r"|COMPUTE|FAIRNESS|JUSTICE|COMPASSION|CONSTRAINT|ISA|NAME|MODULE)\b"
)
_DECLARED = re.compile(r"(?:^|;)\s*([A-Za-z_][\w$#-]*)\s*:")
_PROCESS = re.compile(r":\s*(process)\b")


@dataclass(frozen=True)
class SmvSystem:
    """A system in SMV.

    Attributes
    ----------
    path: the file of the system.
    words: every identifier in it.
    names: the variables, definitions and instances of its main module.
    transient: its IVARs, which have values only on transitions between states.
    fairness: whether its runs are restricted by FAIRNESS or JUSTICE, or by COMPASSION.
    """

    path: str
    text: str
    words: frozenset[str]
    names: tuple[str, ...]
    transient: frozenset[str]
    fairness: FairnessKind

    def fresh(self, name: str) -> str:
        """Return `name`, or a longer name that the text does not use."""
        while name in self.words:
            name += "_"
        return name

    def part(self, module: str, definitions: Mapping[str, str]) -> str:
        """Return the text with `main` renamed to `module`, and with definitions over its names."""
        main = _find_main(_blank_comments(self.text))
        assert main is not None
        sections = f" DEFINE {' '.join(f'{name} := {text};' for name, text in definitions.items())}"
        head = self.text[: main.start()] + f"MODULE {module}"
        return f"{head}{sections if definitions else ''}{self.text[main.end() :]}"


def read_system(path: str | Path) -> SmvSystem:
    """Read the system in a file.

    Raises
    ------
    InputError: the file cannot be read. LanguageError: it has no main module. Refused: it has processes.
    """
    return system_from(read_text(path, lambda: "give the path of an SMV file"), str(path))


def system_from(text: str, path: str = "<text>") -> SmvSystem:
    """Return the system that a text describes (see `read_system`)."""
    plain = _blank_comments(text)
    main = _find_main(plain)
    if main is None:
        raise LanguageError(
            f"{path} has no module main", where=Location(path), hint="the system is what MODULE main describes"
        )
    if main[2] and main[2].strip("() \t"):
        raise LanguageError("the module main has parameters", where=_locate(path, text, main.start()))
    if process := _PROCESS.search(plain):
        raise Refused(
            "processes run one at a time, so that a step of the system is not a step of all its parts",
            where=_locate(path, text, process.start(1)),
            hint="name the part that moves in a variable of your own: VAR turn : {first, second}",
        )
    following = _MODULE.search(plain, main.end())
    own = plain[main.end() : following.start() if following else None]
    words = frozenset(_WORD.findall(plain))
    fairness: FairnessKind = "justice" if words & {"FAIRNESS", "JUSTICE"} else ""
    return SmvSystem(
        path,
        text,
        words,
        tuple(dict.fromkeys(_find_declared(own, {"VAR", "FROZENVAR", "DEFINE"}))),
        frozenset(_find_declared(plain, {"IVAR"})),
        "compassion" if "COMPASSION" in words else fairness,
    )


def expression(text: str, where: str, system: SmvSystem) -> str:
    """Return an SMV expression over the states of the system, on one line; raise a LanguageError if it is none."""
    plain = " ".join(_blank_comments(text).split())

    def wrong(what: str, hint: str) -> LanguageError:
        return LanguageError(f"'{plain or text}' is not an expression over states: {what}", where=where, hint=hint)

    if not plain:
        raise wrong("it is empty", "write an SMV expression, e.g. count > 0")
    outside = re.sub(r"\bcase\b.*\besac\b", "", plain)
    if ";" in outside or ":=" in plain or not _is_balanced(plain):
        raise wrong("it does not end where it should", "write one SMV expression, e.g. count > 0")
    words = set(_WORD.findall(plain))
    if "next" in words:
        raise wrong("'next' speaks of two states", "a monitor sees one state at a step, and remembers earlier ones")
    if inputs := sorted(words & system.transient):
        raise wrong(f"'{inputs[0]}' is an IVAR, which has no value in a state", "declare it with VAR")
    return plain


def _is_balanced(text: str) -> bool:
    depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if depth < 0:
            return False
    return depth == 0


def _blank_comments(text: str) -> str:
    """Replace the comments of a text by spaces, so that all positions in it stay the same."""
    return _COMMENT.sub(lambda comment: re.sub(r"[^\n]", " ", comment[0]), text)


def _find_main(plain: str) -> re.Match[str] | None:
    return next((module for module in _MODULE.finditer(plain) if module[1] == "main"), None)


def _find_declared(plain: str, sections: Iterable[str]) -> Iterable[str]:
    """Yield the names declared in sections of these kinds."""
    starts = list(_SECTION.finditer(plain))
    for this, following in zip(starts, [*starts[1:], None], strict=True):
        if this[1] in sections:
            body = plain[this.end() : following.start() if following else None]
            for declaration in _DECLARED.finditer(body):
                if this[1] != "DEFINE" or body[declaration.end() : declaration.end() + 1] == "=":
                    yield declaration[1]


def _locate(path: str, text: str, position: int) -> Location:
    line = text.count("\n", 0, position) + 1
    column = position - (text.rfind("\n", 0, position) + 1) + 1
    return Location(path, line, column, text.splitlines()[line - 1])
