"""A processor with a mistake, for docs/reference/conformance.md."""

from dataclasses import dataclass
from itertools import pairwise

import workbench as wb
from workbench.core.form import Form
from workbench.core.processor import Maybe


@dataclass(frozen=True)
class Rising(wb.Processor):
    """Every event that is larger than the one before it."""

    def denote(self, streams):
        (x,) = streams
        return ([b for a, b in pairwise(x) if b > a],)

    def initial(self):
        return (None,)

    def step(self, state, front):
        (before,), (x,) = state, front
        if before is not None and x > before:
            return (before,), (Maybe(True, x),)
        return (x,), (Maybe(False, None),)

    def refusal(self, form):
        return "" if form == Form.VALUES else "it is written in plain Python"

    @classmethod
    def samples(cls):
        return (cls(),)


@wb.pipeline(x=wb.INT)
def rises(x):
    return Rising()(x).named("out")
