from collections.abc import Iterator

import pytest

from workbench.errors import EngineMissing
from workbench.smv.engines.embedded import PynusmvEngine
from workbench.smv.engines.engine import Engine
from workbench.verify.decide.table import get_engine


def engine_or_skip(name: str) -> Engine:
    try:
        return get_engine(name)
    except EngineMissing as error:
        pytest.skip(error.what)


@pytest.fixture(params=["pynusmv", "nusmv"])
def engine(request: pytest.FixtureRequest) -> Engine:
    """Every engine that is installed: what they answer must not depend on which it is."""
    return engine_or_skip(request.param)


@pytest.fixture
def pynusmv() -> Iterator[PynusmvEngine]:
    """An engine of the test's own, whose processes it may kill."""
    engine_or_skip("pynusmv")
    engine = PynusmvEngine()
    yield engine
    engine.close()
