"""Work for who has nothing else to do: it is done once, by who comes first, and who asks for it never waits in vain."""

import threading
from functools import partial

import numpy as np
import pytest

import workbench as wb
from workbench.executors.threaded.shared_work import SharedWork

WAIT = 20


def test_who_asks_does_what_nobody_has_begun():
    work, done = SharedWork(), list[int]()

    def square(k: int) -> int:
        done.append(k)
        return k * k

    tasks = [work.start(partial(square, k)) for k in range(3)]
    assert not done
    assert [task.wait_for() for task in tasks] == [0, 1, 4]
    assert [task.wait_for() for task in tasks] == [0, 1, 4]
    assert done == [0, 1, 2]
    assert not work.help()


def test_others_take_the_last_first():
    work, done = SharedWork(), list[int]()
    tasks = [work.start(partial(done.append, k)) for k in range(3)]
    tasks[1].wait_for()
    assert work.help()
    assert work.help()
    assert not work.help()
    assert done == [1, 2, 0]
    for task in tasks:
        task.wait_for()


def test_who_asks_waits_for_what_has_been_begun():
    work, begun, going = SharedWork(), threading.Event(), threading.Event()

    def slow() -> str:
        begun.set()
        assert going.wait(WAIT)
        return threading.current_thread().name

    task = work.start(slow)
    other = threading.Thread(target=work.help, name="other")
    other.start()
    assert begun.wait(WAIT)
    threading.Timer(0.05, going.set).start()
    assert task.wait_for() == "other"
    other.join(WAIT)


def test_errors_are_for_who_asks():
    work = SharedWork()
    task = work.start(lambda: 1 // 0)
    assert work.help()
    with pytest.raises(ZeroDivisionError):
        task.wait_for()


@pytest.mark.parametrize("helped", [False, True])
def test_blocks_of_a_stream_are_shared(helped):
    """By many blocks for each thread; the values are those of one, with help and without."""
    text = "pipeline p(x: int) -> int { return cumulate(window(x, 20, cumulate(max)), +) }"
    pipeline, work = wb.parse(text).get().pipeline, SharedWork()
    one, two = wb.Compiled(pipeline, patience=-1), wb.Parallel(pipeline, patience=-1, threads=2, shortest=1000)
    two.share(work)
    over = threading.Event()

    def help_out() -> None:
        while not over.is_set():
            work.help()

    helper = threading.Thread(target=help_out)
    if helped:
        helper.start()
    events = np.random.default_rng(3).integers(0, 1000, 30_000)
    for piece in np.split(events, 3):
        assert two.feed(piece)["out"].array.tolist() == one.feed(piece)["out"].array.tolist()
    over.set()
    if helped:
        helper.join(WAIT)
    assert two.blocks == 3 * 2 * 4
    assert not work.help()
