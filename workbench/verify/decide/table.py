"""The table of engines, and which are installed.

The rule of this module: an engine is a row of `ENGINES`, or a `ROW` in the folder `engines` of an extension. Rows are
read to show help, so a row imports its decider only when it has its turn, which in most checks is never.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import EngineError, EngineMissing, WorkbenchError
from workbench.extensions import later, rows

if TYPE_CHECKING:
    from workbench.smv.engines.embedded import PynusmvEngine
    from workbench.smv.engines.engine import Availability, Engine
    from workbench.verify.decide.part import Decider


class Turn(NamedTuple):
    """The turn of an engine in `auto`: a share of the time left, or a number of seconds if that is less.

    Turns come in ascending `order`; those where a state is large (`EngineRow.large`) are numbered among the others.
    """

    share: float
    seconds: float
    order: int = 100


@dataclass(frozen=True)
class EngineRow:
    """One engine: `reader` makes an engine that reads SMV text, or `decider` makes a decider of parts.

    Parameters
    ----------
    name, what: its name, and a description in one line.
    decides: the properties that it decides, in words.
    complete: whether it decides all of them, given time; the others may search for a proof for ever.
    turn: its turn in `auto`; engines without one run only by name.
    large: its turn where a state is large, if it is another one.
    quick: an additional turn before all others but that of BDDs, where a state is large.
    bitwise: the same, where bits of numbers are combined, or numbers multiplied.
    shortest: kinds of queries (`invar`), and first operators of formulas, for which its counterexamples are shortest.
    long: whether its counterexamples are far from shortest, so that `auto` then looks for shorter ones.
    asks: whether it queries the other engines.
    rank: the position of an engine of an extension among others.
    """

    name: str
    what: str
    decides: str
    reader: Callable[[], Engine] | None = None
    decider: Callable[[], Decider] | None = None
    complete: bool = True
    turn: Turn | None = None
    large: Turn | None = None
    quick: Turn | None = None
    bitwise: Turn | None = None
    shortest: tuple[str, ...] = ()
    long: bool = False
    asks: bool = False
    rank: int = 100


ENGINES = (
    EngineRow(
        "auto", "BDDs, and the others beside them, as below; the default", "everything",
        decider=later("workbench.verify.decide.deciders", "AutoDecider"), asks=True,
    ),
    EngineRow(
        "all", "every installed engine, each checking the others", "everything",
        decider=later("workbench.verify.decide.deciders", "AllDecider"), asks=True,
    ),
    EngineRow(
        "explicit", "our own search through the states, one by one; always available",
        "invariants, `liveness`, `AG EF`, `response` and other `GF`, `FG`; at most 65536 choices of inputs",
        decider=later("workbench.verify.decide.explicit.decider", "ExplicitDecider"),
        turn=Turn(0.5, 60.0, order=6), large=Turn(0.25, 60.0, order=6),
    ),
    EngineRow(
        "algebra", "equations between the numbers in a state, as polynomials; always available",
        "proves invariants and equivalences, whatever N is; refutes nothing",
        decider=later("workbench.verify.decide.algebra.relations", "AlgebraDecider"), complete=False,
        turn=Turn(0.15, 10.0, order=4), quick=Turn(0.1, 1.0),  # no more is needed for most equivalences that it proves
    ),
    EngineRow(
        "pynusmv", "NuSMV 2.5.4 (BDDs) inside a worker process, milliseconds a check", "everything",
        later("workbench.smv.engines.embedded", "PynusmvEngine"), shortest=("invar", "AG"),
    ),
    EngineRow(
        "nusmv", "the executable NuSMV, found in `WORKBENCH_NUSMV`, beside Python, or on the PATH", "everything",
        later("workbench.smv.engines.executable", "ExecutableEngine", "nusmv"), shortest=("invar",),
    ),
    EngineRow(
        "nuxmv", "the executable nuXmv, found in `WORKBENCH_NUXMV`, beside Python, or on the PATH", "everything",
        later("workbench.smv.engines.executable", "ExecutableEngine", "nuxmv"), shortest=("invar",),
    ),
    EngineRow(
        "bmc", "NuSMV with a SAT solver: bounded search, and induction",
        "invariants and LTL, when a short run or a short proof exists",
        later("workbench.smv.engines.sat", "SatEngine", "bmc"), complete=False, turn=Turn(0.25, 60.0, order=7),
        shortest=("invar",),
    ),
    EngineRow(
        "ic3", "nuXmv's IC3", "invariants", later("workbench.smv.engines.sat", "SatEngine", "ic3"), complete=False
    ),
    EngineRow(
        "simulation", "random runs, with extreme, held and repeated inputs (extra `smt` or `fast`)",
        "refutes invariants, and LTL by lassos with repeated inputs; proves nothing; not shortest",
        decider=later("workbench.verify.decide.simulation", "SimulationDecider"), complete=False,
        turn=Turn(0.1, 2.0, order=5), large=Turn(0.2, 5.0, order=1), long=True,
    ),
    EngineRow(
        "induction", "k-induction over integers, with z3 (extra `smt`)",
        "invariants, when a short run or a short proof exists; linear arithmetic; shortest counterexamples",
        decider=later("workbench.verify.decide.smt.induction", "InductionDecider"), complete=False,
        turn=Turn(0.25, 64.0, order=11), large=Turn(0.25, 20.0, order=5), shortest=("invar",),
    ),
    EngineRow(
        "bits", "k-induction over bit vectors, with z3 (extra `smt`)",
        "invariants, when a short run or a short proof exists; any arithmetic; shortest counterexamples",
        decider=later("workbench.verify.decide.smt.bits", "BitsDecider"), complete=False,
        turn=Turn(0.25, 65.0, order=12), bitwise=Turn(0.25, 10.0), shortest=("invar",),
    ),
    EngineRow(
        "invariants", "k-induction with invariants that random runs suggest and z3 proves (extra `smt`)",
        "invariants; linear arithmetic; shortest counterexamples",
        decider=later("workbench.verify.decide.smt.invariants", "InvariantsDecider"), complete=False,
        turn=Turn(0.25, 62.0, order=9), large=Turn(0.25, 8.0, order=2),
    ),
    EngineRow(
        "spacer", "z3's own engine for reachability, over integers (extra `smt`)",
        "invariants; linear arithmetic; shortest counterexamples",
        decider=later("workbench.verify.decide.smt.spacer", "SpacerDecider"), complete=False,
        turn=Turn(0.25, 63.0, order=10), large=Turn(0.25, 9.0, order=3),
    ),
)  # fmt: skip
"""The engines of workbench itself, in the order in which they are shown."""


@functools.cache
def engine_rows() -> Mapping[str, EngineRow]:
    """Return the engines by name, in the order in which they are shown."""
    return rows("workbench.verify.decide.engines", ENGINES)


def single_engines() -> list[EngineRow]:
    """Return the engines that decide by themselves, the complete ones first."""
    return sorted((row for row in engine_rows().values() if not row.asks), key=lambda row: not row.complete)


@functools.cache
def get_engine(name: str = "auto") -> Engine:
    """Return the engine of that name that reads SMV text, the same object every time.

    `auto` is the first working engine that decides every query.

    Raises
    ------
    EngineMissing: the engine is not installed; the hint names what to install.
    """
    if name == "auto":
        return _choose_engine()
    readers = {row.name: row.reader for row in engine_rows().values() if row.reader}
    if name not in readers:
        raise EngineMissing(f"there is no engine '{name}'", hint=f"engines: auto, {', '.join(readers)}")
    return readers[name]()


def complete_engine(name: str) -> Engine:
    """Return the engine of that name if it decides every SMV query, else the best complete one."""
    row = engine_rows().get(name)
    return get_engine(name if row and row.reader and row.complete else "auto")


def get_simulator() -> PynusmvEngine:
    """Return the engine that can also simulate.

    Raises
    ------
    EngineMissing: pynusmv is not installed.
    """
    from workbench.smv.engines.embedded import PynusmvEngine

    engine = get_engine("pynusmv")
    assert isinstance(engine, PynusmvEngine)
    return engine


def _choose_engine() -> Engine:
    reasons, hint = [], ""
    for row in (row for row in engine_rows().values() if row.reader and row.complete):
        try:
            engine = get_engine(row.name)
            engine.start()  # pynusmv can be installed and yet fail at import
            return engine
        except (EngineMissing, EngineError) as error:
            reasons.append(error.what)
            hint = hint or error.hint
    raise EngineMissing("NuSMV is not installed: " + "; ".join(reasons), hint=hint)


def find_engines() -> list[Availability]:
    """Return every engine, with its version if it decides a small model correctly, else with the reason."""
    return [_probe(row) for row in engine_rows().values() if not row.asks]


def _probe(row: EngineRow) -> Availability:
    from workbench.smv.engines.engine import Availability, Query, Task

    try:
        if row.decider:
            return Availability(row.name, version=row.decider().version)
        engine = get_engine(row.name)
        query = Query("ctl", "EF b") if row.complete else Query("invar", "b | !b")
        result = engine.check(Task("MODULE main\nVAR b : boolean;", (query,)))
        truth = result.answers[0].truth
        if truth is not True:
            return Availability(row.name, reason=f"it does not work: {result.answers[0].reason or truth}")
        return Availability(row.name, version=engine.version(), path=engine.path)
    except WorkbenchError as error:
        return Availability(row.name, reason=error.what, hint=error.hint)
