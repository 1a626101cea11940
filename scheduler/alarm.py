"""Alarm: at which second of its own clock a scheduler has to wake for an instant of the server's.

A long wait ends early by as much as the two clocks may have drifted apart, for one more look at the server's; then the
rest is waited exactly. So an instant costs two or three looks, however far away it was.

Where the way to the server is short, the last of them comes just before an instant at which something is due. Its answer
is the freshest there can be, and the server, this process and what lies between are awake when the instant comes: a
processor that sleeps takes longer to wake than all that is to be done then.
"""

from oncue.common.clock import DRIFT, ServerClock, monotonic_s

LOOK_AHEAD_MS = 100
"""How long before a notified instant the timetable is read, for the names of the keys that the instant needs."""

FRESH_S = 5.0
"""How old the knowledge of the server's clock may be when a due instant comes."""

SHORT_S = 0.0005
"""A way to the server and back that leaves time for a look just before an instant."""

READY_S = 0.00025
"""How long before the instant the answer to that look should be there."""

AWAKE_S = 0.02
"""After a look so short ago, no other one is needed: instants in a row cost one look together."""


def wake_at(clock: ServerClock, until_ms: int, *, is_due: bool) -> float:
    """The monotonic second at which to wake for an instant, or for one more look at it before.

    ``is_due``: whether something is to be done at once then. Raises what the connection raises.
    """
    ahead = until_ms - clock.now_ms()
    early = max(LOOK_AHEAD_MS, 2 * DRIFT * (clock.age_s() * 1000 + ahead))
    if ahead > early:
        return clock.monotonic_at(until_ms - round(early) // 2)
    clock.refresh(FRESH_S)
    if until_ms - clock.now_ms() > LOOK_AHEAD_MS:
        return clock.monotonic_at(until_ms - LOOK_AHEAD_MS // 2)
    if is_due and clock.travel_s <= SHORT_S:
        look_at = clock.monotonic_at(until_ms) - clock.travel_s - READY_S
        left_s = max(0.0, look_at - monotonic_s())
        if clock.age_s() + left_s > AWAKE_S:
            if left_s:
                return look_at
            clock.look()
    return clock.monotonic_at(until_ms)
