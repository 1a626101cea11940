"""A limit interrupts what runs too long, and never what comes after it."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from functools import partial

import pytest

from oncue.common.answers import Cancelled, TimedOut
from oncue.common.clock import monotonic_s
from oncue.common.task import Task
from oncue.worker import limit
from oncue.worker.limit import call_within

ATTEMPTS = 300


def spin(until_s: float) -> None:
    while monotonic_s() < until_s:
        pass


def test_what_runs_too_long_is_interrupted_with_a_reason() -> None:
    began = monotonic_s()
    with pytest.raises(TimedOut, match=r"longer than its limit of 0\.05 s"):
        call_within(0.05, spin, began + 30)
    assert monotonic_s() - began < 10


def test_a_handler_that_catches_every_exception_is_interrupted_all_the_same() -> None:
    def stubborn(until_s: float) -> None:
        while monotonic_s() < until_s:
            with contextlib.suppress(Exception):
                spin(until_s)

    with pytest.raises(TimedOut):
        call_within(0.05, stubborn, monotonic_s() + 30)


def test_what_ends_in_time_returns_and_raises_what_it_would_without_a_limit() -> None:
    assert call_within(60, str, 5) == "5"
    assert call_within(None, str, 5) == "5"
    with pytest.raises(ZeroDivisionError):
        call_within(60, lambda n: n / 0, 1)


def cancelled_soon(task: Task, after_s: float) -> threading.Thread:
    def wish() -> None:
        # As each renewal of the lease brings the wish anew.
        for _ in range(3):
            task.wish_cancel()

    timer = threading.Timer(after_s, wish)
    timer.start()
    return timer


def test_a_function_is_interrupted_when_its_task_is_cancelled() -> None:
    task = Task("it", "default", 1, 0)
    timer = cancelled_soon(task, 0.05)
    with pytest.raises(Cancelled):
        call_within(None, spin, monotonic_s() + 30, task.on_cancel)
    timer.join()
    with pytest.raises(Cancelled):
        call_within(None, spin, monotonic_s() + 30, task.on_cancel)


def test_a_handler_that_does_not_heed_its_cancel_is_still_held_to_its_limit() -> None:
    task, seen = Task("it", "default", 1, 0), list[BaseException]()

    def stubborn(until_s: float) -> None:
        try:
            spin(until_s)
        except Cancelled as error:
            seen.append(error)
        spin(until_s)

    timer = cancelled_soon(task, 0.01)
    with pytest.raises(TimedOut):
        # So much later than the cancel that no standstill of the machine brings both at once.
        call_within(2, stubborn, monotonic_s() + 30, task.on_cancel)
    timer.join()
    assert len(seen) == 1


def test_what_a_function_itself_raises_is_raised_as_it_is() -> None:
    def own(task: Task) -> None:
        raise TimedOut("the other side is slow")

    task = Task("it", "default", 1, 0)
    for timeout_s, on_cancel in ((None, task.on_cancel), (60, None), (60, task.on_cancel)):
        with pytest.raises(TimedOut, match="the other side is slow"):
            call_within(timeout_s, own, task, on_cancel)


def test_the_limit_of_an_outer_call_is_not_taken_for_that_of_an_inner_one() -> None:
    with pytest.raises(TimedOut, match=r"longer than its limit of 0\.05 s"):
        call_within(0.05, lambda until_s: call_within(60, spin, until_s), monotonic_s() + 30)


def test_an_inner_call_that_ends_does_not_take_back_the_interruption_of_an_outer_one() -> None:
    class Struck:
        # In C, so that nothing is raised before the next instructions: those with which the inner call ends.
        __enter__ = partial(
            limit._raise_in, ctypes.c_ulong(threading.get_ident()), ctypes.py_object(TimedOut)
        )

        def __exit__(self, *_: object) -> None:
            pass

    inner = limit._Watch()
    inner.lock = Struck()  # type: ignore[assignment]
    with pytest.raises(TimedOut):
        inner.end()


def test_no_cancel_hits_what_the_thread_does_next() -> None:
    """Cancelled and limited at about the end of each call."""
    strays: list[BaseException] = []

    def work() -> None:
        try:
            for n in range(ATTEMPTS):
                task = Task("it", "default", 1, 0)
                timer = cancelled_soon(task, 0.001)
                with contextlib.suppress(TimedOut, Cancelled):
                    call_within(0.0015, spin, monotonic_s() + 0.0005 + n % 15 / 10_000, task.on_cancel)
                for _ in range(100):
                    pass
                timer.join()
        except BaseException as error:  # noqa: BLE001 - anything here is a stray
            strays.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert strays == []


def test_no_interruption_hits_what_the_thread_does_next() -> None:
    """Calls end at about their limit, so that the exception comes just before, at and just after their end."""
    strays: list[BaseException] = []

    def work() -> None:
        try:
            for n in range(ATTEMPTS):
                with contextlib.suppress(TimedOut):
                    call_within(0.001, spin, monotonic_s() + 0.0005 + n % 10 / 10_000)
                for _ in range(100):
                    pass
        except BaseException as error:  # noqa: BLE001 - anything here is a stray
            strays.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert strays == []
