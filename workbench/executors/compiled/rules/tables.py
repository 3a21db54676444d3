"""What lasts of a rule set and is looked up by its value: what is consumed, who is silent, which rules are asked.

The rule of this module: what lasts is changed by `put`, which writes down what was there; so it can be taken back. Runs
as plain Python and as machine code.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from workbench.executors.compiled.rules.layout import (
    CONSUMED,
    CONSUMED_END,
    DONE,
    GIVEN,
    GROW_JOURNAL,
    GROW_TABLE,
    INDEXES,
    INDEXES_END,
    JOURNAL,
    KEY_WORDS,
    LEAST,
    NOW,
    NULLS,
    PAUSE,
    QUIET,
    RECORD,
    RULES,
    RULES_END,
    TABLE,
    TABLE_MASK,
    TABLE_WIDTH,
    UNDONE,
    VALUES,
)  # fmt: skip
from workbench.executors.compiled.rules.words import scattered


def put(place, value, H, V, J):
    """Change what lasts, in a way that can be taken back."""
    n = V[JOURNAL]
    J[n], J[n + 1] = place, H[place]
    V[JOURNAL] = n + 2
    H[place] = value


def counted(place, H, V, J):
    """Count what a rule has cost."""
    if V[JOURNAL] + 2 > len(J):
        return GROW_JOURNAL
    put(place, H[place] + 1, H, V, J)
    return DONE


def take_back(H, V, J):
    """Make what lasts as it was before the event."""
    n = V[JOURNAL]
    while n > 0:
        n -= 2
        H[J[n]] = J[n + 1]
    V[JOURNAL] = 0
    V[UNDONE] += 1


def table_place(first, second, H, V):
    """The place of an entry in the table, or the free one where it belongs. See `layout`: `V` says where it lies."""
    at, mask, width = V[TABLE], V[TABLE_MASK], V[TABLE_WIDTH]
    slot = scattered(scattered(0, first), second) & mask
    while H[at + slot * width] != 0 and (H[at + slot * width] != first or H[at + slot * width + 1] != second):
        slot = (slot + 1) & mask
    return at + slot * width


def consumed(role, number, H, V):
    """Whether an event has been consumed by a rule."""
    return H[table_place(role, number, H, V)] != 0


def silent(r, now, pause, gaps, count, H, V, X, J):
    """Whether a rule has emitted for these values less than the pause ago; else it is written down that it does now.

    1 if so, 0 if not; greater by 2 than what ends the run, where it does.
    """
    key = scattered(gaps, count)
    for i in range(count):
        key = scattered(key, X[KEY_WORDS + i])
    at, mask, width = V[TABLE], V[TABLE_MASK], V[TABLE_WIDTH]
    slot = scattered(scattered(0, -1 - r), key) & mask
    while H[at + slot * width] != 0:
        place = at + slot * width
        same = H[place] == -1 - r and H[place + 1] == key and H[place + 3] == gaps
        for i in range(count):
            same = same and H[place + 4 + i] == X[KEY_WORDS + i]
        if same:
            if now - H[place + 2] < pause:
                return 1
            if V[JOURNAL] + 2 > len(J):
                return QUIET + GROW_JOURNAL
            put(place + 2, now, H, V, J)
            return 0
        slot = (slot + 1) & mask
    if V[JOURNAL] + 2 * (6 + count) > len(J):
        return QUIET + GROW_JOURNAL
    if 2 * (H[V[TABLE] - 1] + 1) > mask:
        return QUIET + GROW_TABLE
    place = at + slot * width
    put(V[TABLE] - 1, H[V[TABLE] - 1] + 1, H, V, J)
    put(place, -1 - r, H, V, J)
    put(place + 1, key, H, V, J)
    put(place + 2, now, H, V, J)
    put(place + 3, gaps, H, V, J)
    for i in range(count):
        put(place + 4 + i, X[KEY_WORDS + i], H, V, J)
    return 0


def consume(r, o, R, O, H, V, J, L):
    """A composite has come of a match: what the rule consumes of it is not selected again."""
    for n in range(R[r, CONSUMED], R[r, CONSUMED_END], 2):
        number, role = O[o + RECORD + R[r, GIVEN] + L[n]], r * 4096 + L[n + 1] + 1
        place = table_place(role, number, H, V)
        if H[place] == 0:
            if V[JOURNAL] + 8 > len(J):
                return GROW_JOURNAL
            if 2 * (H[V[TABLE] - 1] + 1) > V[TABLE_MASK]:
                return GROW_TABLE
            put(V[TABLE] - 1, H[V[TABLE] - 1] + 1, H, V, J)
            put(place, role, H, V, J)
            put(place + 1, number, H, V, J)
    return 0


def move_table(old, size, R, H, V):
    """Put what still counts of an old table into the new one, which is empty."""
    at, mask, width = V[TABLE], V[TABLE_MASK], V[TABLE_WIDTH]
    for place in range(old, old + size * width, width):
        first = H[place]
        if first == 0 or (first > 0 and H[place + 1] < V[LEAST]):
            continue
        if first < 0 and V[NOW] - H[place + 2] >= R[-1 - first, PAUSE]:
            continue
        slot = scattered(scattered(0, first), H[place + 1]) & mask
        while H[at + slot * width] != 0:
            slot = (slot + 1) & mask
        for i in range(width):
            H[at + slot * width + i] = H[place + i]
        H[at - 1] += 1
    return 0


def found_rules(y, a, first, T, L, C, CF, W, F, S):
    """The rules that an index says an event may trigger, in their order, written to `S` from a place on."""
    last = first
    for n in range(T[y, RULES], T[y, RULES_END]):
        S[last] = L[n]
        last += 1
    for n in range(T[y, INDEXES], T[y, INDEXES_END], 5):
        at, kind, place, size, rules = L[n], L[n + 1], L[n + 2], L[n + 3], L[n + 4]
        if (W[a + NULLS] >> at) & 1 != 0:
            continue
        low, high = index_range(W[a + VALUES + at], F[a + VALUES + at], kind, place, size, C, CF)
        for i in range(low, high):
            S[last] = L[rules + i]
            last += 1
    for i in range(first + 1, last):  # few, and mostly in order
        rule, j = S[i], i - 1
        while j >= first and S[j] > rule:
            S[j + 1] = S[j]
            j -= 1
        S[j + 1] = rule
    return last


def index_range(word, real, kind, place, size, C, CF):
    """Which of the constants of an index, in their order, a value satisfies.

    Kinds are 0 `==`, 1 `>`, 2 `>=`, 3 `<`, 4 `<=`; of floats 5 more.
    """
    floats, kind = kind >= 5, kind % 5
    if floats and real != real:
        return 0, 0
    low, high = place, place + size
    while low < high:  # the first constant not less than the value
        middle = (low + high) >> 1
        less = CF[middle] < real if floats else C[middle] < word
        if less:
            low = middle + 1
        else:
            high = middle
    equal, end = low, place + size
    while equal < end and (CF[equal] == real if floats else C[equal] == word):
        equal += 1
    if kind == 0:
        return low - place, equal - place
    if kind == 1:
        return 0, low - place
    if kind == 2:
        return 0, equal - place
    if kind == 3:
        return equal - place, size
    return low - place, size
