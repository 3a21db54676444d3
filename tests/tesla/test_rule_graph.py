"""The graph of rules, held to definitions that are tried one by one on small random graphs."""

import itertools
import random

import pytest

from workbench.tesla.check import parse_rules
from workbench.tesla.rule_graph import LONGEST_CHAIN, CauseGraph, endless_chain

Arrows = list[tuple[str, str, str]]
"""Of each rule its trigger, another type that it looks at, and what it emits."""


def graph_of(arrows: Arrows) -> CauseGraph:
    text = "".join(f"declare {name}()\n" for name in "ABCDE")
    for trigger, other, emitted in arrows:
        text += f"from {trigger}() as X and last {other}() as Y within 5 from X emit {emitted}()\n"
    return parse_rules(text).graph


def random_arrows(seed: int) -> Arrows:
    draw = random.Random(seed)
    return [tuple(draw.choice("ABCDE") for _ in range(3)) for _ in range(draw.randint(1, 5))]  # type: ignore[misc]


def chains(arrows: Arrows, longest: int) -> set[tuple[int, ...]]:
    """The chains of causes with at most so many rules."""
    found: set[tuple[int, ...]] = {(number,) for number in range(len(arrows))}
    for _ in range(longest - 1):
        found |= {(*c, n) for c in found for n, (trigger, *_) in enumerate(arrows) if trigger == arrows[c[-1]][2]}
    return found


@pytest.mark.parametrize("seed", range(60))
def test_chains_and_circles_are_those_that_trying_all_finds(seed: int) -> None:
    arrows = random_arrows(seed)
    graph, found = graph_of(arrows), chains(arrows, len(arrows) + 1)
    longest = max(map(len, found))
    assert graph.longest_chain == (None if longest > len(arrows) else longest)
    for start in "ABCDE":
        caused = {arrows[each[-1]][2] for each in found if arrows[each[0]][0] == start}
        assert set(graph.find_effects([start])) == caused | {start}
        causing = {arrows[each[0]][0] for each in found if arrows[each[-1]][2] == start}
        assert set(graph.find_causes([start])) == causing | {start}
    on_circles = {n for n, (trigger, _, emitted) in enumerate(arrows) if trigger in graph.find_effects([emitted])}
    circles = [[int(rule.name.split()[1]) - 1 for rule in circle] for circle in graph.circles]
    for circle in circles:
        assert all(
            arrows[one][2] == arrows[other][0] for one, other in zip(circle, circle[1:] + circle[:1], strict=True)
        )
        back = (c for c in found if c[0] == circle[0] and arrows[c[-1]][2] == arrows[c[0]][0])
        assert len(circle) == min(map(len, back))
    first = [next(n for n in sorted(on_circles) if _together(graph, arrows[n], arrows[c[0]])) for c in circles]
    assert [circle[0] for circle in circles] == first
    assert all(any(_together(graph, arrows[n], arrows[c[0]]) for c in circles) for n in on_circles)


def _together(graph: CauseGraph, one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    return other[0] in graph.find_effects([one[2]]) and one[0] in graph.find_effects([other[2]])


@pytest.mark.parametrize("seed", range(60))
def test_rules_depend_on_what_emits_the_types_that_they_look_at(seed: int) -> None:
    arrows = random_arrows(seed)
    graph, names = graph_of(arrows), [f"rule {n + 1}" for n in range(len(arrows))]
    feeds = {(i, j) for i, one in enumerate(arrows) for j, other in enumerate(arrows) if one[2] in other[:2]}
    closure = {(i, i) for i in range(len(arrows))} | feeds
    for _ in arrows:
        closure |= {(i, k) for i, j in closure for j_, k in feeds if j == j_}
    for i, name in enumerate(names):
        assert graph.feeding(i) == {j for j, other in feeds if other == i}
        assert graph.sources([name]) == {names[j] for j, other in closure if other == i}
        assert graph.dependants([name]) == {names[j] for other, j in closure if other == i}
    circular = {i for i, j in feeds if (j, i) in closure}
    behind = {j for i, j in closure if i in circular}
    assert sorted(graph.in_order) == sorted(set(range(len(arrows))) - behind)
    assert not any((b, a) in feeds for a, b in itertools.combinations(graph.in_order, 2))
    groups = {i: {i} for i in range(len(arrows))}
    for i, j in feeds:
        merged = groups[i] | groups[j]
        groups.update(dict.fromkeys(merged, merged))
    assert graph.groups == sorted({min(group): sorted(group) for group in groups.values()}.values())


def test_the_error_of_an_endless_chain_names_its_last_circle() -> None:
    error = endless_chain(["a", "c", "b", "a", "start"])
    assert error.what == f"an event causes a chain of more than {LONGEST_CHAIN} composites: a -> b -> c -> a"
    assert "b -> a" in endless_chain(["a", "b"]).what
