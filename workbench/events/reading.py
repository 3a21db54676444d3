"""What a user says about the columns and rows of a log, and what has become of them so far.

The rule of this module: both are known before a row is read and hold for all files of a log, whatever their formats.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, get_args

from workbench.errors import InputError, did_you_mean
from workbench.events.table import format_rows

Null = Literal["absent", "error"]
"""What an empty cell or a null is: no event at this step, or an error."""


@dataclass(frozen=True)
class Reading:
    """How a log is read.

    Parameters
    ----------
    columns: the column for an input, or for a field of a record on one (`e.user`), where it is not called like that.
    strict: whether columns that no input needs are an error; else they are passed over.
    null: what an empty cell or a null is.
    format: of the files; None: what their names or first bytes say.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    strict: bool = False
    null: Null = "absent"
    format: str | None = None

    @classmethod
    def of(cls, options: argparse.Namespace) -> Self:
        """What the options of `workbench run` say, as a command line gives them, or Python.

        Raises
        ------
        InputError: one of them means nothing.
        """
        null: Any = getattr(options, "null", None) or "absent"
        if null not in get_args(Null):
            raise InputError(f"there is no meaning '{null}' of nulls", hint=did_you_mean(null, get_args(Null)))
        columns = _columns(getattr(options, "column", None) or {})
        return cls(columns, bool(getattr(options, "strict", False)), null, getattr(options, "format", None))


def _columns(given: Mapping[str, str] | Iterable[str]) -> Mapping[str, str]:
    if isinstance(given, Mapping):
        return given
    found: dict[str, str] = {}
    for text in [given] if isinstance(given, str) else given:
        name, equals, column = text.partition("=")
        if not (name and equals and column):
            raise InputError(f"--column {text}: expected INPUT=COLUMN", hint="for example --column x=temperature")
        if name in found:
            raise InputError(f"--column says twice where '{name}' comes from: {found[name]} and {column}")
        found[name] = column
    return found


@dataclass
class Tally:
    """What has become of the rows of a log so far.

    Parameters
    ----------
    say: tells the user something beside the output.

    Attributes
    ----------
    ignored: the columns that no input needs.
    """

    say: Callable[[str], object] = lambda _: None
    ignored: dict[str, None] = field(default_factory=dict)

    def pass_over(self, names: Iterable[str]) -> None:
        """Some columns feed no input; the user is told so once, of the first ones."""
        told = bool(self.ignored)
        self.ignored |= dict.fromkeys(names)
        if self.ignored and not told:
            shown = ", ".join(name or "''" for name in self.ignored)
            self.say(f"columns that no input needs are passed over: {shown} (--strict refuses them)")


def reading_options(parser: argparse.ArgumentParser) -> None:
    """The options of `Reading`."""
    parser.add_argument(
        "--format", choices=list(format_rows()), help="of the input (default: by its name, or its first bytes)"
    )
    group = parser.add_argument_group("columns and rows of the log")
    group.add_argument(
        "--column", action="append", metavar="INPUT=COLUMN",
        help="the column for an input, or for a field of one (e.user=name); repeatable (default: that of its name)",
    )  # fmt: skip
    group.add_argument("--strict", action="store_true", help="columns that no input needs are an error")
    group.add_argument(
        "--null", choices=get_args(Null), default="absent",
        help="what an empty cell or a null is: no event at this step, or an error (default: absent)",
    )  # fmt: skip
