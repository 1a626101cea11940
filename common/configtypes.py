"""A configuration that has been checked: what every role is given."""

import hashlib
import json
from dataclasses import dataclass, field

from oncue.common.problem import Problem
from oncue.common.retry import RetryPolicy


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """How one queue is served: its share against other queues, and what happens after a failure."""

    weight: float = 1
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """One recurring definition of the file; `line` is where its name stands, `data` is what JSON can hold."""

    name: str
    cron: str
    timezone: str
    queue: str
    data: object
    priority: int = 5
    line: int = 0

    @property
    def definition_hash(self) -> str:
        """Hash of what changes ticks or tasks, the same in every process; the line and the order of keys do not.

        A setting added later enters it only where it is not the default, else every update would look like an edit.
        """
        parts = [" ".join(self.cron.split()), self.timezone, self.queue, self.data, self.priority]
        text = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()[:32]


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting of oncue. Names ending in `_s` are seconds, in `_bytes` bytes; docs/configuration.md has them all.

    `invalid` holds the faults of schedules that were left out; `revision` is a hash of the file, "" without one.
    """

    url: str | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: str | None = None
    ca_file: str | None = None
    namespace: str = "oncue"
    shards: int = 1
    timezone: str = "UTC"
    lease_s: float = 15.0
    stop_timeout_s: float = 10.0
    concurrency: int = 10
    max_data_bytes: int = 1024 * 1024
    keep_finished_s: float = 60.0
    queues: dict[str, QueueConfig] = field(default_factory=dict)
    schedules: dict[str, ScheduleConfig] = field(default_factory=dict)
    invalid: list[Problem] = field(default_factory=list)
    revision: str = ""
