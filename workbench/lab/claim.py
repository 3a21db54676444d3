"""Claims, statements that are judged on the data, and macros, numbers with a name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.lab.data import Data


class Standing(StrEnum):
    """How a claim stands."""

    OK = "OK"
    WARNING = "warning"
    FAILS = "fails"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Judgement:
    """How a claim stands, and why; `ids` are the results that it was computed from."""

    standing: Standing
    why: str = ""
    ids: tuple[str, ...] = ()


Judge = Callable[["Data"], Judgement]


def ok(why: str = "") -> Judgement:
    """The data bear it out."""
    return Judgement(Standing.OK, why)


def warns(why: str) -> Judgement:
    """The data bear it out, but."""
    return Judgement(Standing.WARNING, why)


def fails(why: str) -> Judgement:
    """The data contradict it."""
    return Judgement(Standing.FAILS, why)


class NoData(Exception):
    """What a claim or a macro looks at has not been measured; `Data` raises it."""


@dataclass(frozen=True)
class Claim:
    """A statement, and the function that judges it."""

    name: str
    text: str
    judge: Judge
    doc: str = ""

    def evaluate(self, data: Data) -> Judgement:
        """How it stands. A judge that stumbles over the data is a failure that says so."""
        own = data.recording()
        try:
            found: object = self.judge(own)
        except NoData as error:
            found = Judgement(Standing.NO_DATA, str(error))
        except Exception as error:
            found = fails(f"it cannot be judged: {type(error).__name__}: {error}")
        if not isinstance(found, Judgement):
            found = fails(f"it cannot be judged: its function returned {found!r}, not ok(), warns(why) or fails(why)")
        return replace(found, ids=own.ids)


@dataclass(frozen=True)
class MacroValue:
    """The value of a macro, None where it has none, and then why."""

    value: Any
    why: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Macro:
    """A number or a text with a name, for a paper's text."""

    name: str
    description: str
    unit: str
    compute: Callable[[Data], Any]

    def evaluate(self, data: Data) -> MacroValue:
        """Its value."""
        own = data.recording()
        try:
            return MacroValue(self.compute(own), "", own.ids)
        except NoData as error:
            return MacroValue(None, str(error), own.ids)
        except Exception as error:
            return MacroValue(None, f"{type(error).__name__}: {error}", own.ids)
