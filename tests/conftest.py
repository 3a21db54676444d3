"""The surroundings of all tests, the same everywhere, and hypothesis: the same examples, new ones for `make fuzz`.

A profile scales the examples of all properties (`tests/examples.py`): `make test` tries seven of a hundred,
`make test-all` a quarter, and `make fuzz` all.
"""

import gc
import shutil
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.found import case
from tests.sampled import sample
from tests.surroundings import pin
from tests.verify.browser import Page, chromium
from workbench.language.depth import raise_recursion_limit

settings.register_profile(
    "default",
    max_examples=7,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=25)
settings.register_profile(
    "fuzz",
    settings.get_profile("default"),
    max_examples=100,
    derandomize=False,
    suppress_health_check=[*settings.get_profile("default").suppress_health_check, HealthCheck.filter_too_much],
)  # of examples that come by chance the first may all be none
settings.load_profile("default")
raise_recursion_limit()  # as reading a text does; hypothesis wants it to stay as it is

pin()  # the programs under test inherit it

gc.disable()  # what is imported stays: to look for garbage among it takes seconds in each of pytest-xdist's processes


EXPENSIVE = {"spark_session", "extended"}
"""Fixtures that take many seconds to set up: all tests that use one are slow."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each of pytest-xdist's processes begins with another part of the modules, and finds what the others compiled.

    To compile all of a new clone, and to rewrite its assertions, takes as long as importing it does then.
    """
    given = getattr(session.config, "workerinput", None)
    if given is None:
        return
    asked = [Path(arg.partition("::")[0]).resolve() for arg in session.config.args]
    files = [file for place in asked for file in sorted(place.rglob("test_*.py"))]
    first = int(given["workerid"].removeprefix("gw")) * len(files) // given["workercount"]
    for file in files[first:] + files[:first]:
        if not (file.parent / "__init__.py").exists():  # pytest calls those modules otherwise
            with suppress(Exception, pytest.skip.Exception):  # pytest meets it again and says so
                import_module(".".join(file.relative_to(session.config.rootpath).with_suffix("").parts))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow for another reason than its own decorator, before pytest selects by markers."""
    for item in items:
        if not EXPENSIVE.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.slow)
    sample(items)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_finish(session: pytest.Session) -> None:
    """From here on garbage is looked for, but not among what collection made; and what takes longest is run first."""
    if hasattr(session.config, "workerinput"):
        sizes = Counter(scope_of(item.nodeid) for item in session.items)
        session.items.sort(key=lambda item: (scope_of(item.nodeid) != LONGEST, -sizes[scope_of(item.nodeid)]))
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)  # short tests leave little garbage
    gc.enable()


TOGETHER = {
    "tests/executors/compiled/test_ptx.py": "kernels for a GPU",
    "tests/executors/compiled/test_ptx_rules.py": "kernels for a GPU",
    "tests/executors/spark/test_options.py": "spark",
    "tests/executors/spark/test_spark.py": "spark",
    "tests/lab/test_report.py": "browser",
    "tests/lab/test_serve.py": "browser",
    "tests/lab/test_spark.py": "spark",
    "tests/runner/test_rules_on_spark.py": "spark",
    "tests/show/test_explorer.py": "browser",
    "tests/test_layers.py": "all modules",
    "tests/test_names.py": "all modules",
}
"""Files that share what is expensive to start, and what that is: one of pytest-xdist's processes runs them."""
APART = {"tests/cli/test_interrupts.py", "tests/events/test_large_logs.py"}
"""Files whose slow tests take minutes together and share nothing: whichever process is idle runs the next one."""


LONGEST = "kernels for a GPU"
"""What takes longest, in a few tests: the other processes would wait for it at the end."""


def scope_of(nodeid: str) -> str:
    """The name of what one process runs as a whole: a file, several, or a test."""
    file = nodeid.partition("::")[0]
    return nodeid if file in APART else TOGETHER.get(file, file)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give whole files to processes: what their tests share is made once, and few messages say who runs what."""
    from xdist.scheduler import LoadScopeScheduling  # type: ignore[import-untyped]

    class Grouped(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid)

    config.option.loadscopereorder = False  # they are in order (`pytest_collection_finish`)
    return Grouped(config, log)


@pytest.fixture(scope="session")
def spark_session() -> Iterator[Any]:
    """The one session of all tests on Spark."""
    from workbench.lab.spark import session

    if shutil.which("java") is None:
        pytest.skip("there is no Java")
    made = session("local[2]", **{"spark.python.daemon.module": "tests.executors.spark.daemon"})
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Page]:
    """The one browser of all tests that need one."""
    with chromium() as page:
        yield page


@pytest.fixture
def page(browser: Page) -> Iterator[Page]:
    """The browser, in which nothing went wrong."""
    browser.send("Page.navigate", url="about:blank")
    browser.errors.clear()
    browser.requests.clear()
    yield browser
    assert browser.errors == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A property that fails shows the pipeline as a program."""
    report = yield
    if report.failed and call.excinfo and item.get_closest_marker("hypothesis"):
        report.sections += case(item.nodeid, call.excinfo.tb)
    return report
