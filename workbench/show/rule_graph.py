"""Pictures of rules, drawn by graphviz.

A rule is a cluster in which time flows from left to right: the predicates on the left, the trigger to their right, then
the emitted composite. Arrows are windows, from their anchor back in time to the predicate; dashed lines are parameters,
from their binding to their uses. Between clusters, arrows lead from the composites of a rule to the predicates of other
rules that they may satisfy.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from workbench.show.dot import FAINT, FILL, PALE, digraph, quote
from workbench.tesla import tree as t
from workbench.tesla.rule_set import RuleSet

LAYOUT = "rankdir=RL; nodesep=0.3; ranksep=0.7; bgcolor=white;"


def draw_rules(rules: RuleSet) -> str:
    """Return the rules as DOT text."""
    # graphviz puts later clusters above earlier ones
    lines = [line for number in reversed(range(len(rules.rules))) for line in _rule(number, rules.rules[number])]
    return digraph(rules.name, [*lines, *_hierarchy(rules)], LAYOUT, 12)


def _rule(number: int, rule: t.Rule) -> Iterator[str]:
    yield f'    subgraph cluster_{number} {{ label="{quote(rule.name)}"; color="{FAINT}"; style=rounded;'
    for position, part in enumerate(rule.parts):
        yield f"        {_id(number, position)} [label=<{_label(part)}>];"
    emission = as_table(rule.emits, list(map(str, rule.evaluations)), PALE)
    yield f"        {_id(number, -1)} [label=<{emission}>];"
    yield "    }"
    yield f'    {_id(number, -1)} -> {_id(number, 0)} [dir=back, style=bold, label="{_filters(rule)}"];'
    yield from _windows(number, rule)
    yield from _parameters(number, rule)


def _windows(number: int, rule: t.Rule) -> Iterator[str]:
    """Yield the window of each predicate, from the events that anchor it."""
    for position, (part, indices) in enumerate(zip(rule.parts, rule.anchors, strict=True)):
        window, here, anchors = part.window, _id(number, position), [_id(number, index) for index in indices]
        if window is not None and window.between:
            yield f'    {anchors[0]} -> {here} [label="between", dir=none, style=bold];'
            yield f"    {anchors[1]} -> {here} [dir=none, style=bold];"
        elif window is not None and window.after:
            yield f'    {here} -> {anchors[0]} [dir=back, label="within {window.maximum} after"];'
        elif window is not None:
            least = f"{window.minimum} .. " if window.minimum else ""
            yield f'    {anchors[0]} -> {here} [label="{least}{window.maximum or "forever"}"];'
        elif position:
            yield f"    {_id(number, 0)} -> {here} [style=dotted, dir=none];"


def _parameters(number: int, rule: t.Rule) -> Iterator[str]:
    """Yield edges from the binding of a parameter to each predicate that uses it."""
    bound: dict[str, int] = {}
    for position, part in enumerate(rule.parts):
        used = {e.name for c in part.constraints for e in t.within(c) if isinstance(e, t.BoundParameter)}
        for name in sorted(used & bound.keys()):
            if bound[name] != position:
                ends = f"{_id(number, bound[name])} -> {_id(number, position)}"
                yield f'    {ends} [style=dashed, dir=none, constraint=false, label="${name}", color="{FAINT}"];'
        if isinstance(part, t.Aggregate):
            bound[part.parameter] = position
        else:
            bound |= {each.name: position for each in part.assignments}


def _hierarchy(rules: RuleSet) -> Iterator[str]:
    """Yield edges from the composites of a rule to the predicates of all rules about their type."""
    for number, rule in enumerate(rules.rules):
        for other, looking in enumerate(rules.rules):
            for position, part in enumerate(looking.parts):
                if part.type == rule.emits:
                    ends = f"{_id(other, position)} -> {_id(number, -1)}"
                    yield f'    {ends} [dir=back, color="{FAINT}", constraint={str(other > number).lower()}];'


def _label(part: t.Predicate | t.Aggregate) -> str:
    if isinstance(part, t.Aggregate):
        head, lines = f"{part.function} {part.type}{'.' + part.attribute if part.attribute else ''}", []
        lines.append(f"${part.parameter}")
        alias = ""
    else:
        head, alias = f"{part.policy.value} {part.type}".strip(), part.alias or ""
        lines = [str(each) for each in part.assignments]
    lines += [str(each) for each in (*part.constraints, *part.ordering)]
    return as_table(head + (f" as {alias}" if alias else ""), lines, FILL)


def _filters(rule: t.Rule) -> str:
    """Return the filters between a match and its composite."""
    filters = [str(each) for each in rule.where_clause]
    filters += [f"limit {rule.limit}"] if rule.limit is not None else []
    filters += (
        [f"at most once in {rule.pause}" + "".join(f" per {each}" for each in rule.per[:1])] if rule.pause else []
    )
    filters += [f"consuming {', '.join(rule.consuming)}"] if rule.consuming else []
    return "\\n".join(map(quote, filters))


def as_table(head: str, lines: list[str], fill: str = FILL) -> str:
    """Return the label of a node: a head, and lines below it."""
    rows = "".join(
        f'<tr><td align="left"><font point-size="10" color="{FAINT}">{escape(line)}</font></td></tr>' for line in lines
    )
    return (
        f'<table border="1" cellborder="0" cellspacing="0" cellpadding="3" bgcolor="{fill}" style="rounded">'
        f"<tr><td><b>{escape(head)}</b></td></tr>{rows}</table>"
    )


def _id(number: int, position: int) -> str:
    return f"r{number}_{'emit' if position < 0 else position}"
