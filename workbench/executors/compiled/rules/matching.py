"""The loop over events, around the functions that are generated from rules: runs as plain Python and as machine code.

The rule of this module: an event is processed in full, or not at all. What it changes of what lasts is written down
first (`put`), so that it can be taken back: then there is more room, or exact arithmetic, and it is done again.

Sources: Di Pilla's thesis, 4.4 (listing 4.1, depth first); Cugola and Margara, 4.2.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.rules.ahead import fetch_ahead, fetches
from workbench.executors.compiled.rules.layout import (
    ACCEPT,
    ACCEPT_CONSTANTS,
    ATTRIBUTES,
    AWAITING,
    AWAITING_END,
    BASE,
    BEYOND,
    CAUSE,
    COLUMNS,
    COLUMNS_END,
    CONSUMED,
    CONSUMED_END,
    COST_WORDS,
    COSTS,
    COUNT,
    DEEP,
    DEPTH,
    DONE,
    DUE,
    EMITS,
    ENDLESS,
    FAILED,
    FOUND,
    GAPS,
    GIVE_OUTPUT,
    GROW_JOURNAL,
    GROW_RING,
    GROW_ROWS,
    HEADS,
    HEADS_MASK,
    HORIZON,
    ID,
    INDEXES,
    INDEXES_END,
    INPUT,
    JOURNAL,
    JUDGE,
    KEPT,
    LATEST,
    LINK,
    MADE,
    MANY,
    MASK,
    MUCH_OUTPUT,
    NEVER,
    NOW,
    NULLS,
    NUMBER,
    PUBLISHED,
    REACHED,
    RECORD,
    RING,
    RING_MASK,
    ROOF,
    RULES,
    RULES_END,
    RUN,
    SHAPE,
    SIZE,
    STACK,
    TICKS,
    TRIGGER,
    TYPE,
    UNTIL,
    VALUES,
    WAITING,
    WANTED,
    WATCHED,
    WHEN,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.tables import (
    consume,
    counted,
    found_rules,
    move_table,
    put,
    take_back,
)  # fmt: skip
from workbench.executors.compiled.rules.words import byte_at, ticks, word_at

fire: Any = None
judge: Any = None
accept: Any = None
"""Generated: the functions of rules by their shapes, and what a column asks of an event."""


def first_place(word, value, low, high, base, mask, width, ring, ring_mask, W, H):
    """The first place whose row has a word that is not less than a value; places are of a type, or of a ring."""
    while low < high:
        middle = (low + high) >> 1
        i = middle if ring < 0 else H[ring + (middle & ring_mask)]
        if W[base + (i & mask) * width + word] < value:
            low = middle + 1
        else:
            high = middle
    return low


def first_there(ring, mask, oldest, H):
    """The first place of a ring whose row is still there; what is before it is forgotten."""
    start, end = H[ring - 2], H[ring - 1]
    while start < end and H[ring + (start & mask)] < oldest:
        start += 1
    H[ring - 2] = start
    return start


def row_room(y, T, W, H, V):
    """See that there is room for a row of a type: the oldest make room, as far as nothing asks for them any more.

    Two of them each time, so that chains end before them; more where there is no room.
    """
    start, end, mask, horizon = H[2 * y], H[2 * y + 1], T[y, MASK], T[y, HORIZON]
    if horizon >= 0:
        oldest, least, base, width = V[NOW] - horizon, V[COUNT] - T[y, LATEST], T[y, BASE], T[y, WIDTH]
        for _ in range(2):  # without a jump: which way it goes would be a surprise
            a = base + (start & mask) * width
            start += (start < end) & (W[a] < oldest) & (W[a + NUMBER] < least)
        while end - start > mask and W[base + (start & mask) * width] < oldest:
            if W[base + (start & mask) * width + NUMBER] >= least:
                break
            start += 1
        H[2 * y] = start
    if end - start <= mask:
        return 0
    V[WANTED] = y
    return GROW_ROWS


def adopt(y, a, T, K, C, CF, W, F, H, V, X, XF, J, L):
    """Put an event on top of the columns of its type."""
    end = H[2 * y + 1]
    first, last = T[y, COLUMNS], T[y, COLUMNS_END]
    if V[JOURNAL] + 6 * (last - first) + 2 > len(J):
        return GROW_JOURNAL
    for n in range(first, last):
        k = L[n]
        h = accept(K[k, ACCEPT], K[k, ACCEPT_CONSTANTS], a, C, CF, W, F, H, V, X, XF)
        if h < -1:
            return BEYOND if h == -2 else FAILED
        if h < 0:
            continue
        if K[k, HEADS] >= 0:
            head = K[k, HEADS] + (h & K[k, HEADS_MASK])
            W[a + K[k, LINK]] = H[head]
            put(head, end, H, V, J)
        else:
            ring, mask = K[k, RING], K[k, RING_MASK]
            behind = H[ring - 1]
            if behind - first_there(ring, mask, H[2 * y], H) > mask:
                V[WANTED] = k
                return GROW_RING
            put(ring + (behind & mask), end, H, V, J)
            put(ring - 1, behind + 1, H, V, J)
    put(2 * y + 1, end + 1, H, V, J)
    return 0


def adopt_all(y, count, T, K, C, CF, W, F, H, V, X, XF, J, L):
    """Put so many rows that lie behind the others of their type into columns."""
    for _ in range(count):
        V[JOURNAL] = 0
        a = T[y, BASE] + (H[2 * y + 1] & T[y, MASK]) * T[y, WIDTH]
        code = adopt(y, a, T, K, C, CF, W, F, H, V, X, XF, J, L)
        if code != 0:
            take_back(H, V, J)
            return code
    return DONE


def relink(y, T, K, C, CF, W, F, H, V, X, XF, L):
    """Make the chains of a type anew, whose heads are empty."""
    for i in range(H[2 * y], H[2 * y + 1]):
        a = T[y, BASE] + (i & T[y, MASK]) * T[y, WIDTH]
        for n in range(T[y, COLUMNS], T[y, COLUMNS_END]):
            k = L[n]
            if K[k, HEADS] >= 0:
                h = accept(K[k, ACCEPT], K[k, ACCEPT_CONSTANTS], a, C, CF, W, F, H, V, X, XF)
                if h < -1:
                    return FAILED
                if h >= 0:
                    head = K[k, HEADS] + (h & K[k, HEADS_MASK])
                    W[a + K[k, LINK]] = H[head]
                    H[head] = i
    return 0


# --- rules ----------------------------------------------------------------------------------------------


def fired(r, a, begun, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L):
    """What a rule makes of a trigger; what comes of it consumes."""
    since = ticks() if V[COSTS] >= 0 else 0
    code = fire(R[r, SHAPE], r, a, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L)
    if V[COSTS] >= 0:
        H[V[COSTS] + r * COST_WORDS + TICKS] += ticks() - since
    return consumption(r, begun, R, O, H, V, J, L) if code == 0 else code


def consumption(r, begun, R, O, H, V, J, L):
    """What a rule consumes with the composites that it has made."""
    code = 0
    if R[r, CONSUMED_END] > R[r, CONSUMED]:
        o = begun
        while o < V[MADE] and code == 0:
            code = consume(r, o, R, O, H, V, J, L)
            o += R[r, SIZE]
    return code


def asked(y, a, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S):
    """What the rules make of an event that triggers them, in their order."""
    V[TRIGGER] += 1
    V[ROOF] = len(X)
    n, last, listed = T[y, RULES], T[y, RULES_END], T[y, INDEXES] == T[y, INDEXES_END]
    if not listed:
        n = V[STACK]  # behind what is to be published
        last = found_rules(y, a, n, T, L, C, CF, W, F, S)
    while n < last:
        r = L[n] if listed else S[n]
        code = fired(r, a, V[MADE], T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L)
        if code != 0:
            return code
        n += 1
    return 0


# --- events ---------------------------------------------------------------------------------------------


def processed(y, a, cause, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S):
    """An event, whose row is written, with what it causes at once; that is to be published next."""
    if V[COSTS] >= 0:
        code = counted(V[COSTS] + len(R) * COST_WORDS + y, H, V, J)
        if code != 0:
            return code
    W[a + NUMBER] = V[COUNT]
    V[COUNT] += 1
    begun, V[DEEP] = V[MADE], 0 if cause < 0 else O[cause + DEPTH]
    code = asked(y, a, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S)
    if code == 0 and T[y, KEPT] != 0:
        code = adopt(y, a, T, K, C, CF, W, F, H, V, X, XF, J, L)
    if code != 0 or V[MADE] == begun:
        return code
    return put_before(begun, V[DEEP] + 1, cause, R, O, V, S)


def words_of(o, R, O):
    """How many words a composite takes, or a run of them."""
    size = R[O[o], SIZE]
    return O[o + size + 1] if R[O[o], RUN] != 0 else size


def put_before(begun, depth, cause, R, O, V, S):
    """Have the composites that have been made be published next, before what waits for it already."""
    o, count = begun, 0
    while o < V[MADE]:
        O[o + DEPTH], O[o + CAUSE] = depth, cause
        o += words_of(o, R, O)
        count += 1
    o, top = begun, V[STACK] + count
    for n in range(count):
        S[top - 1 - n] = o
        o += words_of(o, R, O)
    V[STACK] = top
    if depth > 1000:
        V[WANTED] = begun
        return ENDLESS
    return 0


def published(y, a, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S, B):
    """An event whose row is written, if there is one, and what waits, each with all that it causes before the next.

    Parameters
    ----------
    y: its type; -1 where there is none.
    """
    cause = -1
    while y >= 0 or V[STACK] > 0:
        if y >= 0:
            code = processed(y, a, cause, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S)
            if code != 0:
                return code
            y = -1
            continue
        V[STACK] -= 1
        cause = S[V[STACK]]
        B[V[PUBLISHED]] = cause
        V[PUBLISHED] += 1
        emitted = R[O[cause], EMITS]
        O[cause + ID] = V[COUNT]
        if T[emitted, WATCHED] <= 0:
            V[COUNT] += 1 + T[emitted, WATCHED] if R[O[cause], RUN] == 0 else O[cause + R[O[cause], SIZE]]
            continue
        y = emitted
        code = row_room(y, T, W, H, V)
        if code != 0:
            return code
        a = T[y, BASE] + (H[2 * y + 1] & T[y, MASK]) * T[y, WIDTH]
        W[a], W[a + NULLS] = O[cause + WHEN], O[cause + GAPS]
        for i in range(T[y, ATTRIBUTES]):
            W[a + VALUES + i] = O[cause + RECORD + i]
    return 0


def told(until, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S):
    """What comes of one absence up to a time, if there is one: the first by deadline, then rule, then trigger."""
    due, rule = NEVER, -1
    for n in range(V[AWAITING], V[AWAITING_END]):
        y = R[L[n], WAITING]
        start = H[2 * y]
        if start < H[2 * y + 1]:
            deadline = W[T[y, BASE] + (start & T[y, MASK]) * T[y, WIDTH]]
            if deadline < due:
                due, rule = deadline, L[n]
    V[DUE] = due
    return judged(rule, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S) if due <= until else DONE


def judged(r, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S):
    """What comes of the matches of the trigger that has waited longest for what must not come."""
    y = R[r, WAITING]
    base, mask, width = T[y, BASE], T[y, MASK], T[y, WIDTH]
    first, end, begun = H[2 * y], H[2 * y + 1], V[MADE]
    a = base + (first & mask) * width
    deadline, trigger, deep, since = W[a], W[a + 1], W[a + 2], W[a + 3]
    last = first + 1
    while last < end and W[base + (last & mask) * width + 1] == trigger:
        last += 1
    V[NOW], V[ROOF] = deadline, len(X)
    if V[JOURNAL] + 2 > len(J):
        return GROW_JOURNAL
    put(2 * y, last, H, V, J)
    code = judge(R[r, JUDGE], r, first, last, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L)
    if code == 0:
        code = consumption(r, begun, R, O, H, V, J, L)
    if code == 0 and V[MADE] > begun:  # what comes later is caused by the clock
        code = put_before(begun, deep + 1 if since == deadline else 1, -1, R, O, V, S)
    return code


def written(i, y, times, places, A, T, W, H, V):
    """Write the row of an event from outside."""
    V[NOW] = times[i]
    code = row_room(y, T, W, H, V)
    if code != 0:
        return code
    a = T[y, BASE] + (H[2 * y + 1] & T[y, MASK]) * T[y, WIDTH]
    W[a], place, gaps = times[i], places[i], 0
    for n in range(T[y, ATTRIBUTES]):
        m = T[y, INPUT] + n
        if A[m, 2] != 0 and byte_at(A[m, 2], place) != 0:
            gaps |= 1 << n
            W[a + VALUES + n] = 0
        elif A[m, 1] != 0:
            W[a + VALUES + n] = byte_at(A[m, 0], place)
        else:
            W[a + VALUES + n] = word_at(A[m, 0], place)
    W[a + NULLS] = gaps
    return 0


def run(mode, first, last, types, times, places, A, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S, B):
    """Process events from one place to before another; `V[REACHED]` says how far it came. What it ends with.

    mode 1: the chains of the type `first` are made anew; mode 2: the table moves, which lay at `first` with `last`
    entries; mode 3: `last` rows behind those of the type `first` are put into columns; mode 4: the clock moves; mode 5:
    by what `last` facts are found in the column `first`, which is put into its ring.
    """
    if mode == 2:
        return move_table(first, last, R, H, V)
    if mode == 1:
        return relink(first, T, K, C, CF, W, F, H, V, X, XF, L)
    if mode == 3:
        return adopt_all(first, last, T, K, C, CF, W, F, H, V, X, XF, J, L)
    if mode == 5:
        a, width = T[K[first, TYPE], BASE], T[K[first, TYPE], WIDTH]
        for i in range(last):
            h = accept(K[first, ACCEPT], K[first, ACCEPT_CONSTANTS], a + i * width, C, CF, W, F, H, V, X, XF)
            H[K[first, RING] + i] = h
        return DONE
    since = ticks() if V[COSTS] >= 0 else 0
    ahead = mode == 0 and fetches(last - first, T, K, H, L)
    code = DONE
    i, begun = first, V[COUNT]
    while i < last and code == DONE:
        V[JOURNAL] = 0
        count, now, made, published_before, found = V[COUNT], V[NOW], V[MADE], V[PUBLISHED], V[FOUND]
        until = V[UNTIL] if mode == 4 else times[i] - 1
        moved = V[DUE] > until  # what is told is taken back one by one, for time goes on
        y, a, V[STACK] = -1, 0, 0
        if not moved:
            code = told(until, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S)
        elif mode != 4:
            if ahead:
                fetch_ahead(i, first, last, types, places, A, T, K, H, W, X, L)
            y = types[i] + 0  # with a sign
            if T[y, WATCHED] == 0:
                V[NOW], y = times[i], -1
                V[COUNT] += 1
            else:
                code = written(i, y, times, places, A, T, W, H, V)
                a = T[y, BASE] + (H[2 * y + 1] & T[y, MASK]) * T[y, WIDTH]
        if code == DONE:
            code = published(y, a, T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, L, S, B)
        if code != DONE:
            take_back(H, V, J)
            V[COUNT], V[NOW], V[MADE], V[PUBLISHED], V[FOUND] = count, now, made, published_before, found
            V[DUE] = -NEVER
        else:
            i += moved
            many = V[PUBLISHED] > 0 and V[COUNT] - begun > V[MANY]
            code = GIVE_OUTPUT if (many or V[MADE] > MUCH_OUTPUT) and i < last else DONE
    V[REACHED] = i
    if V[COSTS] >= 0:
        H[V[COSTS] - 1] += ticks() - since
    return code
