"""The hypothesis strategy for rules with their events: `grow_case`, with choices that shrink."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from workbench.conformance.generate.rule_cases import RuleCase, grow_case


@st.composite
def rule_cases(draw: Callable[[st.SearchStrategy[Any]], Any]) -> RuleCase:
    """Rule sets with streams, facts, and how they are run."""
    return grow_case(lambda items: draw(st.sampled_from(items)))
