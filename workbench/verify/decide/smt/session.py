"""Calls of z3 within limits.

The rule of this module: z3 works in a thread of its own, while the calling thread waits in Python, where Ctrl-C and the
end of a budget reach it; each decision has a context of its own, so that several threads can decide at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from importlib.metadata import version
from importlib.util import find_spec
from typing import Any

from workbench.budget import uninterruptible
from workbench.errors import EngineMissing
from workbench.extras import install_extra
from workbench.interrupts import checkpoint
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.decide.system_decider import Allowance

POLL_SECONDS = 0.03
"""Seconds between two checks of the limits while z3 works."""
NO_TIMEOUT = 2**32 - 1
"""The value that means no timeout to z3, in milliseconds."""


def z3_version() -> str:
    """Return the version of z3.

    Raises
    ------
    EngineMissing: it is not installed.
    """
    if find_spec("z3") is None:
        raise EngineMissing("the Python package z3 is not installed", hint=install_extra("smt"))
    return f"z3 {version('z3-solver')}"


@uninterruptible
def _make_context(z3: Any) -> Any:
    """Return a new context; half of one could not be removed."""
    return z3.Context()


class Z3Session(Allowance):
    """A context of z3 with limits.

    Parameters
    ----------
    logic: the logic of its solvers; empty: any.

    Attributes
    ----------
    z3: the module.
    """

    def __init__(self, limits: EngineLimits, logic: str = "") -> None:
        import z3

        super().__init__(limits)
        self._logic = logic
        self.z3: Any = z3
        self.context = _make_context(z3)

    def solver(self) -> Any:
        """Return a new solver."""
        z3, logic = self.z3, self._logic
        solver = z3.SolverFor(logic, ctx=self.context) if logic else z3.SimpleSolver(ctx=self.context)
        solver.set("ctrl_c", False)
        return solver

    def is_sat(self, solver: Any, seconds: float | None = None) -> bool | None:
        """Return whether the assertions of a solver can be satisfied; None if z3 does not decide it.

        Parameters
        ----------
        seconds: the maximum time of this call, if it is less than what is left. After an interrupt, which limits of the
            session are, a solver may refuse to go on; after a timeout it does not.
        """
        solver.set("timeout", NO_TIMEOUT if seconds is None else max(1, int(seconds * 1000)))
        return self.call(solver.check)

    def call(self, ask: Callable[[], Any]) -> bool | None:
        """Return the answer of a call of z3; see `is_sat`."""
        self.check_limits()
        results: list[Any] = []
        thread = threading.Thread(target=self._work, args=(ask, results), daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_SECONDS)
                checkpoint()
                if thread.is_alive() and self.find_exceeded():
                    self.context.interrupt()
        except BaseException:
            self._stop(thread)
            raise
        self.check_limits()
        return {"sat": True, "unsat": False}.get(str(results[0]))

    def _work(self, ask: Callable[[], Any], results: list[Any]) -> None:
        try:
            results.append(ask())
        except self.z3.Z3Exception as error:  # such as memory, or an operation that the engine does not support
            results.append(error)

    def _stop(self, thread: threading.Thread) -> None:
        while thread.is_alive():
            self.context.interrupt()
            thread.join(POLL_SECONDS)
