"""The undo log: an event that finds an array full is rolled back, and processed again when there is space.

The rule of this module: code that changes the history logs the old value first. Rows are not logged: new rows are out
of reach once their column's end is restored. Evicted rows are not restored, so eviction removes only rows that the same
event cannot reach.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def has_undo_capacity(history, state, entries):
    """Whether the undo log has space for this many entries; sets the status if not."""
    if state.undos + entries > len(history.undo):
        state.status = KernelStatus.FULL_UNDO
        return False
    return True


def log_undo(history, state, kind, index, old):
    """Append an old value to the undo log, which has space."""
    entry = history.undo[state.undos]
    entry.kind, entry.place, entry.old = kind, index, old
    state.undos += 1


def roll_back(history, state):
    """Revert the changes of the event, the latest first."""
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
    """Invalidate the nodes of a row that leaves its column."""
    for k in range(len(history.trees)):
        tree, column = history.trees[k], history.columns[number]
        if tree.column == number and tree.start != NONE:
            history.nodes[tree.start + (row & column.mask)].row = NONE
