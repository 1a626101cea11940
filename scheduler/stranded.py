"""Stranded: schedules that a program was moving to another shard when it died, and that have no tick until they are put.

What they were to become nobody knows any more, so they go on as they were. Those of a file are put by whoever starts with
that file, or applies it.
"""

from oncue.common.errors import BadInput, CronError
from oncue.common.store import Store
from oncue.scheduler.move import forget_left
from oncue.scheduler.put import bring, put
from oncue.scheduler.standing import Stored, all_by_name, current


def take_back(store: Store) -> None:
    """Lets such schedules go on in the shard that they come from; raises what the store raises.

    A program that is still at it finds that out (``move.arrive``), and begins anew or gives up.
    """
    if len(store.shards) == 1:
        return
    for entries in all_by_name(store).values():
        here = current(entries)
        if here.moved and here.source == "":
            _take_back(store, here)


def _take_back(store: Store, entry: Stored) -> None:
    try:
        definition = entry.read()
    except (BadInput, CronError):
        # A newer oncue wrote it, and its schedulers can read it.
        return
    home = store.shard(definition.config.queue)
    if bring(store, entry, home, entry.hash):
        put(store, home, [definition], {entry.name: entry.hash})
        forget_left(store, entry.name)
