"""The one exception inside a worker: the model or a formula cannot be used.

It crosses the process boundary as text and becomes an `EngineError` at the caller.
"""

from __future__ import annotations


class Rejected(Exception):
    """The model or a formula is defective; `where` is the offending text, `hint` what to do.

    `printed` tells that NuSMV has printed on stderr what is wrong; then `what` may be empty.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", printed: bool = False) -> None:
        super().__init__(what)
        self.what, self.where, self.hint, self.printed = what, where, hint, printed
