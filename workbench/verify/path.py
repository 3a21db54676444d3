"""Whether states are a run of an SMV model: the model is confined to them, and asked whether it comes to the end."""

from __future__ import annotations

from workbench.errors import EngineError
from workbench.verify.engines import Limits, Query, RawTrace, Task, get_engine
from workbench.verify.engines.embedded import PynusmvEngine
from workbench.verify.engines.smv import insert_into_main

CLOCK = "workbench_step"


def follows(model: str, trace: RawTrace, engine: str = "auto", limits: Limits = Limits()) -> bool:  # noqa: B008
    """Whether the model has the run `trace`: a path from an initial state, or a fair lasso.

    A run is given by the values of the model's VARs. An engine that simulates follows a path. Otherwise a clock counts
    the states of the run, and the model is held to them.
    """
    checker = get_engine(engine)
    if isinstance(checker, PynusmvEngine) and trace.loop is None:
        return _simulates(checker, model, trace, limits)
    last = len(trace.steps) - 1
    after = last + 1 if trace.loop is None else trace.loop  # what follows a path is free
    states = " & ".join(
        f"({CLOCK} = {step} -> " + (" & ".join(f"{n} = {v}" for n, v in state.items()) or "TRUE") + ")"
        for step, state in enumerate(trace.steps)
    )
    confined = insert_into_main(
        model,
        f"VAR {CLOCK} : 0..{last + 1}; ASSIGN init({CLOCK}) := 0; next({CLOCK}) := "
        f"case {CLOCK} < {last} : {CLOCK} + 1; {CLOCK} = {last} : {after}; TRUE : {CLOCK}; esac; INVAR {states};",
    )
    query = Query("invar", f"{CLOCK} != {last}") if trace.loop is None else Query("ctl", f"!EF {CLOCK} = {last}")
    try:
        return checker.check(Task(confined, (query,)), limits).answers[0].truth is False
    except EngineError:  # confined to states that are no run, the model has no initial state or stops somewhere
        return False


def _simulates(engine: PynusmvEngine, model: str, trace: RawTrace, limits: Limits) -> bool:
    try:
        engine.simulate(model, trace.steps, (), limits=limits)
    except EngineError:
        return False
    return True
