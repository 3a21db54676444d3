"""What a failing property met, as text to be kept: the pipeline as a program, and its steps."""

from __future__ import annotations

from traceback import walk_tb
from types import TracebackType

from workbench.core.pipeline import Pipeline
from workbench.errors import WorkbenchError


def case(raised: TracebackType | None) -> list[tuple[str, str]]:
    """A titled section of the report, or none: of the first function on the way to the error that has a pipeline."""
    from workbench.conformance.source import program

    for frame, _ in walk_tb(raised):
        known = frame.f_locals
        pipeline = next((each for each in known.values() if isinstance(each, Pipeline)), None)
        if pipeline is not None:
            others = [f"{name} = {known[name]!r}" for name in ("steps", "q", "prop", "together") if name in known]
            try:
                return [("a case to keep", "\n".join([program(pipeline), *others]))]
            except WorkbenchError as error:
                return [("a case to keep", f"{pipeline.name} cannot be written as a program: {error}")]
    return []
