"""The peer's side: a process in the peer's own environment that schedules, and times its own calls.

It reads requests from standard input, a JSON object a line, and answers each with one. Every adapter in bench/peers is
this shape; bench/peers/bullmq.cjs speaks the same lines.
"""

import importlib
import importlib.metadata
import json
import random
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from bench.work import data

Due = float | None
"""Epoch seconds, or None for now."""

BLOCK = 5000
"""How many tasks the client hands to ``many`` at a time; the adapter cuts them as the peer's documentation advises."""


class Peer:
    """What an adapter says and does."""

    packages: tuple[str, ...] = ()
    note = ""
    cannot: ClassVar[dict[str, str]] = {}
    """By figure, what the peer has no way to do."""
    reasons: ClassVar[dict[str, str]] = {}
    """By figure, what its documentation says of a wait that may be longer than the benchmark's."""
    promoter = "worker"
    """The role that delayed tasks wait for: ``worker`` or ``scheduler``."""
    forgets_s = 0.0
    """How long the server may keep something about a cancelled task, as documented."""

    def worker(self, threads: int) -> Sequence[str]:
        """The command of a worker; ``{index}`` in it becomes the worker's number."""
        raise NotImplementedError

    def batch_worker(self, threads: int) -> Sequence[str]:
        """The command of a worker with a batch handler."""
        raise NotImplementedError

    def scheduler(self) -> Sequence[str]:
        """The command of a scheduler, or nothing where the workers have it."""
        return ()

    def ticks(self, every_s: float, text: str) -> None:
        """Makes a schedule that runs a task every ``every_s``."""
        raise NotImplementedError

    def one(self, due: Due, text: str) -> Any:
        """Schedules one task with the peer's plain call; what it returns is given to ``cancel``."""
        raise NotImplementedError

    def many(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        """Schedules tasks in the fastest way that the adapter knows."""
        return [self.one(due, text) for due, text in tasks]

    def many_batch(self, tasks: Sequence[tuple[Due, str]]) -> Iterable[Any]:
        """As ``many``, for the batch handler."""
        raise NotImplementedError

    def cancel(self, made: Sequence[Any]) -> None:
        """Cancels tasks."""
        raise NotImplementedError

    def ready(self) -> int:
        """How many tasks a worker could take now; only oncue's adapter knows."""
        raise NotImplementedError

    def scripts(self) -> dict[str, str]:
        """Names of the peer's server scripts by their SHA; only oncue's adapter knows."""
        return {}

    def bare(self, seconds: float) -> dict[str, float]:
        """Calls per second of the bare client beneath, for comparison; only oncue's adapter has it."""
        return {}


class Side:
    """Answers requests for one peer."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        self._made: list[Any] = []

    def describe(self, threads: int) -> dict[str, Any]:
        """Versions, commands, and what the peer cannot do."""
        peer = self._peer
        has_batch = type(peer).batch_worker is not Peer.batch_worker and "batch" not in peer.cannot
        return {
            "versions": {name: importlib.metadata.version(name) for name in peer.packages},
            "note": peer.note,
            "cannot": dict(peer.cannot),
            "reasons": dict(peer.reasons),
            "promoter": peer.promoter,
            "forgets_s": peer.forgets_s,
            "worker": list(peer.worker(threads)),
            "batch_worker": list(peer.batch_worker(threads)) if has_batch else [],
            "scheduler": list(peer.scheduler()),
        }

    def marks(self, dues: list[Due], first: int = 0, kind: str = "m", seconds: float = 0) -> dict[str, Any]:
        """Schedules a marked task for each due time, numbered from ``first``."""
        tasks = [(due, data(kind, first + number, seconds)) for number, due in enumerate(dues)]
        self._peer.many(tasks)
        return {}

    def ticks(self, every_s: float) -> dict[str, Any]:
        """Makes a schedule of marked tasks, all of number 0."""
        self._peer.ticks(every_s, data("m", 0))
        return {}

    def fill(
        self, number: int, window: list[Due], most_s: float, keep: bool = False, batch: bool = False
    ) -> dict[str, Any]:
        """Schedules up to ``number`` no-op tasks in bulk, due at random within ``window``, for at most ``most_s``."""
        many = self._peer.many_batch if batch else self._peer.many
        done, spent, began = 0, 0.0, time.monotonic()
        while done < number and time.monotonic() - began < most_s:
            # About half a second's worth, so that the time is kept also where a peer is slow.
            size = min(BLOCK, max(100, int(done / spent / 2)) if done else 100, number - done)
            tasks = [(_due(window), data("n", done + at)) for at in range(size)]
            before = time.perf_counter()
            made = many(tasks)
            spent += time.perf_counter() - before
            done += size
            if keep:
                self._made += made
        return {"number": done, "seconds": spent}

    def single(self, seconds: float, window: list[Due], most: int = 10**9) -> dict[str, Any]:
        """Schedules no-op tasks with one call each for so many seconds."""
        number, text = 0, data("n", 0)
        began = time.perf_counter()
        while number < most and time.perf_counter() - began < seconds:
            self._peer.one(_due(window), text)
            number += 1
        return {"number": number, "seconds": time.perf_counter() - began}

    def acknowledged(self, seconds: float, ahead_s: float) -> dict[str, Any]:
        """Schedules marked tasks one by one, each up to ``ahead_s`` ahead, whatever the server does.

        Answers the numbers whose call returned without an error.
        """
        numbers, number, ends = [], 0, time.monotonic() + seconds
        while time.monotonic() < ends:
            number += 1
            try:
                self._peer.one(time.time() + random.uniform(0, ahead_s), data("m", number))
            except Exception:  # noqa: BLE001 - whatever the client says of a dead server
                time.sleep(0.01)
            else:
                numbers.append(number)
            time.sleep(0.002)
        return {"numbers": numbers}

    def cancel(self) -> dict[str, Any]:
        """Cancels all tasks that ``fill`` has kept."""
        began = time.perf_counter()
        self._peer.cancel(self._made)
        number, self._made = len(self._made), []
        return {"number": number, "seconds": time.perf_counter() - began}

    def ready(self, number: int, due: float, most_s: float) -> dict[str, Any]:
        """Asks until ``number`` tasks are ready; how long after ``due`` that was, in ms."""
        ends = time.monotonic() + most_s
        while self._peer.ready() < number:
            if time.monotonic() > ends:
                raise TimeoutError(f"{self._peer.ready()} of {number} tasks ready after {most_s} s")
        return {"ready_ms": (time.time() - due) * 1000}

    def scripts(self) -> dict[str, Any]:
        """As the peer's ``scripts``."""
        return dict(self._peer.scripts())

    def bare(self, seconds: float) -> dict[str, Any]:
        """As the peer's ``bare``."""
        return dict(self._peer.bare(seconds))


def _due(window: list[Due]) -> Due:
    if not window:
        return None
    first, last = window
    assert first, "a window has two instants"
    assert last, "a window has two instants"
    return first if first == last else random.uniform(first, last)


def serve(peer: Peer) -> None:
    """Answers requests until standard input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr
    side = Side(peer)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(side, request.pop("do"))(**request)
        except Exception as error:  # noqa: BLE001 - told to whoever asked
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve(importlib.import_module(f"bench.peers.{sys.argv[1]}").PEER)
