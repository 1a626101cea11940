"""What callers may write for a due time, and the one form it has inside: whole milliseconds since the epoch."""

import math
from datetime import datetime
from decimal import Decimal

from oncue.common.errors import BadInput

LAST_MS = 253_402_300_799_999
"""The end of the year 9999: anything later is milliseconds passed as seconds."""


def due_ms(ts: object, now_ms: int) -> int:
    """The due time in ms of ``ts``: epoch seconds, an aware datetime, ISO 8601 with an offset, or None for now.

    Rounded up to the millisecond, never down: a task is never early. A time in the past stays as it is; the store
    takes it for now. Raises BadInput with a sentence that says what to write instead.
    """
    if ts is None:
        return now_ms
    if isinstance(ts, bool) or not isinstance(ts, int | float | datetime | str | Decimal):
        raise BadInput(
            f"a due time of type {type(ts).__name__} is not understood: give epoch seconds, an aware datetime,"
            " an ISO 8601 string with an offset, or None for now"
        )
    return _from_datetime(_parsed(ts)) if isinstance(ts, str | datetime) else _from_seconds(ts)


def _from_seconds(seconds: float | Decimal) -> int:
    # Only a float can be NaN or infinite here, but a Decimal can too: math.isfinite takes both.
    if not math.isfinite(seconds):
        raise BadInput(f"a due time of {seconds} is not a time: give finite epoch seconds")
    if seconds < 0:
        raise BadInput(f"a due time of {seconds} lies before 1970: give epoch seconds, zero or more")
    if seconds * 1000 > LAST_MS:
        raise BadInput(
            f"a due time of {seconds} s lies after the year 9999: it looks like milliseconds, divide it by 1000"
        )
    return (
        seconds * 1000
        if isinstance(seconds, int)
        else _ceil_ms(Decimal(repr(seconds)) if isinstance(seconds, float) else seconds)
    )


def _ceil_ms(seconds: Decimal) -> int:
    # Through the shortest decimal text of the float: 1700000000.001 * 1000 is 1700000000001.0000001 in doubles, and
    # rounding that up would make an exact millisecond late by one.
    return math.ceil(seconds * 1000)


def _parsed(ts: str | datetime) -> datetime:
    if isinstance(ts, str):
        try:
            ts = datetime.fromisoformat(ts)
        except ValueError:
            raise BadInput(
                f"{ts!r} is not an ISO 8601 time: write it like 2026-12-24T18:00:00+01:00 or 2026-12-24T17:00:00Z"
            ) from None
    if ts.utcoffset() is None:
        raise BadInput(
            f"the time {ts.isoformat()} has no time zone: write {ts.isoformat()}+00:00 for UTC, or give a datetime"
            ' with tzinfo such as zoneinfo.ZoneInfo("Europe/Berlin")'
        )
    return ts


_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _from_datetime(moment: datetime) -> int:
    delta = moment - _EPOCH
    micros = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    if micros < 0:
        raise BadInput(f"the time {moment.isoformat()} lies before 1970: give a later one")
    return -(-micros // 1000)
