import gc
import signal
import threading
import time
import weakref
from functools import partial

import pytest

from workbench.conformance.compare.schedules import Deadlock, Schedule
from workbench.errors import PipelineError
from workbench.executors.threaded.executor import NonBlocking
from workbench.executors.threaded.manager import ThreadManager
from workbench.processors.passthrough import Passthrough

SEEDS = range(150)


class Gate:
    """Tasks that wait to be let through."""

    def __init__(self):
        self.changed = threading.Condition()
        self.open = False
        self.inside = 0

    def __call__(self):
        with self.changed:
            self.inside += 1
            while not self.open:
                self.changed.wait()
        return "through"

    def let_through(self):
        with self.changed:
            self.open = True
            self.changed.notify_all()


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_as_many_threads_as_the_limit_says(limit):
    gate = Gate()
    with ThreadManager(limit) as manager:
        granted = [manager.try_start(gate) for _ in range(5)]
        assert [task is not None for task in granted] == [True] * limit + [False] * (5 - limit)
        assert manager.working == limit
        gate.let_through()
        assert [task.wait_for() for task in granted if task] == ["through"] * limit
        assert manager.working == 0
    assert manager.threads == 0


def test_no_limit():
    gate = Gate()
    with ThreadManager(None) as manager:
        tasks = [manager.try_start(gate) for _ in range(20)]
        assert all(tasks)
        gate.let_through()
        assert {task.wait_for() for task in tasks} == {"through"}


def test_a_finished_thread_is_granted_again():
    with ThreadManager(1) as manager:
        for number in range(10):
            assert manager.try_start(partial(int, number)).wait_for() == number
        assert manager.threads == 1


def test_where_none_is_granted_the_caller_works():
    manager = ThreadManager(0)
    assert manager.start(threading.get_ident).wait_for() == threading.get_ident()
    with ThreadManager(1) as other:
        assert other.start(threading.get_ident).wait_for() != threading.get_ident()


def test_errors_reach_whoever_waits():
    def fails():
        raise KeyError("k")

    with ThreadManager(1) as manager:
        for pending in (manager.try_start(fails), ThreadManager(0).start(fails)):
            for _ in range(2):
                with pytest.raises(KeyError):
                    pending.wait_for()
        assert manager.try_start(lambda: 1).wait_for() == 1


def test_the_limit_changes_while_running():
    gate = Gate()
    with ThreadManager(0) as manager:
        assert manager.try_start(gate) is None
        manager.limit = 2
        tasks = [manager.try_start(gate), manager.try_start(gate)]
        manager.limit = 1
        assert manager.try_start(gate) is None
        gate.let_through()
        assert [task.wait_for() for task in tasks] == ["through"] * 2
        manager.try_start(lambda: 1).wait_for()
        manager.limit = 0
        assert manager.try_start(gate) is None
    with pytest.raises(PipelineError, match="limit of -1"):
        ThreadManager(-1)


def test_a_closed_manager_grants_nothing():
    manager = ThreadManager(2)
    manager.close()
    manager.limit = 2
    assert not manager.grants
    assert manager.try_start(lambda: 1) is None
    manager.close()


def test_an_unused_manager_leaves_no_thread():
    manager = ThreadManager(3)
    workers = manager._workers
    for task in [manager.try_start(lambda: 1) for _ in range(3)]:
        task.wait_for()
    threads = [thread for thread in workers.threads if isinstance(thread, threading.Thread)]
    assert threads
    gone = weakref.ref(manager)
    del manager
    gc.collect()
    assert gone() is None
    for thread in threads:
        thread.join(5)
        assert not thread.is_alive()


# --- Ctrl-C, and no thread to be had ------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1])
def test_ctrl_c_is_for_who_works_in_the_main_thread(limit):
    """Not for who waits for the result: nobody might."""
    with ThreadManager(limit) as manager:
        manager.limit = 0
        with pytest.raises(KeyboardInterrupt):
            manager.start(partial(signal.raise_signal, signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            NonBlocking(manager)(Interrupted().step, [((), (1,))])


def until(condition):
    deadline = time.monotonic() + 5
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(1e-3)


class Interrupted(Passthrough):
    """A processor during whose step somebody presses Ctrl-C."""

    def step(self, state, front):
        signal.raise_signal(signal.SIGINT)
        return super().step(state, front)


class FailingThread(threading.Thread):
    def __init__(self, primitives, given):
        super().__init__(**given)
        self.primitives = primitives

    def start(self):
        if self.primitives.early:
            self.primitives.strike()
        super().start()
        self.primitives.strike()


class Failing:
    """The module `threading`, with something that happens when a thread starts: before or after it has begun."""

    Lock, RLock = staticmethod(threading.Lock), staticmethod(threading.RLock)
    current_thread = staticmethod(threading.current_thread)

    def __init__(self, happens, *, early):
        self.happens, self.early = happens, early

    def strike(self):
        happens, self.happens = self.happens, int
        happens()

    def Thread(self, **given):  # noqa: N802  it stands for threading.Thread
        return FailingThread(self, given)


def test_where_the_system_has_no_thread_left_none_is_granted():
    def fail():
        raise RuntimeError("can't start new thread")

    primitives = Failing(fail, early=True)
    manager = ThreadManager(None, primitives=primitives)
    assert manager.try_start(lambda: 1) is None
    primitives.happens = fail
    assert manager.start(threading.get_ident).wait_for() == threading.get_ident()
    assert (manager.working, manager.threads) == (0, 0)
    manager.close()


def ctrl_c():
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("early", [False, True])
def test_ctrl_c_while_a_thread_starts_comes_when_it_has_begun(early):
    primitives = Failing(ctrl_c, early=early)
    with ThreadManager(1, primitives=primitives) as manager:
        done = []
        with pytest.raises(KeyboardInterrupt):
            manager.try_start(lambda: done.append(1))
        until(lambda: manager.working == 0)
        assert manager.start(lambda: 2).wait_for() == 2
        assert done == [1]
    assert manager.threads == 0


# --- under many schedules -----------------------------------------------------------------------------------


class Workload:
    """Work that counts how much of it runs at the same time."""

    def __init__(self, schedule):
        self.schedule = schedule
        self.done = []
        self.running = self.most = 0

    def __call__(self, number):
        self.running += 1
        self.most = max(self.most, self.running)
        for _ in range(6):
            self.schedule.point()
        self.running -= 1
        self.done.append(number)
        return number


@pytest.mark.sampled(1)
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_every_task_is_done_once_and_no_more_run_than_the_limit(limit):
    most = set()
    for seed in SEEDS:
        schedule = Schedule(seed)
        work = Workload(schedule)

        def body(schedule=schedule, work=work):
            with ThreadManager(limit, primitives=schedule) as manager:
                pending = [manager.try_start(partial(work, n)) for n in range(6)]
                return [(n, p.wait_for()) for n, p in enumerate(pending) if p]

        found = schedule.run(body)
        assert sorted(work.done) == [number for number, _ in found]
        assert all(number == value for number, value in found)
        most.add(work.most)
    assert max(most) == limit


def test_changing_the_limit_leaks_no_thread():
    for seed in SEEDS:
        schedule = Schedule(seed)

        def body(schedule=schedule):
            with ThreadManager(3, primitives=schedule) as manager:
                done = []
                for limit in (3, 1, 0, 2):
                    manager.limit = limit
                    done += [manager.start(partial(int, n)) for n in range(3)]
                assert [p.wait_for() for p in done] == [0, 1, 2] * 4
                assert manager.working == 0

        schedule.run(body)


def test_after_waiting_the_thread_can_be_granted_again():
    for seed in SEEDS:
        schedule = Schedule(seed)

        def body(schedule=schedule):
            with ThreadManager(1, primitives=schedule) as manager:
                for number in range(4):
                    assert manager.try_start(partial(int, number)).wait_for() == number

        schedule.run(body)


def test_closing_while_a_thread_is_being_started():
    """Whoever closes waits for it, and for what it does."""
    for seed in SEEDS:
        schedule = Schedule(seed)
        done = []

        def body(schedule=schedule, done=done):
            manager = ThreadManager(2, primitives=schedule)
            works, granted = [partial(done.append, number) for number in range(3)], []
            asking = schedule.Thread(
                target=lambda: granted.extend(map(manager.try_start, works)), name="a", daemon=True
            )
            asking.start()
            schedule.point()
            manager.close()
            assert manager.threads == manager.working == 0
            begun = len(done)
            asking.join()
            assert len(done) == begun == len([task for task in granted if task])

        schedule.run(body)


@pytest.mark.parametrize("limit", [1, 2])
def test_work_may_close_its_manager(limit):
    """It does not wait for itself; who closes it from outside waits for all."""
    for seed in SEEDS:
        schedule = Schedule(seed)

        def body(schedule=schedule):
            with ThreadManager(limit, primitives=schedule) as manager:
                closing = [manager.start(manager.close) for _ in range(2)]
                assert [pending.wait_for() for pending in closing] == [None, None]
                assert manager.try_start(int) is None
            assert manager.threads == 0

        schedule.run(body)


def test_work_may_close_its_manager_in_a_real_thread():
    manager = ThreadManager(1)
    assert manager.try_start(manager.close).wait_for() is None
    manager.close()
    assert manager.threads == 0


def test_the_error_of_work_is_not_hidden_by_closing():
    """One thread asks for another while the manager is being closed because of the first one's error."""

    def fails():
        raise KeyError("k")

    for seed in SEEDS:
        schedule = Schedule(seed)

        def body(schedule=schedule):
            with ThreadManager(None, primitives=schedule) as manager:
                failing = manager.try_start(fails)
                manager.try_start(lambda: [manager.start(int) for _ in range(3)])
                failing.wait_for()

        with pytest.raises(KeyError):
            schedule.run(body)


# --- the schedules themselves ---------------------------------------------------------------------------------


def trail(seed):
    schedule = Schedule(seed, switching=0.5)
    seen = []

    def body():
        with ThreadManager(3, primitives=schedule) as manager:

            def work(name):
                for i in range(3):
                    seen.append(f"{name}{i}")
                    schedule.point()

            for pending in [manager.start(partial(work, name)) for name in "abc"]:
                pending.wait_for()

    schedule.run(body)
    return " ".join(seen)


def test_a_seed_is_an_interleaving():
    trails = {trail(seed) for seed in range(40)}
    assert len(trails) > 20
    assert all(trail(seed) == trail(seed) for seed in range(10))


def test_a_deadlock_is_found():
    def body(schedule):
        one, two = schedule.RLock(), schedule.RLock()

        def crosswise(first, second):
            with first:
                schedule.point()
                with second:
                    pass

        thread = schedule.Thread(target=lambda: crosswise(one, two), name="other", daemon=True)
        thread.start()
        crosswise(two, one)
        thread.join()

    outcomes = set()
    for seed in range(60):
        schedule = Schedule(seed, switching=0.5)
        try:
            schedule.run(partial(body, schedule))
            outcomes.add("done")
        except Deadlock as error:
            outcomes.add(str(error).partition(";")[0])
    assert outcomes == {"done", "no thread can continue"}


def test_a_thread_that_does_not_end_is_found():
    schedule = Schedule(0)

    def body():
        manager = ThreadManager(1, primitives=schedule)
        manager._finalizer.detach()
        manager.try_start(lambda: 1).wait_for()

    with pytest.raises(AssertionError, match="1 threads have not ended"):
        schedule.run(body)
