"""Model checkers behind one interface: SMV text and queries in, verdicts and traces out.

Here and below nothing is known of pipelines. `engine` has the data; `verify.decide.table` knows which there are.
"""

from .engine import (
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

__all__ = [
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
]
