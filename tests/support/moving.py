"""Schedules that move from shard to shard: who is killed in the middle, who comes between, and what ran in the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from textwrap import indent
from typing import Any

import pytest

from oncue.common.shard import Shard
from oncue.common.store import Store
from tests.support.product import HOUR_MS, START_MS, FixedClock, Hands

_MORTAL = """
import os, signal, sys
from oncue.common.shard import Shard
from tests.support.product import FixedClock, opened

url, namespace, clock, left, *words = sys.argv[1:]
left, call = int(left), Shard.call

def counted(*args):
    global left
    answer = call(*args)
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)
    return answer

Shard.call = counted
place = type("Place", (), {"url": url})
with opened(place, namespace, shards=2, clock=FixedClock(int(clock))) as store:
"""


def killed_after(calls: int, code: str, url: str, namespace: str, clock: FixedClock, *words: str) -> bool:
    """A process runs some code on `words` and a `store` of two shards, and is killed after so many calls of scripts.

    False if it has come to its end with fewer.
    """
    given = [url, namespace, str(clock.ms), str(calls), *words]
    command = [sys.executable, "-c", _MORTAL + indent(code, "    "), *given]
    ended = subprocess.run(command, env=dict(os.environ), check=False).returncode
    assert ended in (0, -signal.SIGKILL)
    return ended != 0


@contextmanager
def before_call(action: Callable[[], object], *scripts: str) -> Iterator[None]:
    """Something happens just before the first call of one of these scripts, or of any, and there has to be one."""
    call, has_happened = Shard.call, False
    with pytest.MonkeyPatch.context() as patch:

        def late(shard: Shard, name: str, *asked: Any) -> Any:
            nonlocal has_happened
            if not scripts or name in scripts:
                has_happened = True
                patch.undo()
                action()
            return call(shard, name, *asked)

        patch.setattr(Shard, "call", late)
        yield
    assert has_happened, f"no call of {scripts}"


def queues_of(store: Store) -> list[str]:
    """One queue of each shard."""
    found = {store.shard(name).number: name for name in "abcdefghijklmnop"}
    return [found[number] for number in range(len(store.shards))]


def queue_elsewhere(store: Store) -> str:
    """One that another shard has than the queue "default"."""
    return next(name for name in queues_of(store) if store.shard(name) is not store.shard("default"))


def hours_run(hands: Hands) -> list[int]:
    """The hours, counted from the start, whose tasks are ready; they are completed."""
    tasks = hands.reserve()
    hands.complete(*tasks)
    planned = [task.planned_at.timestamp() for task in tasks if task.planned_at]
    return sorted(int(at * 1000 - START_MS) // HOUR_MS for at in planned)
