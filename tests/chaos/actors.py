"""Actors: threads that stand before each of their commands until they are let go on; killed or left asleep anywhere."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from random import Random
from typing import Any

import pytest

from oncue import NotFound, WrongState
from oncue.common.shard import Request, Shard

KILLED = 0.03
"""How often an actor that has been let go on for a while is killed then."""


class Killed(BaseException):
    """Ends an actor in the middle, as SIGKILL does."""


class Actor:
    """A thread that stands still before each command."""

    here = threading.local()

    def __init__(self, what: str, act: Callable[[], object]) -> None:
        self.what, self.is_done, self.is_killed = what, False, False
        self.error: BaseException | None = None
        self._go, self._stands = threading.Semaphore(0), threading.Semaphore(0)
        threading.Thread(target=self._run, args=(act,), daemon=True).start()

    def step(self) -> None:
        self._go.release()
        assert self._stands.acquire(timeout=60)

    def kill(self) -> None:
        self.is_killed = True
        self.step()

    def stand(self) -> None:
        self._stands.release()
        self._go.acquire()
        if self.is_killed:
            raise Killed

    def go_on(self, draw: Random) -> None:
        """A few steps, after which it is killed now and then."""
        for _ in range(draw.choice([1, 1, 2, 3, 8, 50])):
            if not self.is_done:
                self.step()
        if not self.is_done and draw.random() < KILLED:
            self.kill()

    def _run(self, act: Callable[[], object]) -> None:
        self.here.actor = self
        self._go.acquire()
        try:
            act()
        except (Killed, WrongState, NotFound):
            pass
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            self.error = error
        self.is_done = True
        self._stands.release()


def live(actors: Sequence[Actor]) -> list[Actor]:
    return [actor for actor in actors if not actor.is_done]


def have_them_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each actor stands before each command and each script from now on, and between those of a row."""

    def stand() -> None:
        actor = getattr(Actor.here, "actor", None)
        if actor is not None:
            actor.stand()

    def stepped(method: Callable[..., Any]) -> Callable[..., Any]:
        def inner(shard: Shard, *args: Any) -> Any:
            stand()
            return method(shard, *args)

        return inner

    def standing(requests: Iterable[Request]) -> Iterator[Request]:
        # Once it is put together, so that it goes on its way as late as the actor is let go on.
        for request in requests:
            stand()
            yield request

    in_a_row = Shard.call_in_a_row

    def row(shard: Shard, name: str, requests: Iterable[Request]) -> list[Any]:
        return in_a_row(shard, name, standing(requests))

    monkeypatch.setattr(Shard, "call_in_a_row", row)
    monkeypatch.setattr(Shard, "call", stepped(Shard.call))
    monkeypatch.setattr(Shard, "command", stepped(Shard.command))
