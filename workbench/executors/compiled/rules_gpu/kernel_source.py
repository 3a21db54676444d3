"""The source of a rule's two kernels: one thread for each candidate of a sequence, and one thread for each sequence.

The rule of this module: what differs between rules that are written alike (constants, columns, windows) is read from a
table, so that they share kernels. `look` tries candidates of a step: a block takes a stretch of one sequence's window.
`go_on` takes up what has been found: what is selected, values of aggregates, conditions, and the ends of the next
window; behind the last step it writes composites.

A sequence is a column of `S`: which trigger, whether it lives, then a place for each event and two words for each
aggregate, and the ends of the window that is looked at.

Source: Cugola and Margara, 5.3 and 5.4. Sequences of a step are counted and then written where they belong, and not
where an atomic counter says: the paper leaves their order open, and here it has a meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import indent

from workbench.core.domain import BOOL, FLOAT
from workbench.errors import Refused
from workbench.executors.compiled.rules.layout import (
    CAUSE,
    DEPTH,
    GAPS,
    ID,
    NEVER,
    NULLS,
    NUMBER,
    RECORD,
    RULE,
    TIME,
    WHEN,
)  # fmt: skip
from workbench.executors.compiled.rules.lines import CodeValue
from workbench.executors.compiled.rules.step_source import StepSource
from workbench.executors.compiled.rules_gpu.device_lines import DeviceLines, word_of
from workbench.executors.compiled.rules_gpu.device_step import DeviceStep
from workbench.tesla import tree as t
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.engines.set_plan import PlannedStep, SetPlan
from workbench.tesla.resolved import domain_of

TRIGGER, LIVES, FOUND = 0, 1, 2
"""The first words of a sequence; behind them those of each step."""
MOST_THREADS = 256
"""Threads of a block, at most: words of shared memory that a reduction has."""
GIVEN = "step, mode, n, z, oz, span, r, c, C, CF, S, SO, A, AF, B, N, D, E, OUT, G"
"""What both kernels are given, before the columns `W` of each step with their sizes: see `sequences.RuleSequences`."""


_LOOK = """    shared = cuda.shared.array({most}, int64)
    t, total, tile = cuda.threadIdx.x, B[n], cuda.blockIdx.x + 0
    while tile < total:
        s = owner(B, n, tile)
        chunk, low, high = tile - B[s], S[{low} * z + s], S[({low} + 1) * z + s]
{steps}        tile += cuda.gridDim.x
"""
_GO_ON = """    s = cuda.grid(1)
    if s >= n: return
"""
_HIT = """            hit_{0} = 0
            if low <= {0} and {0} < high{more}:
                hit_{0} = fits_{step}(s, {0}, {given})
                if hit_{0} == 2: E[0], hit_{0} = 1, 0
"""
_EACH = """            if mode == 0:
                count = block_sum(shared, t, hit_i)
                if t == 0: N[tile] = count
            else:
                at = N[tile] + block_before(shared, t, hit_i)
                if hit_i == 1:
{copies}"""
_OLDER, _NEWER = " and i < A[s * {0}]", " and i > A[s * {0}]"
"""A candidate that no longer matters is not asked."""


class KernelSource(StepSource):
    """The kernels of one rule.

    Attributes
    ----------
    steps: the trigger and the steps behind it.
    stride: the words that `A` has for each sequence: as many in all steps, since threads are not in step.
    low: the word of a sequence where its window begins; behind it, where it ends.
    size: the words of a composite, `keys` more for `at most once`.
    text: of both kernels. constants: what they read from the table.

    Raises
    ------
    Refused: there is no code for something; where a CPU may have some, the hint says so.
    """

    def __init__(self, plan: SetPlan, rule: int, places: Mapping[int, int]) -> None:
        super().__init__(plan, rule, (), trex=False)
        of, self.places = self.of, places
        if of.absent is not None:
            raise Refused("'absent' waits for a clock, which the host has", where=of.absent.part.where)
        word = FOUND
        self.steps = [DeviceStep(None, of.trigger, TRIGGER)]
        for planned in plan.steps[rule]:
            self.steps.append(DeviceStep(planned, planned.step, word))
            self._known(planned)
            word += self.steps[-1].kept
        self.low, self.stride = word, max(each.words for each in self.steps)
        self.rows = word + 2
        self.columns = [self.constants.whole(places[planned.column]) for planned in plan.steps[rule]]
        self.consumes = bool(of.consumed_slots)
        self.given = ", ".join([GIVEN, *(f"W{i}, z{i}" for i in range(len(self.steps)))])
        conditions = plan.conditions(rule)
        fits = [self._fits_of(i) for i in range(len(self.steps))]
        ends = [self._end_of(i, conditions[i]) for i in range(len(self.steps))]
        emits = self._emits()
        looks = "".join(f"        if step == {i}:\n{self._look_of(i)}" for i in range(len(self.steps)))
        goes = "".join(f"    if step == {i}:\n{indent(text, '    ')}" for i, text in enumerate([*ends, emits]))
        self.text = (
            "".join(f"@helper\ndef fits_{i}(s, i, {self.given}):\n{text}    return 1\n" for i, text in enumerate(fits))
            + f"@kernel\ndef look({self.given}):\n{_LOOK.format(most=MOST_THREADS, low=self.low, steps=looks)}"
            + f"@kernel\ndef go_on({self.given}):\n{_GO_ON}{goes}"
        )

    def _known(self, planned: PlannedStep) -> None:
        part, step = planned.step.part, planned.step
        if step.window is not None and step.window.counted:
            raise Refused("windows that count events are the host's", where=part.where)
        if step.lookback.time is None:
            raise Refused("a window is forever, and a device's memory is not", where=part.where)

    # --- what is known ----------------------------------------------------------------------------------

    def _begin(self, before: int, beyond: str, mark: str = "") -> DeviceLines:
        """Lines that know what the steps before a step have found."""
        code = self.code = DeviceLines(self.constants, beyond)
        code.mark = mark or f"{before}_"
        self.addresses, self.bound = {}, {}
        for i, each in enumerate(self.steps[:before]):
            if each.aggregate is not None:
                place = f"S[{each.word} * z + s]"
                found = self.of_aggregate(each.step)
                null = f"S[{each.word + 1} * z + s] != 0"
                value = CodeValue(f"as_float({place})" if found == FLOAT else place, null)
                code.parameters[f"${each.aggregate.parameter}"] = value
            elif each.kept:
                code.add(f"a{i} = S[{each.word} * z + s] & (z{i} - 1)")
                self._enter(each.step, str(i))
                self._assign(each.step)
        return code

    # --- candidates -------------------------------------------------------------------------------------

    def _fits_of(self, i: int) -> str:
        """Whether candidate `i` fits sequence `s`: 2 where a number leaves 64 bits."""
        each, code = self.steps[i], self._begin(i, "return 2")
        step = each.step
        code.add(f"a{i} = i & (z{i} - 1)")
        if step.selects and i:
            number = word_of(str(i), NUMBER)
            for slot, other in self.bound.items():
                if slot and other.type == step.type and not other.fact:
                    code.add(f"if {number} == {word_of(self.addresses[slot], NUMBER)}: return 0")
            if self.consumes:
                code.add(f"if G[{number} & (len(G) - 1)] == {number}: return 0")
        self._enter(step, str(i))
        code.require(step.part.constraints if each.planned is None else each.planned.constraints, "return 0")
        if each.aggregate is not None and each.aggregate.attribute is not None:
            at = step.declared.positions[each.aggregate.attribute]
            code.add(f"if ({word_of(str(i), NULLS)} >> {at}) & 1 != 0: return 0")
        return code.text()

    def _look_of(self, i: int) -> str:
        """What is made of the candidates of a step."""
        each = self.steps[i]
        if each.counted:
            return "            pass\n"
        if each.aggregate is not None:
            place = "            i = low + 2 * span * chunk + t\n            j = i + span\n"
            return place + self._hit(i, "i") + self._hit(i, "j") + self._reduced(i)
        if i == 0 or each.each:
            words = {0: "i", LIVES: "1"} if i == 0 else {0: "S[s]", LIVES: "1"}
            words |= {w: f"S[{w} * z + s]" for w in range(FOUND, each.word)} if i else {}
            words |= {each.word: "i"}
            copies = "".join(f"                    SO[{w} * oz + at] = {text}\n" for w, text in words.items())
            return "            i = low + span * chunk + t\n" + self._hit(i, "i") + _EACH.format(copies=copies)
        at = f"A, s * {self.stride}"
        if each.newest:
            place = "            i = high - 1 - span * chunk - t\n"
            return (
                place
                + self._hit(i, "i", _NEWER.format(self.stride))
                + f"            if hit_i == 1: cuda.atomic.max({at}, i)\n"
            )
        place = "            i = low + span * chunk + t\n"
        return (
            place
            + self._hit(i, "i", _OLDER.format(self.stride))
            + f"            if hit_i == 1: cuda.atomic.min({at}, i)\n"
        )

    def _hit(self, i: int, name: str, more: str = "") -> str:
        return _HIT.format(name, step=i, given=self.given, more=more)

    def _reduced(self, i: int) -> str:
        """A reduction in shared memory, two candidates a thread."""
        each, at = self.steps[i], f"s * {self.stride}"
        assert each.computed is not None
        lines = [f"added(A, {at}, hit_i + hit_j, shared, t)"]
        if each.computed.add:
            x, y = (f"W{i}[({p} & (z{i} - 1)) + {each.value} * z{i}] if hit_{p} == 1 else 0" for p in "ij")
            lines.append(f"x, y = {x}, {y}")
        lines += [line.format(at=at) for line in each.computed.add]
        return "".join(f"            {line}\n" for line in lines)

    # --- what comes of a step ---------------------------------------------------------------------------

    def _end_of(self, i: int, conditions: Sequence[t.Expression]) -> str:
        """Take up what step `i` has found, and begin the next one; `B` says how many blocks that takes."""
        each = self.steps[i]
        dead = f"S[{LIVES} * z + s] = 0; B[s] = 0; return"
        before = DeviceLines(self.constants, dead)
        before.add("B[s] = 0", f"if S[{LIVES} * z + s] == 0: return")
        if each.aggregate is not None:
            self._aggregated(i, before, dead)
        elif i and each.step.policy.newest_first:
            before.add(f"if A[s * {self.stride}] {'>= 0' if each.step.policy.forbids else '< 0'}: {dead}")
        elif i and not each.each:
            before.add(f"if A[s * {self.stride}] >= {NEVER}: {dead}")
        if i and each.kept == 1 and not each.each:
            before.add(f"S[{each.word} * z + s] = A[s * {self.stride}]")
        code = self._begin(i + 1, f"E[0] = 1; {dead}")
        code.require(conditions, dead)
        if i + 1 < len(self.steps):
            self._window(i + 1)
        else:
            code.add("B[s] = 1")
        return before.text() + code.text()

    def _aggregated(self, i: int, code: DeviceLines, dead: str) -> None:
        """The value of an aggregate, and whether it is null."""
        each = self.steps[i]
        assert each.computed is not None
        value, null = f"S[{each.word} * z + s]", f"S[{each.word + 1} * z + s]"
        at = f"s * {self.stride}"
        code.add(f"{null} = {f'1 if A[{at}] == 0 else 0' if each.step.aggregate.nullable else '0'}")
        if each.counted:
            code.add(f"{value} = S[{self.low + 1} * z + s] - S[{self.low} * z + s]")
        else:
            names = {"value": value, "at": at, "i": i, "word": each.value, "dead": dead}
            code.add(*(line.format_map(names) for line in each.computed.value))

    def _window(self, i: int) -> None:
        """The ends of the window of a step, and the first state of what is looked for."""
        each, code = self.steps[i], self.code
        column, step = self.columns[i - 1], self.steps[i].step
        code.add(f"high = D[{column}]", f"low = max(0, high - z{i})")
        if not step.fact:
            self._bounds(step)
            given = f"W{i}, z{i}"
            if self.below:
                code.add(f"high = first_place({given}, {NUMBER}, {self.below}, low, high)")
            if self.most:
                code.add(f"high = first_place({given}, {TIME}, {self.most} + 1, low, high)")
            if self.least:
                code.add(f"low = first_place({given}, {TIME}, {self.least}, low, high)")
            if self.above:
                code.add(f"low = first_place({given}, {NUMBER}, {self.above} + 1, low, high)")
        code.add(f"S[{self.low} * z + s], S[{self.low + 1} * z + s] = low, high")
        if each.counted:
            return
        if not each.each:
            start = "0" if each.aggregate is not None else "-1" if step.policy.newest_first else str(NEVER)
            code.add(f"for w in range({each.words}): A[s * {self.stride} + w] = {start}")
            if each.computed is not None and each.computed.begin:
                code.add(f"A[s * {self.stride} + 1], A[s * {self.stride} + 2] = {each.computed.begin}, {NEVER}")
        span = "(2 * span)" if each.pairs else "span"
        code.add(f"B[s] = (high - low + {span} - 1) // {span}")

    def _bounds(self, step: RuleStep) -> None:
        """The window: least and greatest times, and numbers between which it lies; nothing before its anchor is new."""
        window = step.window
        assert window is not None
        self.least = self.most = self.above = self.below = ""
        anchors = [self.addresses[slot] for slot in window.anchors]
        numbers = [word_of(anchor, NUMBER) for anchor in anchors]
        if window.between:
            self.above, self.below = (f"{end}({numbers[0]}, {numbers[1]})" for end in ("min", "max"))
            return
        self.below, time = numbers[0], word_of(anchors[0], TIME)
        if window.most is not None:
            self.least = f"{time} - {self.constants.whole(window.most)}"
        if window.least:
            self.most = f"{time} - {self.constants.whole(window.least)}"

    # --- composites -------------------------------------------------------------------------------------

    def _emits(self) -> str:
        """Write what comes of a sequence at its place: the words of `layout`, and behind them the values of `per`."""
        rule, of = self.of.rule, self.of
        code = self._begin(len(self.steps), "E[0] = 1; return", "emits_")
        code.own = ""
        given = {each.name: each.value for each in rule.evaluations}
        sources = [self.addresses[slot] for slot in of.event_slots]
        self.size = RECORD + len(of.emitted.attributes) + len(sources)
        self.keys = len(rule.per) + 1 if of.pause is not None else 0
        before = [f"if S[{LIVES} * z + s] == 0: return", f"o = B[s] * {self.size + self.keys}", "gaps = 0"]
        values = [(RECORD + at, each.domain, given[each.name]) for at, each in enumerate(of.emitted.attributes)]
        self._written(values, GAPS)
        code.add(f"OUT[o + {RULE}], OUT[o + {WHEN}], OUT[o + {ID}] = r, {word_of('0', TIME)}, 0")
        code.add(f"OUT[o + {DEPTH}], OUT[o + {CAUSE}] = 0, -1")
        for i, source in enumerate(sources):
            code.add(f"OUT[o + {RECORD + len(values) + i}] = {word_of(source, NUMBER)}")
        if self.keys:
            code.add("gaps = 0")
            kinds = [(self.size + 1 + at, domain_of(each), each) for at, each in enumerate(rule.per)]
            self._written(kinds, self.size, "key_bits")
        return "".join(f"    {line}\n" for line in before) + code.text()

    def _written(self, values: Sequence[tuple[int, object, t.Expression]], gaps: int, bits: str = "float_bits") -> None:
        """Values at words of a composite, and which of them are null."""
        code = self.code
        for bit, (word, domain, value) in enumerate(values):
            found = code.real(value) if domain == FLOAT else code.value(value)
            text = f"{bits}({found.text})" if domain == FLOAT else found.text
            text = f"1 if {found.text} else 0" if domain == BOOL else text
            place = f"OUT[o + {word}]"
            if found.null:
                code.add(f"if {found.null}: gaps |= {1 << bit}; {place} = 0", f"else: {place} = {text}")
            else:
                code.add(f"{place} = {text}")
        code.add(f"OUT[o + {gaps}] = gaps")
