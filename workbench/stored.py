"""The form of what is stored, to be read again by another process and perhaps by another version of workbench.

The rule of this module: there is one number for all of it: states, checkpoints of streams, compiled code that is kept,
results of the lab. It goes up when one of them is written in another way, or when the same bytes mean something else: a
class whose name is in fingerprints is renamed, for example. What has another number is read where that is safe, else it
is refused in the same words.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from workbench.errors import StateError

FORM = 7
MAGIC = b"WBS"
SIZE = 16
DAMAGED = "take an earlier copy of it, or start afresh"


def other_form(what: str, found: object, hint: str, where: str | Path = "") -> StateError:
    """The error for what was stored by another version."""
    return StateError(
        f"{what} has the form {found}, and this version of workbench reads {FORM}", where=str(where), hint=hint
    )


def checksum(data: bytes) -> bytes:
    """What tells bytes from others."""
    return hashlib.sha256(data).digest()[:SIZE]


def seal(mark: bytes, payload: bytes) -> bytes:
    """A state with what says whose it is, and that it is whole."""
    return MAGIC + bytes([FORM]) + checksum(mark + payload) + mark + payload


def mark_of(data: bytes) -> bytes:
    """What a state says whose it is."""
    return data[len(MAGIC) + 1 + SIZE :][:SIZE]


def unseal(mark: bytes, data: bytes, of: str = "pipeline", by: str = "backend") -> bytes:
    """What `seal` was given.

    Raises
    ------
    StateError: these are no bytes of this form, they are not what they were, or are of another program.
    """
    hint = f"go on with the {of}, the {by} and the version of workbench that it was made by; or start afresh"
    head = len(MAGIC) + 1
    if data[: len(MAGIC)] != MAGIC:
        raise StateError(f"this is no state of a {of}", hint=hint)
    if data[len(MAGIC) : head] != bytes([FORM]):
        raise other_form("this state", data[len(MAGIC)] if len(data) > len(MAGIC) else "none", hint)
    whole, content = data[head : head + SIZE], data[head + SIZE :]
    if checksum(content) != whole:
        raise StateError("this state is damaged: it is not what was saved", hint=DAMAGED)
    if content[:SIZE] != mark:
        raise StateError(f"this is the state of another {of}, or of another {by}", hint=hint)
    return content[SIZE:]
