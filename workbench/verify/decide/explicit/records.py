"""Data of the loops of the compiled search, as records of arrays and numbers.

The rule of this module: it imports nothing heavy, so that searches in Python can use the records, too; numba takes
them as they are.

The set of states found is an array of words, of one of three kinds:

- `BITMAP`: a bit for every possible state;
- `WORDS`: a hash table with linear probing of states of one word, relative to the initial state, so that 0 is empty;
- `INDEX`: a hash table of numbers of states, plus 1, in the lower half of an entry; the upper half is that of the
  hash, so a state with another upper half need not be compared.
"""

from __future__ import annotations

from typing import Any, NamedTuple

BITMAP, WORDS, INDEX = 0, 1, 2


class Expander(NamedTuple):
    """The machine code of a step, and the buffers that it fills.

    Attributes
    ----------
    address: the address of the function `expand` (`native`).
    inputs: the value of each leaf in each move.
    block: number of states expanded at a time.
    after, flags: the next states, a row for each of their words, and the labels.
    """

    address: int
    inputs: Any
    block: int
    after: Any
    flags: Any


class BlockSteps(NamedTuple):
    """The steps of a block of states: move m of its state j is at `m * apart + j` of `after` and `flags`.

    Attributes
    ----------
    first, states: the number of the first state, and the number of states.
    moves: number of moves of a state.
    """

    after: Any
    flags: Any
    first: int
    states: int
    apart: int
    moves: int


class StateSet(NamedTuple):
    """The set of the states found.

    Attributes
    ----------
    kind: the kind of `slots`.
    shift: number of bits by which a hash is shifted to give a slot.
    """

    kind: int
    slots: Any
    shift: int


class StateList(NamedTuple):
    """The states in the order in which they were found, a row for each of their words, and their predecessors."""

    states: Any
    parents: Any


class SearchProgress(NamedTuple):
    """The progress of a search, and its limits.

    Attributes
    ----------
    counts: the number of states found, and of states whose steps have been taken.
    last: the number of the state before which to stop.
    capacity: maximum number of states.
    """

    counts: Any
    last: int
    capacity: int


class Edges(NamedTuple):
    """The edges of a graph: those from state i are `starts[i]` up to `starts[i + 1]` of `ends` and `flags`."""

    starts: Any
    ends: Any
    flags: Any
