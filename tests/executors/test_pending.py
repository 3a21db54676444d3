"""Work for a pool: it is done once, by who comes first, and who asks for it never waits in vain."""

import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import workbench as wb
from workbench.executors.pending import Pool

WAIT = 20


@pytest.fixture
def busy():
    """A pool whose only thread is at work until it is told to go on."""
    going = threading.Event()
    with ThreadPoolExecutor(1, "other") as executor:
        executor.submit(going.wait, WAIT)
        yield Pool(executor), going
        going.set()


def test_who_asks_does_what_nobody_has_begun(busy):
    pool, done = busy[0], list[int]()

    def square(k):
        done.append(k)
        return k * k

    tasks = [pool.start(partial(square, k)) for k in range(3)]
    assert not done
    assert [task.wait_for() for task in tasks] == [0, 1, 4]
    assert [task.wait_for() for task in tasks] == [0, 1, 4]
    assert done == [0, 1, 2]


def test_who_asks_waits_for_what_has_been_begun(busy):
    pool, going = busy
    begun, end = threading.Event(), threading.Event()

    def slow():
        begun.set()
        assert end.wait(WAIT)
        return threading.current_thread().name

    task = pool.start(slow)
    going.set()
    assert begun.wait(WAIT)
    assert not task.done
    threading.Timer(0.05, end.set).start()
    assert task.wait_for().startswith("other")
    assert task.done


@pytest.mark.parametrize("here", [False, True])
def test_errors_are_for_who_asks(here, busy):
    pool, going = busy
    task = pool.start(lambda: 1 // 0)
    if not here:
        going.set()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            task.wait_for()


def test_blocks_of_a_stream_are_shared():
    """By many blocks for each thread; the values are those of one."""
    text = "pipeline p(x: int) -> int { return cumulate(window(x, 20, cumulate(max)), +) }"
    pipeline = wb.parse(text).get().pipeline
    one, two = (
        wb.executors.Compiled(pipeline, warm_up_steps=-1),
        wb.executors.Parallel(pipeline, warm_up_steps=-1, threads=2, shortest=1000),
    )
    with ThreadPoolExecutor(2) as executor:
        two.share(Pool(executor))
        events = np.random.default_rng(3).integers(0, 1000, 30_000)
        for piece in np.split(events, 3):
            assert two.feed(piece)["out"].array.tolist() == one.feed(piece)["out"].array.tolist()
    assert two.blocks == 3 * 2 * 4
