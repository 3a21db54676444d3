"""Hypothesis without deadlines, the same examples every time where CI is set; Ctrl-C works, also in the background."""

import os
import signal

from hypothesis import HealthCheck, settings

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job; the programs under test inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
