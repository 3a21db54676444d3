"""Read the output of a NuSMV or nuXmv executable: verdicts, traces, counts, vacuity.

The rule of this module: a text may be cut off anywhere, since its process may have been killed; only what is certain
is read from it.
"""

from __future__ import annotations

import re

from .engine import Answer, RawTrace, unshown

_VERDICT = re.compile(r"^-- (?:invariant|specification)\b.*? is (true|false)[ \t]*\n", re.MULTILINE | re.DOTALL)
"""An answer. The tools print a formula with a `case` over several lines."""
_STEP = re.compile(r"^\s*-> (State|Input): \d+\.(\d+) <-\s*$")
_VALUE = re.compile(r"^\s+(\S.*?) = (.*?)\s*$")
_LENGTH = re.compile(r"^-- the result of MAX .* is (\d+|infinity|undefined)", re.MULTILINE | re.DOTALL)
_LOOP = "-- Loop starts here"
_COUNT = re.compile(r"^reachable states: (\S+)", re.MULTILINE)
_DEADLOCK = re.compile(r"A deadlock state is:\n(.*?)\n#", re.DOTALL)


def read_answer(text: str, complete: bool, reason: str = "") -> tuple[Answer, tuple[int, ...]] | None:
    """Return the answer that a query printed, and the possible loops of its trace; None if there is no answer.

    The trace of a false answer comes last, so it is read only if the text is `complete`; `reason` is why it is not.
    """
    verdict = _VERDICT.search(text)
    if verdict is None:
        return None
    if verdict[1] == "true":
        return Answer(True), ()
    if not complete:
        return unshown(reason), ()
    read = read_trace(text)
    return (Answer(False, read[0]), read[1]) if read else (Answer(False), ())


def read_trace(text: str) -> tuple[RawTrace, tuple[int, ...]] | None:
    """Return the trace in a text, and all steps that its loop may start at; None if there is no trace.

    Values that are not repeated are carried forward. The executable marks every step that equals the last one; if there
    are several, only one of them need be the start of the loop that it found.
    """
    steps: list[dict[str, str]] = []
    loops: list[int] = []
    current: dict[str, str] | None = None
    inputs: dict[str, str] = {}
    for line in text.splitlines():
        if _LOOP in line:
            loops.append(len(steps))
        elif step := _STEP.match(line):
            if step[1] == "Input":
                current = inputs = {}
            else:
                current = {**(steps[-1] if steps else {}), **inputs}
                steps.append(current)
        elif current is not None and (value := _VALUE.match(line)):
            current[value[1]] = value[2]
    if not steps:
        return None
    loops = [loop for loop in loops if loop < len(steps) - 1]
    if not loops:
        return RawTrace(tuple(steps)), ()
    return RawTrace(tuple(steps[:-1]), loops[0]), tuple(loops)


def read_count(text: str) -> int | None:
    """Return the number of reachable states (exact up to 2**53, as the executables compute it)."""
    match = _COUNT.search(text)
    return int(float(match[1])) if match else None


def read_length(none: str, text: str) -> Answer:
    """Return the answer to a `longest` query, from the outputs of `AG !set` and of the longest path out of the set.

    The executables report "undefined" if the set, or its complement, is empty.
    """
    empty, length = _VERDICT.search(none), _LENGTH.search(text)
    if empty is None or length is None:
        return Answer(None, reason="the engine reported no result")
    if empty[1] == "true":
        return Answer(True, length=0)
    return Answer(True, length=int(length[1])) if length[1].isdigit() else Answer(False)


def read_deadlock(text: str) -> str:
    """Return the reachable state without successor that `check_fsm` reports; "" if it reports none."""
    match = _DEADLOCK.search(text)
    return ", ".join(line.strip() for line in match[1].splitlines()) if match else ""
