"""Faults of the server and of the way to it: which of them pass, how long to pause, and how to speak of them."""

import random

import redis
from redis.exceptions import (
    AuthenticationError,
    BusyLoadingError,
    ClusterDownError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.sentinel import MasterNotFoundError

PASSING = (
    redis.exceptions.ConnectionError,
    redis.exceptions.TimeoutError,
    ReadOnlyError,
    BusyLoadingError,
    ClusterDownError,
    TryAgainError,
    RedisClusterException,
    MasterNotFoundError,
    OSError,
)
"""What a restart, a failover or the network causes: it passes, and the call is made again."""


FAULTS = (RedisError, RedisClusterException, OSError)
"""All that a call may raise because of the server or the way to it: redis-py's cluster errors are no RedisError."""


def is_passing(error: BaseException) -> bool:
    """Whether the same call may succeed a little later."""
    if isinstance(error, AuthenticationError):
        return False
    text = str(error)
    return isinstance(error, PASSING) or (
        isinstance(error, ResponseError)
        and text.startswith(("MASTERDOWN", "UNBLOCKED", "UNKILLABLE", "CLUSTERDOWN"))
    )


def said(error: BaseException) -> str:
    """The text of an error for people: one line, and never an empty one."""
    return " ".join(str(error).split()) or type(error).__name__


class Backoff:
    """Growing pauses with jitter: 50 ms doubling to ``most_s``, each cut by up to a half.

    The longest leaves room for the work itself to begin within a second after a server is back.
    """

    def __init__(self, most_s: float = 0.8) -> None:
        self._most_s = most_s
        self._next_s = 0.05

    def pause_s(self) -> float:
        """The next pause, in seconds."""
        pause = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(self._next_s * 2, self._most_s)
        return pause
