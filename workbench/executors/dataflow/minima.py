"""A row of numbers that are asked for the least of a beginning, and for the next below a bound, each in O(log)."""

from __future__ import annotations


class Minima:
    """Numbers at 0, 1, ..., `size` - 1, each `above` what is asked for until it is set.

    Parameters
    ----------
    size: a power of two.
    """

    __slots__ = ("_tree", "above", "size")

    def __init__(self, size: int, above: int) -> None:
        self.size, self.above = size, above
        self._tree = [above] * (2 * size)

    def __getitem__(self, at: int) -> int:
        return self._tree[self.size + at]

    def __setitem__(self, at: int, value: int) -> None:
        tree = self._tree
        i = self.size + at
        tree[i] = value
        while i > 1:
            other = tree[i ^ 1]
            i >>= 1
            least = value if value < other else other
            if tree[i] == least:
                return
            tree[i] = value = least

    def before(self, at: int) -> int:
        """The least of those before this one."""
        tree = self._tree
        i = self.size + at
        least = self.above
        while i > 1:
            if i & 1 and tree[i - 1] < least:
                least = tree[i - 1]
            i >>= 1
        return least

    def next_below(self, at: int, bound: int) -> int:
        """The first place from this one on whose number is less than the bound; `size` where there is none."""
        tree = self._tree
        if tree[1] >= bound:
            return self.size
        i = self.size + at
        while tree[i] >= bound:
            while i & 1:  # its siblings are done: go up
                i >>= 1
                if i <= 1:
                    return self.size
            i += 1
        while i < self.size:
            i *= 2
            if tree[i] >= bound:
                i += 1
        return i - self.size
