"""Which engines there are, and which are installed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from workbench.errors import EngineError, EngineMissing, WorkbenchError

from .base import Availability, Engine, Query, Task
from .embedded import INSTALL_HINT, PynusmvEngine

if TYPE_CHECKING:
    from .executable import ExecutableEngine
    from .sat import SatEngine


def _executable(name: str) -> ExecutableEngine:
    from .executable import ExecutableEngine

    return ExecutableEngine(name)


def _sat(name: str) -> SatEngine:
    from .sat import SatEngine

    return SatEngine(name)


_MAKERS: dict[str, Callable[[], PynusmvEngine | ExecutableEngine | SatEngine]] = {
    "pynusmv": PynusmvEngine,
    "nusmv": partial(_executable, "nusmv"),
    "nuxmv": partial(_executable, "nuxmv"),
    "bmc": partial(_sat, "bmc"),
    "ic3": partial(_sat, "ic3"),
}
"""Those that start processes of their own are imported when they are used."""

ENGINES = tuple(_MAKERS)
INCOMPLETE = ("bmc", "ic3")
"""Those that do not decide every query, or may search for a proof for ever."""


@functools.cache
def _made(name: str) -> PynusmvEngine | ExecutableEngine | SatEngine:
    return _MAKERS[name]()


def get_engine(name: str = "auto") -> Engine:
    """The engine of that name, the same object every time.

    `auto` is the first that works of `pynusmv`, `nusmv`, `nuxmv`, which decide every query.

    Raises
    ------
    EngineMissing: it is not installed; the hint says what to install.
    """
    if name == "auto":
        return _auto()
    if name not in _MAKERS:
        raise EngineMissing(f"there is no engine '{name}'", hint=f"engines: auto, {', '.join(ENGINES)}")
    return _made(name)


def complete_engine(name: str) -> Engine:
    """The engine of that name if it decides every query that SMV text can ask, else the best of those that do."""
    return get_engine(name if name in ENGINES and name not in INCOMPLETE else "auto")


def get_simulator() -> PynusmvEngine:
    """The engine that can also simulate.

    Raises
    ------
    EngineMissing: pynusmv is not installed.
    """
    engine = _made("pynusmv")
    assert isinstance(engine, PynusmvEngine)
    return engine


@functools.cache
def _auto() -> Engine:
    reasons = []
    for name in (name for name in ENGINES if name not in INCOMPLETE):
        try:
            engine = _made(name)
            if isinstance(engine, PynusmvEngine):
                engine.start()  # pynusmv can be installed and yet fail at import
            return engine
        except (EngineMissing, EngineError) as error:
            reasons.append(error.what)
    raise EngineMissing(
        "no model checker is installed: " + "; ".join(reasons),
        hint=INSTALL_HINT,
    )


def find_engines() -> list[Availability]:
    """Every engine, with its version if it decides a small model as it should, else with the reason."""
    return [_probe(name) for name in ENGINES]


def _probe(name: str) -> Availability:
    try:
        engine = _made(name)
        query = Query("invar", "b | !b") if name in INCOMPLETE else Query("ctl", "EF b")
        result = engine.check(Task("MODULE main\nVAR b : boolean;", (query,)))
        truth = result.answers[0].truth
        if truth is not True:
            return Availability(name, reason=f"it does not work: {result.answers[0].reason or truth}")
        return Availability(name, version=engine.version(), path=getattr(engine, "path", ""))
    except WorkbenchError as error:
        return Availability(name, reason=error.what)
