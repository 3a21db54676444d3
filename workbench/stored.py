"""The form of what is stored, to be read again by another process and perhaps by another version of workbench.

The rule of this module: there is one number for all of it: states, checkpoints of streams, compiled code that is kept,
results of the lab. It goes up when one of them is written in another way, or when the same bytes mean something else: a
class whose name is in fingerprints is renamed, for example. What has another number is read where that is safe, else it
is refused in the same words.
"""

from __future__ import annotations

from pathlib import Path

from workbench.errors import StateError

FORM = 3


def other_form(what: str, found: object, hint: str, where: str | Path = "") -> StateError:
    """The error for what was stored by another version."""
    return StateError(
        f"{what} has the form {found}, and this version of workbench reads {FORM}", where=str(where), hint=hint
    )
