"""Predicates and aggregates of a rule as entries of the step table.

The rule of this module: it writes the selection of a step; `plan` writes the actions of the step after its binding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from workbench.core.domain import FLOAT, INT
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.expressions import ListPart, PostfixCode, SharedParts, register_of
from workbench.executors.compiled.rules.range_constraints import attribute_bound
from workbench.executors.compiled.rules.records import StepKind, WindowKind
from workbench.executors.compiled.rules.refusals import AGGREGATES, POLICIES, find_combined_value
from workbench.tesla import tree as t
from workbench.tesla.engines.expressions import MatchLayout
from workbench.tesla.engines.rule_plan import RulePlan, RuleStep
from workbench.tesla.engines.set_plan import PlannedStep
from workbench.tesla.resolved import domain_of, expand_parameters

TableEntry = tuple[int, ...]
Equations = Iterable[tuple[t.Expression, t.Expression]]
"""Pairs of an expression over a candidate, and the expression that it must equal."""
StepLine = dict[str, int]
"""The nonzero fields of a step."""
TREE_KINDS = {
    **{kind: kind for kind in StepKind if StepKind.COUNT <= kind <= StepKind.MAX_TEXT},
    StepKind.AVG: StepKind.SUM, StepKind.AVG_REAL: StepKind.SUM_REAL,
    **dict.fromkeys((StepKind.COMBINE, StepKind.MEDIAN, StepKind.MEDIAN_REAL)),
}  # fmt: skip
"""The kind of nodes from which each aggregate can be combined, if any."""


class EntryLists:
    """Lists that table entries refer to by range: code, keys, bounds, actions, registers.

    Parameters
    ----------
    code_of: returns the code of a text.
    """

    def __init__(self, code_of: Callable[[str], int]) -> None:
        self.code = PostfixCode(code_of)
        self.bounds, self.actions, self.keys = (SharedParts[TableEntry]() for _ in range(3))
        self.registers = SharedParts[int]()

    def add_keys(self, codes: Iterable[ListPart]) -> ListPart:
        """Add a key, given the code of each of its values."""
        return self.keys.add((0, *code) for code in codes)

    def add_key(self, equations: Equations, layout: MatchLayout) -> ListPart:
        """Add the values that the key of a column must equal."""
        return self.add_keys(self.code.key(value, layout, domain_of(own)) for own, value in equations)


class StepWriter:
    """A writer of steps.

    Parameters
    ----------
    lists: receive what steps refer to.
    types: type numbers by name.
    columns: the table entry of each planned column.
    banded: for each entry the attribute by which it is banded, or `NONE`.
    trex: whether windows have the semantics of T-Rex.

    Attributes
    ----------
    ranges: maximum number of attributes that a step bounds; at least two, for comparisons.
    trees: numbers of aggregate trees, by column, attribute and kind.
    """

    def __init__(
        self, lists: EntryLists, types: Mapping[str, int], columns: Sequence[int], banded: Sequence[int], *, trex: bool
    ) -> None:
        self._lists, self._types, self._trex = lists, types, trex
        self._columns, self._banded = columns, banded
        self.ranges = 2
        self.trees: dict[tuple[int, int, int], int] = {}

    def trigger(self, plan: RulePlan, constraints: Iterable[t.Expression]) -> StepLine:
        """Write the first step of a rule, with these constraints."""
        line = self._write_binding(plan.trigger)
        line["residual"], line["residual_end"] = self._residual(plan, constraints)
        return line

    def step(self, plan: RulePlan, planned: PlannedStep) -> StepLine:
        """Write a later step."""
        step = planned.step
        line = self._write_binding(step) | _window(step, self._trex)
        line["column"] = self._columns[planned.column]
        line["keys"], line["keys_end"] = self._lists.add_key(planned.equations, plan.layout)
        rest = self._bounds_of(line, plan, _list_unkeyed(planned))
        line["residual"], line["residual_end"] = self._residual(plan, rest)
        if step.selects:
            rivals = [each for each in plan.steps[1 : step.number] if each.selects and each.type == step.type]
            register_range = self._lists.registers.add(register_of(each.slot) for each in rivals)
            line["rivals"], line["rivals_end"] = register_range
        return line | {"tree": self._tree(line)}

    def taking(self, step: RuleStep, searched: int) -> StepLine:
        """Write the step that takes candidates stored at an earlier place of the search."""
        return self._write_binding(step) | {"kind": StepKind.TAKE, "list": searched}

    def _tree(self, line: StepLine) -> int:
        """Return the tree of an aggregate, which may have one if it depends only on the key and the window."""
        kind = TREE_KINDS.get(StepKind(line["kind"]))
        if kind is None or line["ranges"] or line["residual"] < line["residual_end"]:
            return records.NONE
        return self.trees.setdefault((line["column"], line["cell"], kind), len(self.trees))

    def _write_binding(self, step: RuleStep) -> StepLine:
        """Write the kind of a step, and its binding."""
        part = step.part
        line = {
            "type": self._types.get(step.type, records.NONE),
            "slot": register_of(step.slot),
            "cell": records.NONE if step.attribute is None else step.attribute,
            "source": records.NONE,
        }  # fmt: skip
        kind = self._aggregate(step, part) if isinstance(part, t.Aggregate) else {"kind": POLICIES[part.policy]}
        return line | kind

    def _aggregate(self, step: RuleStep, part: t.Aggregate) -> StepLine:
        """Write the fields of an aggregate."""
        declared, code = part.declared, self._lists.code
        if declared is None:
            return {"kind": AGGREGATES[part.function][step.values]}
        line, domain, cell = {"kind": int(StepKind.COMBINE)}, declared.domain, step.attribute
        assert cell is not None
        real = domain == FLOAT and step.values == INT
        line["initial"], line["initial_end"] = code.value(t.Literal(declared.first), {})
        line["value"], line["value_end"] = code.own_cell(cell, real=real)
        line["combine"], line["combine_end"] = code.value(find_combined_value(declared), {}, domain)
        return line

    def _bounds_of(self, line: StepLine, plan: RulePlan, constraints: Sequence[t.Expression]) -> list[t.Expression]:
        """Write comparisons of an own attribute with earlier values as bounds; return the other constraints.

        The first range is that of the attribute by which the column is banded, if any.
        """
        banded = self._banded[line["column"]]
        ranges = {} if banded == records.NONE else {banded: 0}
        rest, bounds = list[t.Expression](), list[TableEntry]()
        for each in constraints:
            bound = attribute_bound(each)
            if bound is None:
                rest.append(each)
                continue
            range_index = ranges.setdefault(bound.cell, len(ranges))
            bounds.append((range_index, bound.cell, bound.relation, *self._lists.code.value(bound.value, plan.layout)))
        line["bounds"], line["bounds_end"] = self._lists.bounds.add(bounds)
        line["ranges"], line["not_null"] = len(ranges), sum(1 << cell for cell in ranges)
        self.ranges = max(self.ranges, len(ranges))
        return rest

    def _residual(self, plan: RulePlan, constraints: Iterable[t.Expression]) -> ListPart:
        return self._lists.code.required([expand_parameters(each, own=True) for each in constraints], plan.layout)


_RESTRICTING = ("keys", "bounds", "residual", "rivals")
"""Fields with which a step may restrict the rows of its window."""


def selects_window(line: StepLine) -> bool:
    """Whether a step selects every row of its window, without further conditions."""
    if line["kind"] != StepKind.EACH or line["consumer"] != records.NONE:
        return False
    return not any(line.get(f"{each}_end", 0) > line.get(each, 0) for each in _RESTRICTING)


def _list_unkeyed(planned: PlannedStep) -> list[t.Expression]:
    """Return the constraints of candidates, less an equation that is the whole key: all rows of a chain meet it."""
    pairs = planned.step.equations
    if len(planned.equations) != 1 or len(pairs) != 1:
        return planned.constraints  # several values are mixed into one word
    if list(map(domain_of, pairs[0])) == [FLOAT, INT]:
        return planned.constraints  # an integer may not be representable as a float
    return [each for each in planned.constraints if not _is_equation(each, pairs[0])]


def _is_equation(constraint: t.Expression, pair: tuple[t.Expression, t.Expression]) -> bool:
    """Whether a constraint is the equation with these sides."""
    return isinstance(constraint, t.Operation) and set(map(id, constraint.operands)) == set(map(id, pair))


def _window(step: RuleStep, trex: bool) -> dict[str, int]:
    """Return the fields of a step's window."""
    window = step.window
    if window is None:
        return {"window": WindowKind.ALL}
    anchors = {"anchor": register_of(step.anchors[0]), "other": register_of(step.anchors[-1])}
    least, upper = min(window.near, records.FOREVER), window.far
    if window.between:
        return anchors | {"window": WindowKind.BETWEEN_TIMES if trex else WindowKind.BETWEEN}
    if window.after:
        return anchors | {"window": WindowKind.AFTER, "most": min(upper or 0, records.FOREVER)}
    if trex and not window.counts_events:  # both ends are open, and times are integers
        least, upper = least + 1, None if upper is None else upper - 1
        if upper is not None and upper < least:
            least, upper = 1, 0
    kind = WindowKind.BY_ORDER if window.counts_events else WindowKind.BY_TIME
    endless = upper is None or upper >= records.FOREVER
    return anchors | {"window": kind, "least": least, "most": records.NONE if endless else int(upper or 0)}
