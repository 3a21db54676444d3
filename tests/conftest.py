"""Hypothesis: the same examples everywhere, new ones for `make fuzz`; Ctrl-C works, also in the background."""

import signal
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from tests.found import case

settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("fuzz", settings.get_profile("default"), derandomize=False)
settings.load_profile("default")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job; the programs under test inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A property that fails shows the pipeline as a program."""
    report = yield
    if report.failed and call.excinfo and item.get_closest_marker("hypothesis"):
        report.sections += case(call.excinfo.tb)
    return report
