"""`oncue scheduler`: one scheduler process, with the schedules of its file."""

from functools import partial
from typing import TYPE_CHECKING

from oncue.cli import logs
from oncue.cli.options import SCHEDULER, Given, Lifeline, Name, settings

if TYPE_CHECKING:
    from oncue.common.configtypes import Config
    from oncue.scheduler.trim import Bounds


@settings(*SCHEDULER)
def scheduler(
    given: Given, log_level: logs.LogLevel = "info", lifeline: Lifeline = None, name: Name = None
) -> None:
    """Run one scheduler: it promotes due tasks, fires schedules and takes back expired leases.

    Run several, on several machines; none is leader. SIGTERM stops it, SIGHUP reads the schedules of the file again, and
    the time zone data of the host.

    Example: oncue scheduler --url redis://localhost:6379/0 --config oncue.yaml
    """
    logs.begin(log_level, name)
    from oncue.cli.role import Role
    from oncue.cli.schedules import FileSchedules
    from oncue.common.opened import opened
    from oncue.common.wait import BLOCK_S
    from oncue.scheduler.scheduler import Scheduler
    from oncue.scheduler.stranded import take_back

    config = given.load()
    store = opened(config)
    # The role does the waiting for a server that is away, since it can be stopped meanwhile.
    store.patience_s = 0
    schedules = FileSchedules(store, given, config)
    role = Role(store, lifeline, reloads=True)
    role.reach(schedules.apply)
    role.reach(partial(take_back, store))
    max_lost = {name: queue.retry.max_lost for name, queue in config.queues.items()}
    engine = Scheduler(store, role.health, max_lost, _bounds(config))
    role.serve(
        engine.start,
        engine.alive,
        engine.stop,
        reload=schedules.reload,
        # A loop's longest wait is one blocking read; twice that and it hangs.
        turns_within_s=2 * BLOCK_S,
    )


def _bounds(config: "Config") -> "Bounds":
    from oncue.scheduler.trim import Bounds

    age_ms, keep_ms = int(config.dead_max_age_s * 1000), int(config.keep_finished_s * 1000)
    return Bounds(age_ms, config.dead_max_count, config.dead_max_bytes, keep_ms)
