"""Ctrl-C at a chosen moment, in any thread.

CPython looks for signals after a call has returned, when a function begins, and where a loop goes back; at all these
points of code in `executors/threaded` a trace function can call the handler, at the first, the second, ... The handler
raises KeyboardInterrupt where it may. This is stricter than CPython: what comes after a call in a `with` or `try` is no
longer covered if that is the end of it.
"""

import dis
import gc
import logging
import signal
import sys
import threading
from itertools import count
from pathlib import Path
from typing import Any

import workbench.executors.threaded.manager
from workbench import interrupts

CODE = str(Path(workbench.executors.threaded.manager.__file__).parent)


def looks_for_signals(opcode):
    name = dis.opname[opcode]
    return name.startswith("CALL") or name == "RESUME" or ("JUMP_BACKWARD" in name and "NO_INTERRUPT" not in name)


class State(interrupts._State):
    """As in a script, but that the handler is there also where nothing is held back: it raises what comes at once."""

    def __init__(self):
        self.reset(threading.get_ident())
        self.program = True


class Interrupt:
    """Raises KeyboardInterrupt in the body of the `with`, in this thread, at the `at`-th point; it ends there.

    Parameters
    ----------
    also: files beside those of the package whose code is interrupted, too.
    """

    def __init__(self, at, also=()):
        self.left = at
        self.also = also
        self.struck = ""

    def __enter__(self):
        self.state, interrupts._state = interrupts._state, State()  # this thread is the one that signals come to
        self.before, self.kept = sys.gettrace(), [self.trace]  # CPython 3.11 crashes if a trace function is gone early
        gc.disable()  # what it calls is interrupted to no purpose
        sys.settrace(self.kept[0])
        return self

    def __exit__(self, kind, error, trace):
        sys.settrace(self.before)
        gc.enable()
        interrupts._state = self.state
        logging.disable(logging.NOTSET)  # a program that ends logs nothing more; the tests go on
        return kind is KeyboardInterrupt

    def trace(self, frame, event, arg):
        file = frame.f_code.co_filename
        if not file.startswith(CODE) and file not in self.also:
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        code = frame.f_code.co_code
        last: int | None = frame.f_lasti if frame.f_lasti >= 0 else None  # it has just begun

        def opcode(frame, event, arg):
            nonlocal last
            if event == "opcode":
                if last is not None and looks_for_signals(code[last]):
                    self.left -= 1
                    if self.left == 0:
                        self.struck = f"{frame.f_code.co_qualname}:{frame.f_lineno}"
                        interrupts._arrive(signal.SIGINT, frame)
                last = frame.f_lasti
            return opcode

        self.kept.append(opcode)
        return opcode


def everywhere(scenario, also=(), step=1):
    """Calls the scenario with an interrupt at the first point, at the second, ..., until none strikes any more.

    Returns the number of interrupts.
    """
    for at in count(1, step):
        interrupt = Interrupt(at, also)
        try:
            scenario(interrupt)
        except BaseException as error:
            error.add_note(f"after interrupt {at}, in {interrupt.struck}")
            raise
        if not interrupt.struck:
            return at - 1
    raise AssertionError


def within(seconds, body):
    """What the body returns, or raises; AssertionError if it takes longer. It runs in a thread of its own."""
    found: list[Any] = []
    errors: list[BaseException] = []

    def run():
        try:
            found.append(body())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(seconds)
    assert not thread.is_alive(), f"hangs for more than {seconds} s"
    for error in errors:
        raise error
    return found[0]
