"""Model checkers behind one interface: SMV text and queries in, verdicts and traces out.

Here and below nothing is known of pipelines. `get_engine` is the way in; `base` has the data.
"""

from .base import (
    Answer,
    Availability,
    Engine,
    EngineLimits,
    Query,
    QueryKind,
    RawTrace,
    Reached,
    SimulatedRun,
    Task,
    TaskResult,
)
from .registry import ENGINES, INCOMPLETE, complete_engine, find_engines, get_engine, get_simulator

__all__ = [
    "ENGINES",
    "INCOMPLETE",
    "Answer",
    "Availability",
    "Engine",
    "EngineLimits",
    "Query",
    "QueryKind",
    "RawTrace",
    "Reached",
    "SimulatedRun",
    "Task",
    "TaskResult",
    "complete_engine",
    "find_engines",
    "get_engine",
    "get_simulator",
]
