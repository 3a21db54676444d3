"""The undo log: an event that finds an array full leaves no trace, and is processed again when there is room.

The rule of this module: whoever changes the history writes the old value first. Rows themselves are not logged: those
that were not there before are out of reach once their column's end is restored. What is evicted is not restored, so
eviction removes nothing that the same event could reach.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def has_undo_room(history, state, entries):
    """Whether the undo log has room for so many entries."""
    if state.undos + entries > len(history.undo):
        state.status = KernelStatus.FULL_UNDO
        return False
    return True


def log_undo(history, state, kind, place, old):
    """Write an old value to the undo log, which has room."""
    entry = history.undo[state.undos]
    entry.kind, entry.place, entry.old = kind, place, old
    state.undos += 1


def roll_back(history, state):
    """Restore what the event has changed, the latest change first."""
    while state.undos > 0:
        state.undos -= 1
        entry = history.undo[state.undos]
        if entry.kind == UndoKind.BUCKET:
            history.buckets[entry.place] = entry.old
        elif entry.kind == UndoKind.APPENDED:
            history.columns[entry.place].appended = entry.old
            void_nodes(history, entry.place, entry.old)
        elif entry.kind == UndoKind.CONSUMED:
            history.consumed[entry.place, 0] = entry.old
            state.consumed -= 1
        elif entry.kind == UndoKind.EMITTED:
            history.silences[entry.place, history.silences.shape[1] - 1] = entry.old
        else:
            history.silences[entry.place, 0] = entry.old
            state.silences -= 1


def void_nodes(history, number, row):
    """Let a row that leaves its column have no nodes."""
    for k in range(len(history.trees)):
        tree, column = history.trees[k], history.columns[number]
        if tree.column == number and tree.start != NONE:
            history.nodes[tree.start + (row & column.mask)].row = NONE
