"""A configuration that has been checked: what every role is given."""

import hashlib
import json
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from oncue.common.allowance import NOTHING, Allowance
from oncue.common.problem import Problem
from oncue.common.retry import RetryPolicy
from oncue.common.timing import Timing
from oncue.common.work import Runs


@dataclass(frozen=True, slots=True)
class QueueConfig:
    """How one queue is served: its share against other queues, and what happens after a failure."""

    weight: float = 1
    retry: RetryPolicy = field(default_factory=RetryPolicy)


@dataclass(frozen=True, slots=True)
class ScheduleConfig:
    """One recurring definition of the file; `line` is where its name stands, `data` is what JSON can hold.

    `written` is a hash of how it stands in the file: the same on a host that finds a fault in it.

    Exactly one of `cron`, `every_s` and `rrule` is given. `anchor`, `start` and `end` are ISO 8601, without an
    offset read in `timezone`. `calendars` holds those that `exclude` names, so that a definition can be understood
    without its file. Where `runs` is not "task", `data` describes the command or the call (common/work.py). `retry` holds
    fields of a RetryPolicy, over those of the queue.
    """

    name: str
    cron: str | None
    timezone: str
    queue: str
    data: object
    priority: int = 5
    line: int = 0
    written: str = field(default="", compare=False, repr=False)
    every_s: float | None = None
    anchor: str | None = None
    from_end: bool = False
    rrule: str | None = None
    dtstart: str | None = None
    days: Literal["either", "both"] = "either"
    gap: Literal["run", "skip"] = "run"
    jitter_s: float = 0.0
    start: str | None = None
    end: str | None = None
    count: int | None = None
    exclude: tuple[str, ...] = ()
    on_excluded: Literal["skip", "next_workday", "previous_workday"] = "skip"
    calendars: dict[str, tuple[str, ...]] = field(default_factory=dict)
    enabled: bool = True
    catch_up: Literal["latest", "all", "skip"] = "latest"
    catch_up_max: int = 100
    catch_up_within_s: float | None = None
    overlap: Literal["skip", "queue", "allow", "replace"] = "skip"
    runs: Runs = "task"
    retry: dict[str, Any] = field(default_factory=dict)

    @property
    def definition_hash(self) -> str:
        """Hash of what changes ticks or tasks, the same in every process; the line and the order of keys do not.

        A setting added later enters it only where it is not the default, else every update would look like an edit.
        """
        parts: list[object] = [
            " ".join((self.cron or "").split()),
            self.timezone,
            self.queue,
            self.data,
            self.priority,
        ]
        options = self.options()
        text = json.dumps(
            [*parts, options] if options else parts, sort_keys=True, separators=(",", ":"), allow_nan=False
        )
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    @property
    def timing(self) -> Timing:
        """The part that settles the ticks: `Rule(name, timing)` has them."""
        return Timing(**{name: getattr(self, name) for name in Timing.__struct_fields__})

    def options(self) -> dict[str, object]:
        """What differs from the default, by name, of all that came after `priority`."""
        given = {key.name: getattr(self, key.name) for key in fields(self)[_FIRST_OPTION:]}
        usual = ScheduleConfig(self.name, self.cron, self.timezone, self.queue, None)
        return {name: value for name, value in given.items() if value != getattr(usual, name)}


_FIRST_OPTION = [key.name for key in fields(ScheduleConfig)].index("every_s")


@dataclass(frozen=True, slots=True)
class Config:
    """Every setting of oncue. Names ending in `_s` are seconds, in `_bytes` bytes; docs/configuration.md has them all.

    `invalid` holds the faults of schedules that were left out, `faulty` their names with the hash of how they are
    written; `revision` is a hash of the file, "" without one; `emptied` says that its section `schedules` is there, and
    holds none.
    """

    url: str | None = field(default=None, repr=False)
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    password_file: str | None = None
    ca_file: str | None = None
    namespace: str = "oncue"
    shards: int = 1
    timezone: str = "UTC"
    source: str | None = None
    lease_s: float = 15.0
    stop_timeout_s: float = 10.0
    concurrency: int = 10
    max_data_bytes: int = 1024 * 1024
    keep_finished_s: float = 60.0
    dead_max_age_s: float = 2_592_000.0
    dead_max_count: int = 100_000
    dead_max_bytes: int = 256 * 1024 * 1024
    allow_commands: Allowance = NOTHING
    allow_http: Allowance = NOTHING
    queues: dict[str, QueueConfig] = field(default_factory=dict)
    schedules: dict[str, ScheduleConfig] = field(default_factory=dict)
    invalid: list[Problem] = field(default_factory=list)
    faulty: dict[str, str] = field(default_factory=dict)
    revision: str = ""
    emptied: bool = False
