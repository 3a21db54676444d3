"""A system in SMV with values of every kind, and monitors of one input over it."""

from __future__ import annotations

from typing import Any

import workbench as wb
from workbench.smv.system import system_from
from workbench.verify.answer.verdict import Verdict

COUNTER = """
MODULE cell(up)
  VAR n : 0..5;
  ASSIGN init(n) := 0; next(n) := case up : (n + 1) mod 6; TRUE : n; esac;
MODULE main
  VAR
    up : boolean;
    c : cell(up);
    light : {red, green, off};
    w : unsigned word[3];
    wide : unsigned word[40];
    s : signed word[3];
    a : array 0..1 of 0..3;
  IVAR
    push : boolean;
  DEFINE
    n := c.n;
    half := c.n / 2;
  ASSIGN
    init(light) := red;
    next(light) := case c.n < 3 : red; TRUE : green; esac;
    init(w) := 0ud3_0;
    next(w) := w + 0ud3_1;
    init(s) := -0sd3_2;
    next(s) := s;
    init(a[0]) := 1;
    init(a[1]) := 1;
    next(a[0]) := a[0];
    next(a[1]) := a[1];
"""


def pipeline(text: str) -> wb.Pipeline:
    return wb.parse(text).get().pipeline


def says(type_: str, condition: str, **options: Any) -> Verdict:
    """The verdict of a monitor with one input x of some type."""
    settings = options.pop("settings", None)
    monitor = pipeline(f"pipeline says(x: {type_}) -> bool {{ return {condition} }}")
    return wb.monitor(system_from(COUNTER, "counter.smv"), monitor, settings=settings, **options)
