"""Whether states are a run of an SMV model."""

from __future__ import annotations

from workbench.errors import EngineError
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import EngineLimits, Query, RawTrace, Task
from workbench.smv.engines.smv import CLOCK, confine
from workbench.verify.decide.table import complete_engine


def follows(model: str, trace: RawTrace, engine: str = "auto", limits: EngineLimits = EngineLimits()) -> bool:  # noqa: B008
    """Whether the model has the run `trace`: a path from an initial state, or a fair lasso.

    A run is given by the values of the model's VARs. An engine that simulates follows a path. Otherwise the model is
    confined to the run, and asked whether it comes to the end of it.
    """
    checker = complete_engine(engine)
    last = len(trace.steps) - 1
    try:
        if isinstance(checker, PynusmvEngine) and trace.loop is None:
            checker.simulate_many(model, (), [trace.steps], (), limits=limits)
            return True
        query = Query("invar", f"{CLOCK} != {last}") if trace.loop is None else Query("ctl", f"!EF {CLOCK} = {last}")
        return checker.check(Task(confine(model, trace), (query,)), limits).answers[0].truth is False
    except EngineError:  # no state matches, or what is confined to them has no initial state or no way on
        return False
