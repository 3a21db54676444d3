"""Analyses: questions about a whole pipeline that have an answer rather than a truth value.

Each module answers one, from verdicts of `verify.check`, and states which parts are proved, within which bounds.
"""

from workbench.verify.analyses.constants import constants
from workbench.verify.analyses.dead_paths import dead_paths
from workbench.verify.analyses.measure import latencies, latency, longest_silence
from workbench.verify.analyses.order import order
from workbench.verify.analyses.states import states

__all__ = ["constants", "dead_paths", "latencies", "latency", "longest_silence", "order", "states"]
