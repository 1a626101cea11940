"""Datetimes at the public door of schedules, milliseconds inside."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from oncue.common.errors import BadInput

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def after(next_ms: Callable[[int], int | None], instant: datetime, n: int) -> list[datetime]:
    """The next `n` ticks strictly after `instant`, rising, in UTC; fewer where no more ever come.

    `next_ms` answers the next tick strictly after an instant, both in milliseconds since 1970, and has none of a
    fraction of a millisecond, so that nothing hides in what `instant` has of one. Raises BadInput for a naive datetime.
    """
    at = whole_ms(instant)
    ticks: list[datetime] = []
    while len(ticks) < n and (tick := next_ms(at)) is not None:
        if tick <= at:
            raise AssertionError(f"the tick after {at} came out as {tick}")
        ticks.append(_EPOCH + _MILLISECOND * tick)
        at = tick
    return ticks


def whole_ms(instant: datetime) -> int:
    """Milliseconds since 1970, rounded down. Raises BadInput for what is no aware datetime."""
    if not isinstance(instant, datetime):
        raise BadInput(f"found {instant!r:.60}; write an aware datetime, such as datetime.now(timezone.utc)")
    if instant.utcoffset() is None:
        example = "datetime(..., tzinfo=timezone.utc) or datetime.now(timezone.utc)"
        raise BadInput(f"the datetime {instant.isoformat()} has no time zone; write {example}")
    return (instant - _EPOCH) // _MILLISECOND
