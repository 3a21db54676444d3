"""What a failing property met, as the text of a file for `tests/corpus/found`: the program of a pipeline, and steps."""

from __future__ import annotations

from traceback import walk_tb
from types import TracebackType
from typing import Any

from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import WorkbenchError

TITLE = "a case to keep as tests/corpus/found/NAME.txt"


def case(test: str, raised: TracebackType | None) -> list[tuple[str, str]]:
    """A titled section of the report, or none: of the first function on the way to the error that has a pipeline."""
    for frame, _ in walk_tb(raised):
        known = frame.f_locals
        pipeline = next((each for each in known.values() if isinstance(each, Pipeline)), None)
        if pipeline is not None:
            steps = known.get("steps", [])
            try:
                return [(TITLE, text(test, pipeline, steps if isinstance(steps, list) else []))]
            except WorkbenchError as error:
                return [(TITLE, f"{pipeline.name} cannot be written as a program: {error}")]
    return []


def text(test: str, pipeline: Pipeline, steps: list[Any]) -> str:
    """The file."""
    from workbench.conformance.generate.python_source import body
    from workbench.conformance.written_tests.pytest_file import as_source

    shown = "".join(f"    {as_source(events if events is END else dict(events))},\n" for events in steps)
    return f"# Found by {test}\n{body(pipeline)}\nsteps = [\n{shown}]\n"


def program(text: str) -> str:
    """The same with the imports that it takes."""
    from workbench.conformance.generate.python_source import imports

    return f"{imports(text)}\n{text}"


def read(case: str) -> tuple[Pipeline, list[Any]]:
    """The pipeline and the steps of such a text."""
    known: dict[str, Any] = {}
    exec(program(case), known)
    return known["pipeline"], known["steps"]
