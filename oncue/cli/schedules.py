"""The schedules of the file that a process was started with: put into the store, and read again on demand."""

import logging
from functools import partial

from oncue.cli.options import Given
from oncue.common.configtypes import Config
from oncue.common.store import Store
from oncue.common.walltime import look_again
from oncue.scheduler.replan import begin
from oncue.scheduler.schedules import apply, revision_of

_log = logging.getLogger("oncue.schedules")


class FileSchedules:
    """Applies the set of a file; a file that cannot be used leaves the last good set in force."""

    def __init__(self, store: Store, given: Given, config: Config) -> None:
        self._store = store
        self._given = given
        self._config = config
        self._revision = ""
        self._report_faults()

    def apply(self, *, forced: bool = False, reloaded: bool = False) -> None:
        """Makes the store hold the set, ``forced`` even if it has been replaced. Raises StoreUnavailable and WrongServer.

        ``reloaded``: somebody has asked for it now. If nobody has put another one since this process did, the file as
        it is now is what he wants, also where that is an older text.
        """
        config, source = self._config, self._given.source(self._config)
        if source is None:
            return
        if not config.schedules:
            _log.warning("%s has no usable schedule: those in the store stay as they are", source)
        revision = revision_of(config.schedules.values(), config.faulty)
        applied = apply(
            self._store,
            config.schedules.values(),
            source,
            config.faulty,
            forced=forced,
            successor_of=self._revision if reloaded else "",
        )
        self._revision = revision
        for change in applied.changes:
            _log.info("%s", change)
        if applied.is_old:
            _log.warning(
                "the schedules of %s are an older set, which has been replaced in the store: they are left aside."
                " To go back to them, run `oncue cron apply`",
                source,
            )

    def reload(self) -> None:
        """Reads this host's tz data and the file again, and applies them. Raises OncueError.

        The other settings of the file count from the next start on.
        """
        look_again()
        for shard in self._store.shards:
            self._store.persist(shard, partial(begin, shard))
        if self._given.path is None:
            _log.warning("there is no file to read again: this process was started without --config")
            return
        self._config = self._given.load()
        self._report_faults()
        self.apply(reloaded=True)
        _log.info("%s was read again: %d schedules", self._given.path, len(self._config.schedules))

    def _report_faults(self) -> None:
        for problem in self._config.invalid:
            _log.error("%s; this schedule is left out", problem.sentence)
