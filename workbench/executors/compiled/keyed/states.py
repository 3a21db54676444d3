"""The states of a compiled pipeline, one for each key, in arrays with a row a key.

The rule of this module: what has no key yet is in its initial state, so that more keys are more rows and nothing else.
"""

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.execute.state import LoopArrays


class KeyedStates:
    """Arrays as those of `LoopArrays`, each with an axis more; behind the whole numbers stand the steps made.

    Parameters
    ----------
    initial: holds the state before the first event.
    """

    def __init__(self, initial: LoopArrays) -> None:
        import numpy as np

        whole, *rest = initial.copy()
        self._initial = [np.append(whole, np.int64(0)), *rest]
        self.count = 0
        """How many keys there are."""
        self.arrays = [array[None][:0] for array in self._initial]

    def grow(self, count: int) -> None:
        """Have states for so many keys."""
        import numpy as np

        if count > len(self.arrays[0]):
            room = max(count, 2 * len(self.arrays[0]))
            for place, (array, first) in enumerate(zip(self.arrays, self._initial, strict=True)):
                made = np.empty((room, len(first)), first.dtype)
                made[: len(array)], made[len(array) :] = array, first
                self.arrays[place] = made
        self.count = max(count, self.count)

    def steps(self, key: int) -> int:
        """How many steps a key has made."""
        return int(self.arrays[0][key, -1])

    def of(self, key: int) -> list[Any]:
        """The state of one key, as an executor has it."""
        whole, *rest = (array[key] for array in self.arrays)
        return [whole[:-1], *rest]
