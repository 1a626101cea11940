"""`oncue stats`: how many tasks are where."""

from typing import get_args

from oncue.cli.options import CONNECTION, Given, Json, settings
from oncue.cli.output import print_json, print_table
from oncue.common.task import State

_STATES: tuple[str, ...] = get_args(State)


@settings(*CONNECTION)
def stats(given: Given, as_json: Json = False) -> None:
    """Show how many tasks of each queue are in each state; done and cancelled count all there ever were.

    Example: oncue stats --json
    """
    from oncue.cli.oneshot import opened_store

    with opened_store(given) as store:
        counts = store.counts()
    found = {
        queue: {state: states.get(state, 0) for state in _STATES} for queue, states in sorted(counts.items())
    }
    if as_json:
        print_json(found)
    elif not found:
        print("no tasks yet")
    else:
        print_table(("queue", *_STATES), [(queue, *states.values()) for queue, states in found.items()])
