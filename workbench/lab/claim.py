"""Claims, which are statements judged on the data, and macros, which are named numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.lab.data import Data


class Standing(StrEnum):
    """The standing of a claim."""

    OK = "OK"
    WARNING = "warning"
    FAILS = "fails"
    NO_DATA = "no data"


@dataclass(frozen=True)
class Basis:
    """The numbers of points of an experiment that a claim reads: all, those measured, and those with other code."""

    experiment: str
    points: int
    measured: int
    other_code: int

    def __str__(self) -> str:
        share = "all" if self.other_code == self.measured else self.other_code
        other = f", {share} of them measured with other code" if self.other_code else ""
        return f"{self.measured} of {self.points} points{other}"


@dataclass(frozen=True)
class Judgement:
    """The standing of a claim, and the reason; it was computed from the results `ids`, at the points of `basis`."""

    standing: Standing
    why: str = ""
    ids: tuple[str, ...] = ()
    basis: tuple[Basis, ...] = ()

    @property
    def extent(self) -> str:
        """The part of its points that the claim was judged on, to follow the standing; empty if it is all of them."""
        several = len(self.basis) > 1
        parts = [f"{b.experiment}: " * several + str(b) for b in self.basis if b.measured < b.points or b.other_code]
        return f" on {'; '.join(parts)}" if parts and self.standing is not Standing.NO_DATA else ""


Judge = Callable[["Data"], Judgement]


def ok(why: str = "") -> Judgement:
    """Judge that the data support a claim."""
    return Judgement(Standing.OK, why)


def warns(why: str) -> Judgement:
    """Judge that the data support a claim, with a reservation."""
    return Judgement(Standing.WARNING, why)


def fails(why: str) -> Judgement:
    """Judge that the data contradict a claim."""
    return Judgement(Standing.FAILS, why)


class NoData(Exception):
    """The exception that `Data` raises if a result that a claim or a macro needs has not been measured."""


@dataclass(frozen=True)
class Claim:
    """A statement with the function that judges it."""

    name: str
    text: str
    judge: Judge
    doc: str = ""

    def evaluate(self, data: Data) -> Judgement:
        """Judge the claim. An error in its function counts as a failure that reports the error."""
        own = data.recording()
        try:
            judgement: object = self.judge(own)
        except NoData as error:
            judgement = Judgement(Standing.NO_DATA, str(error))
        except Exception as error:
            judgement = fails(f"the claim cannot be judged: {type(error).__name__}: {error}")
        if not isinstance(judgement, Judgement):
            judgement = fails(
                f"the claim cannot be judged: its function returned {judgement!r}, not ok(), warns(why) or fails(why)"
            )
        return replace(judgement, ids=own.ids, basis=own.basis)


@dataclass(frozen=True)
class MacroValue:
    """The value of a macro, None with a reason if there is none; `ids` are the results that it was computed from."""

    value: Any
    why: str = ""
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class Macro:
    """A named number or text for the text of a paper."""

    name: str
    description: str
    unit: str
    compute: Callable[[Data], Any]

    def evaluate(self, data: Data) -> MacroValue:
        """Compute the value of the macro."""
        own = data.recording()
        try:
            return MacroValue(self.compute(own), "", own.ids)
        except NoData as error:
            return MacroValue(None, str(error), own.ids)
        except Exception as error:
            return MacroValue(None, f"{type(error).__name__}: {error}", own.ids)
