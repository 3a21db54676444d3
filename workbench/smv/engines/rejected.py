"""The one exception inside a worker, that the model or a formula cannot be used, and its words.

It crosses the process boundary as text and becomes an `EngineError` at the caller.
"""

from __future__ import annotations

NO_INITIAL_STATE = "the model is vacuous: it has no initial state", "INIT, init(...) and INVAR contradict each other"
"""What is wrong, and what to do."""
NO_FAIR_PATH = (
    "the model is vacuous: no fair path starts in an initial state",
    "the FAIRNESS constraints cannot all be met again and again",
)


def deadlock(state: str) -> tuple[str, str]:
    """The same of a reachable state without successor."""
    what = f"the model deadlocks: there is no successor of the reachable state {state}"
    return what, "TRANS and INVAR must leave every reachable state a next one"


class RejectedError(Exception):
    """The model or a formula is defective; `where` is the offending text, `hint` what to do.

    `printed` tells that NuSMV has printed on stderr what is wrong; then `what` may be empty.
    """

    def __init__(self, what: str, hint: str = "", *, where: str = "", printed: bool = False) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.printed = what, where, hint, printed
