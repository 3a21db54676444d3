"""GPU memory and time, with a module that answers like `pynvml`: there is no GPU where these tests run."""

import os
import sys
import time
from functools import cache
from types import SimpleNamespace

import pytest

from tests.lab.nvml import Fake, NVMLError, holds, worked
from workbench.frames import write_frame
from workbench.lab.experiment import Limits
from workbench.lab.measure import gpu
from workbench.lab.measure.watch import Child, Watch

OWN, OTHER = 101, 999


@pytest.fixture
def forgotten():
    """What was found out about GPUs counts for one test only."""
    for found in (gpu.nvml, gpu.devices, gpu._first_namespace):
        found.cache_clear()
    yield
    for found in (gpu.nvml, gpu.devices, gpu._first_namespace):
        found.cache_clear()


@pytest.fixture
def nvml(monkeypatch, forgotten):
    """A machine with two GPUs, whose processes have the same numbers for us and the driver."""
    fake = Fake(2)
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(gpu, "SIGNS", ("/",))
    monkeypatch.setattr(gpu, "_first_namespace", cache(lambda: True))
    monkeypatch.setattr(gpu, "time", SimpleNamespace(time_ns=lambda: fake.clock.us * 1000))
    return fake


def test_memory_is_the_largest_sum_over_the_tree_and_the_gpus(nvml):
    use = gpu.GpuUse()
    nvml.running = [[holds(OWN, 300), holds(OTHER, 5000)], [holds(OWN, 20), holds(OWN + 1, 100)]]
    use.look([OWN, OWN + 1])
    nvml.running = [[holds(OWN, 350)], []]
    use.look([OWN])
    assert use.peak_mb == 420


def test_time_is_the_samples_percentages_of_the_time_between_them(nvml):
    use, begin = gpu.GpuUse(), nvml.clock.us
    nvml.running[0] = [holds(OWN, 1)]
    nvml.samples = [[worked(OWN, begin + 200_000, 50), worked(OTHER, begin + 200_000, 50)], []]
    use.look([OWN])
    use.look([OWN])  # nothing new: a sample counts once
    assert use.seconds == pytest.approx(0.1)
    nvml.samples = [[worked(OWN, begin + 600_000, 100)], [worked(OWN, begin + 500_000, 10)]]
    use.look([])  # it has ended, but is still known
    assert use.seconds == pytest.approx(0.1 + 0.4 + 0.05)


def test_time_after_a_pause_is_at_most_a_sample_period(nvml):
    use, begin = gpu.GpuUse(), nvml.clock.us
    nvml.samples[0] = [worked(OWN, begin + 30_000_000, 80)]
    use.look([OWN])
    assert use.seconds == pytest.approx(0.8 * gpu.LONGEST_PERIOD)


def test_samples_that_cannot_be_true_are_left_out(nvml):
    use, begin = gpu.GpuUse(), nvml.clock.us
    nvml.samples[0] = [worked(OWN, begin - 1, 100), worked(OWN, begin + 100_000, 4_000_000), worked(0, 0, 0)]
    use.look([OWN])
    assert use.seconds == 0


def test_a_tree_that_is_on_no_gpu_uses_nothing(nvml):
    use = gpu.GpuUse()
    nvml.running[0] = [holds(OTHER, 100)]
    use.look([OWN])
    assert (use.peak_mb, use.seconds) == (0, 0)


def test_what_cannot_be_known_is_none(nvml, monkeypatch):
    use = gpu.GpuUse()
    nvml.running[0] = [holds(OWN, None)]
    use.look([OWN])
    assert use.peak_mb is None, "the driver does not tell the memory of a process"
    told = use.seconds
    assert told is None, "it was on a GPU for less time than a sample takes"
    nvml.clock.us += 1_500_000
    assert use.seconds == 0, "the driver would have told"

    nvml.running[0], nvml.samples[0] = [holds(OWN, 7)], NVMLError(Fake.NVML_ERROR_NOT_SUPPORTED)
    use = gpu.GpuUse()
    use.look([OWN])
    nvml.clock.us += 1_500_000
    assert (use.peak_mb, use.seconds) == (7, None)

    nvml.running[0], nvml.samples[0] = NVMLError(15), []  # NVML_ERROR_GPU_IS_LOST
    use = gpu.GpuUse()
    use.look([OWN])
    assert use.peak_mb is None

    nvml.running[0] = [holds(OTHER, 7)]
    monkeypatch.setattr(gpu, "_first_namespace", cache(lambda: False))
    use = gpu.GpuUse()
    use.look([OWN])
    assert (use.peak_mb, use.seconds) == (None, None), "in a container, the number may be of another process"
    nvml.running[0] = [holds(OWN, 7)]
    use.look([OWN])
    assert use.peak_mb == 7, "this driver uses our numbers"


@pytest.mark.parametrize("value", [0, Fake.NVML_ERROR_NOT_FOUND, Fake.NVML_ERROR_INSUFFICIENT_SIZE])
def test_no_samples_now_is_no_error(nvml, value):
    """The module raises an error for all three, also for success without samples."""
    use = gpu.GpuUse()
    nvml.samples[0] = NVMLError(value)
    use.look([OWN])
    assert use.seconds == 0


def test_the_machine_names_its_gpus(nvml):
    assert gpu.describe_gpus() == {"gpus": "NVIDIA Test 0, NVIDIA Test 1", "gpu_driver": "550.1"}


def test_a_watch_looks_while_the_point_runs_and_at_its_end(nvml):
    """The child is this process, and its task ends before the first look."""
    reads, answers = os.pipe()
    pid = os.getpid()
    watch = Watch(Child(pid, -1, reads, "e"), Limits(memory_mb=None), None)
    write_frame(answers, {"begin": time.monotonic(), "cpu": 0.0})
    nvml.running[0] = [holds(pid, 64)]
    write_frame(answers, {"status": "ok"})
    nvml.samples[1] = [worked(pid, nvml.clock.us + 500_000, 40)]
    assert watch.listen() == ""
    assert watch.gpu is not None
    assert watch.gpu.peak_mb == 64
    assert watch.gpu.seconds == pytest.approx(0.2)


def test_a_gpu_that_we_may_not_use_is_left_out(nvml):
    nvml.forbidden = (0,)
    nvml.running = [NVMLError(4), [holds(OWN, 5)]]
    use = gpu.GpuUse()
    use.look([OWN])
    assert use.peak_mb == 5
    assert gpu.describe_gpus()["gpus"] == "NVIDIA Test 1"


# --- no GPU ---------------------------------------------------------------------------------------------------


def test_nothing_is_imported_where_nothing_points_to_a_gpu(monkeypatch, forgotten):
    fake = Fake()
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.setattr(gpu, "SIGNS", ("/no/such/file",))
    assert gpu.devices() == ()
    assert gpu.describe_gpus() == {}
    assert fake.started == 0


@pytest.mark.parametrize("why", ["no module", "no driver", "no GPU"])
def test_a_machine_that_only_looks_like_it_has_one_is_asked_once(monkeypatch, forgotten, why):
    fake = None if why == "no module" else Fake(0 if why == "no GPU" else 1)
    if fake:
        fake.broken = why == "no driver"
    monkeypatch.setitem(sys.modules, "pynvml", fake)  # None makes the import fail
    monkeypatch.setattr(gpu, "SIGNS", ("/",))
    for _ in range(3):
        assert gpu.devices() == ()
        assert gpu.describe_gpus() == {}
    assert fake is None or fake.started == 1


def test_the_module_has_what_is_asked_of_it():
    """The fake one answers for the real one, whose names it must have."""
    real = pytest.importorskip("pynvml")
    for name in [name for name in dir(Fake) if name.startswith(("nvml", "NVML"))]:
        assert hasattr(real, name), name
    assert real.NVML_ERROR_NOT_FOUND == Fake.NVML_ERROR_NOT_FOUND
    assert real.NVML_ERROR_INSUFFICIENT_SIZE == Fake.NVML_ERROR_INSUFFICIENT_SIZE
    assert real.NVMLError(real.NVML_ERROR_NOT_FOUND).value == real.NVML_ERROR_NOT_FOUND
