"""Errors of ours on their way through Spark, which knows only texts and Java's stack traces.

The rule of this module: what a worker raises arrives as it was, class, place and hint. It travels at the end of the
message, after the text for people who meet it as it is.
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
from collections.abc import Iterator

from workbench import errors
from workbench.errors import SparkError, WorkbenchError

_MARK = re.compile(r"\[workbench:([A-Za-z0-9+/=]+)\]")


class Carried(Exception):
    """An error of ours as Spark shall show it."""

    def __init__(self, error: WorkbenchError) -> None:
        told = [type(error).__name__, error.what, str(error.where), error.hint]
        super().__init__(f"{error.message}\n[workbench:{base64.b64encode(json.dumps(told).encode()).decode()}]")


@contextlib.contextmanager
def carried() -> Iterator[None]:
    """In a worker: what is raised inside comes back on the driver, through `brought_back`."""
    try:
        yield
    except WorkbenchError as error:
        raise Carried(error) from error


def found_in(error: BaseException) -> WorkbenchError | None:
    """The error of ours that one of Spark's is about, if any."""
    match = _MARK.search(str(error))
    if match is None:
        return None
    name, what, where, hint = json.loads(base64.b64decode(match[1]))
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, WorkbenchError)):
        kind = WorkbenchError
    return kind(what, where=where, hint=hint)


@contextlib.contextmanager
def brought_back(hint: str = "") -> Iterator[None]:
    """On the driver: an error of ours that a worker met is raised as it was, any other of Spark's as a `SparkError`.

    Parameters
    ----------
    hint: what to do about the others.
    """
    try:
        yield
    except WorkbenchError:
        raise
    except Exception as error:
        ours = found_in(error)
        if ours is None and not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        raise (ours or SparkError(f"Spark gave up: {told(error)}", hint=hint)) from None if ours else error


def told(error: Exception) -> str:
    """What is wrong, without stacks: what Spark says first, and the Python error behind it if there is one."""
    text = str(error).replace(": Traceback (most", ":\nTraceback (most")
    shown = text.strip().splitlines()[0] if text.strip() else type(error).__name__
    behind = re.findall(r"^Traceback \(most.*\n(?:[ \t].*\n)*(\S.*)$", text, re.MULTILINE)
    return f"{shown} {behind[-1]}" if behind and behind[-1] not in shown else shown
