"""Properties that `wb.check` decides: `wb.check(program, wb.properties.no_overflow())`."""

from __future__ import annotations

TYPE_CHECKING = False
"""The flag of `typing`, whose import takes a while."""

# fmt: off
# isort: off
if TYPE_CHECKING:
    from workbench.language import parse_property as parse_property
    from workbench.verify.ask.equivalence import equivalent_to as equivalent_to, tolerating as tolerating
    from workbench.verify.ask.labels import property_from as property_from
    from workbench.verify.ask.properties import (
        Property as Property, always as always, bounded_liveness as bounded_liveness, liveness as liveness,
        never_false as never_false, no_full_queues as no_full_queues, no_overflow as no_overflow,
        often_true as often_true, response as response, stays_in_range as stays_in_range, temporal as temporal,
    )
# fmt: on
# isort: on

if not TYPE_CHECKING:  # type checkers would take any name for one of ours
    from workbench.lazy_names import lazy_names

    __getattr__, __dir__ = lazy_names(__name__)
