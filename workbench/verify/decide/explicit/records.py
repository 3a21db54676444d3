"""What the loops of the compiled search work on, as records of arrays and numbers.

The rule of this module: it imports nothing, so that searches in Python can use what they need of it; numba takes the
records as they are.

The set of states found is an array of words, of one of three kinds:

- `BITMAP`: a bit for every state that there can be;
- `WORDS`: a hash table with linear probing of states of one word, relative to the initial state, so that 0 is empty;
- `INDEX`: a hash table of numbers of states, plus 1, in the lower half of an entry; the upper half is that of the hash,
  so what differs in it need not be looked up.
"""

from __future__ import annotations

from typing import Any, NamedTuple

BITMAP, WORDS, INDEX = 0, 1, 2


class Expander(NamedTuple):
    """The machine code of a step, and the buffers that it fills.

    Attributes
    ----------
    address: of the function `expand` (`native`).
    inputs: the value of each leaf in each move.
    block: how many states are expanded at a time.
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
    first, states: the number of its first state, and how many it has.
    moves: how many moves a state has.
    """

    after: Any
    flags: Any
    first: int
    states: int
    apart: int
    moves: int


class StateSet(NamedTuple):
    """The set of the states that were found.

    Attributes
    ----------
    kind: what is in `slots`.
    shift: by how much a hash is shifted to be a slot.
    """

    kind: int
    slots: Any
    shift: int


class StateList(NamedTuple):
    """The states in the order in which they were found, a row for each of their words, and the one before each."""

    states: Any
    parents: Any


class SearchProgress(NamedTuple):
    """How far a search is, and may go.

    Attributes
    ----------
    counts: how many states were found, and of how many the steps have been taken.
    last: the number of the state before which to stop.
    room: how many states there is room for.
    """

    counts: Any
    last: int
    room: int


class Edges(NamedTuple):
    """The edges of a graph: those from state i are `starts[i]` up to `starts[i + 1]` of `ends` and `flags`."""

    starts: Any
    ends: Any
    flags: Any
