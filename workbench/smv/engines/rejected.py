"""The one exception inside a worker, that the model or a formula cannot be used, and its words.

It crosses the process boundary as text and becomes an `EngineError` at the caller.
"""

from __future__ import annotations

NO_INITIAL_STATE = "the model is vacuous: it has no initial state"
NO_INITIAL_STATE_HINT = "INIT, init(...) and INVAR contradict each other"
DEADLOCK = "the model deadlocks: there is no successor of the reachable state {state}"
DEADLOCK_HINT = "TRANS and INVAR must leave every reachable state a next one"
NO_FAIR_PATH = "the model is vacuous: no fair path starts in an initial state"
NO_FAIR_PATH_HINT = "the FAIRNESS constraints cannot all be met again and again"


class RejectedError(Exception):
    """The model or a formula is defective; `where` is the offending text, `hint` what to do.

    `printed` tells that NuSMV has printed on stderr what is wrong; then `what` may be empty.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", printed: bool = False) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.printed = what, where, hint, printed
