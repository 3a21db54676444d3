"""The format of stored data, which another process, perhaps of another version of workbench, reads again.

The rule of this module: there is one number for all of it: states, checkpoints of streams, cached compiled code,
results of the lab. It is increased when one of them is written differently, or when the same bytes change their
meaning: if a class is renamed whose name is in fingerprints, for example. Data with another number is read where that
is safe, and otherwise refused in the same words.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from workbench.errors import StateError

FORM = 7
MAGIC = b"WBS"
SIZE = 16
DAMAGED = "use an earlier copy of it, or start afresh"


def other_form(what: str, form: object, hint: str, where: str | Path = "") -> StateError:
    """Return the error for data that another version has stored."""
    return StateError(
        f"{what} has the form {form}, but this version of workbench reads {FORM}", where=str(where), hint=hint
    )


def checksum(data: bytes) -> bytes:
    """Return a checksum that identifies bytes."""
    return hashlib.sha256(data).digest()[:SIZE]


def seal(mark: bytes, payload: bytes) -> bytes:
    """Return a state with its mark, which identifies its owner, and a checksum."""
    return MAGIC + bytes([FORM]) + checksum(mark + payload) + mark + payload


def mark_of(data: bytes) -> bytes:
    """Return the mark of a state."""
    return data[len(MAGIC) + 1 + SIZE :][:SIZE]


def unseal(mark: bytes, data: bytes, of: str = "pipeline", by: str = "backend") -> bytes:
    """Return the payload that `seal` was given.

    Raises
    ------
    StateError: the bytes are not of this form, are damaged, or are of another program.
    """
    hint = f"use the {of}, the {by} and the version of workbench that saved it; or start afresh"
    head = len(MAGIC) + 1
    if data[: len(MAGIC)] != MAGIC:
        raise StateError(f"this is not a state of a {of}", hint=hint)
    if data[len(MAGIC) : head] != bytes([FORM]):
        raise other_form("this state", data[len(MAGIC)] if len(data) > len(MAGIC) else "none", hint)
    whole, content = data[head : head + SIZE], data[head + SIZE :]
    if checksum(content) != whole:
        raise StateError("this state is damaged: its checksum is wrong", hint=DAMAGED)
    if content[:SIZE] != mark:
        raise StateError(f"this is the state of another {of}, or of another {by}", hint=hint)
    return content[SIZE:]
