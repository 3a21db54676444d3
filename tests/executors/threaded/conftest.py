"""Threads that are all given back."""

import pytest

from workbench.executors.threaded.manager import ThreadManager


@pytest.fixture
def manager():
    with ThreadManager(3) as found:
        yield found
    assert found.threads == 0
