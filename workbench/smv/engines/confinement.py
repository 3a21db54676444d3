"""SMV models whose runs are confined to one run: a transformation of the text, for all engines."""

from __future__ import annotations

import re

from .engine import RawTrace

CLOCK = "workbench_step"
"""The variable that counts the states of a run in a confined model."""

_MAIN = re.compile(r"^[ \t]*MODULE[ \t]+main\b(?:[ \t]*\([ \t]*\))?", re.MULTILINE)


def insert_into_main(model: str, sections: str) -> str:
    """Insert sections at the start of the module main.

    They go on the line of `MODULE main`, so that the line numbers in an engine's messages stay
    those of the caller's text. A text without a module main is returned unchanged: engines report
    that themselves.
    """
    main = _MAIN.search(model)
    return model if main is None else f"{model[: main.end()]} {sections} {model[main.end() :]}"


def confine(model: str, trace: RawTrace) -> str:
    """Return the model with its runs confined to one lasso, or to those that begin with one path."""
    last = len(trace.steps) - 1
    after = last + 1 if trace.loop is None else trace.loop
    states = " & ".join(
        f"({CLOCK} = {index} -> " + (" & ".join(f"{n} = {v}" for n, v in step.items()) or "TRUE") + ")"
        for index, step in enumerate(trace.steps)
    )
    return insert_into_main(
        model,
        f"VAR {CLOCK} : 0..{last + 1}; ASSIGN init({CLOCK}) := 0; next({CLOCK}) := "
        f"case {CLOCK} < {last} : {CLOCK} + 1; {CLOCK} = {last} : {after}; TRUE : {CLOCK}; esac; INVAR {states};",
    )
