"""Ticks that have passed, found through the next tick alone: bisection where a walk would have no bound."""

from collections.abc import Callable

Next = Callable[[int], int | None]


def latest_between(next_after: Next, after_ms: int, now_ms: int) -> int | None:
    """The last tick in (`after_ms`, `now_ms`]: the least instant whose next tick lies beyond `now_ms`."""
    tick = next_after(after_ms)
    if tick is None or tick > now_ms:
        return None
    return _last(next_after, tick, now_ms)


def all_between(next_after: Next, after_ms: int, now_ms: int, most: int) -> list[int]:
    """The last `most` ticks in (`after_ms`, `now_ms`], oldest first."""
    ticks = _walk(next_after, after_ms, now_ms, most + 1)
    if len(ticks) <= most:
        return ticks
    return _backwards(next_after, ticks[0], now_ms, most)


def count_between(next_after: Next, after_ms: int, now_ms: int, most: int) -> int:
    """How many ticks lie in (`after_ms`, `now_ms`], counted no further than `most`."""
    return len(_walk(next_after, after_ms, now_ms, most))


def _walk(next_after: Next, after_ms: int, now_ms: int, most: int) -> list[int]:
    ticks: list[int] = []
    while len(ticks) < most and (tick := next_after(after_ms)) is not None and tick <= now_ms:
        ticks.append(tick)
        after_ms = tick
    return ticks


def _backwards(next_after: Next, first: int, now_ms: int, most: int) -> list[int]:
    ticks: list[int] = []
    step, limit = 1_000, now_ms
    while len(ticks) < most and limit >= first:
        tick = _last(next_after, _a_tick_before(next_after, first, limit, step), limit)
        ticks.append(tick)
        # The pause before a tick is most often that before the next: then two questions find it.
        step = limit - tick + 1 if len(ticks) > 1 else step
        limit = tick - 1
    return ticks[::-1]


def _a_tick_before(next_after: Next, first: int, limit: int, step: int) -> int:
    """Any tick up to `limit`, looked for in growing steps back from it; `first` is one."""
    while limit - step > first:
        tick = next_after(limit - step)
        if tick is not None and tick <= limit:
            return tick
        step *= 2
    return first


def _last(next_after: Next, tick: int, limit: int) -> int:
    """The last tick up to `limit`, which `tick` does not pass."""
    following = next_after(tick)
    low, high = tick, limit  # the next tick of `high` lies beyond; that of what is below `low` does not
    while following is not None and following <= limit and low < high:
        middle = (low + high) // 2
        found = next_after(middle)
        if found is None or found > limit:
            high = middle
        else:
            low = found
    return low
