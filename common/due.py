"""What callers may write for a due time, and the one form it has inside: whole milliseconds since the epoch."""

import math
import re
from datetime import datetime
from decimal import ROUND_CEILING, Context, Decimal

from oncue.common.errors import BadInput

LAST_MS = 253_402_300_799_999
"""The end of the year 9999: anything later is milliseconds passed as seconds."""

_LAST_S = 253_402_300_799.0


def due_ms(ts: object, now_ms: int) -> int:
    """The due time in ms of ``ts``: epoch seconds, an aware datetime, ISO 8601 with an offset, or None for now.

    Rounded up to the millisecond, never down: a task is never early. A time in the past stays as it is; the store
    takes it for now. Raises BadInput with a sentence that says what to write instead.
    """
    if ts is None:
        return now_ms
    if type(ts) is float and 0 <= ts <= _LAST_S:
        # What nearly every call gives. The nearest millisecond, or the next one if that lies before the time given.
        nearest = round(ts * 1000)
        return nearest if nearest / 1000 >= ts else nearest + 1
    if isinstance(ts, bool) or not isinstance(ts, int | float | datetime | str | Decimal):
        raise BadInput(
            f"a due time of type {type(ts).__name__} is not understood: give epoch seconds, an aware datetime,"
            " an ISO 8601 string with an offset, or None for now"
        )
    if isinstance(ts, str | datetime):
        return _from_datetime(_parsed(ts), 1 if isinstance(ts, str) and _FINER.search(ts) else 0)
    return _from_seconds(ts)


def _from_seconds(seconds: float | Decimal) -> int:
    if not isinstance(seconds, int) and not _is_finite(seconds):
        raise BadInput(f"a due time of {seconds} is not a time: give finite epoch seconds")
    if seconds < 0:
        raise BadInput(f"a due time of {_short(seconds)} lies before 1970: give epoch seconds, zero or more")
    # Compared before it is multiplied, which for a number of any size may fail or take for ever.
    due = LAST_MS + 1 if seconds > LAST_MS else _in_ms(seconds)
    if due > LAST_MS:
        raise BadInput(
            f"a due time of {_short(seconds)} s lies after the year 9999: it looks like milliseconds,"
            " divide it by 1000"
        )
    return due


def _in_ms(seconds: float | Decimal) -> int:
    if isinstance(seconds, int):
        return int(seconds) * 1000
    # Through the shortest decimal text of the float: 1700000000.001 * 1000 is 1700000000001.0000001 in doubles, and
    # rounding that up would make an exact millisecond late by one. float's own text: that of a subclass, as NumPy's,
    # may say more.
    exact = Decimal(float.__repr__(seconds)) if isinstance(seconds, float) else seconds
    return math.ceil(_UP.multiply(exact, Decimal(1000)))


def _is_finite(seconds: float | Decimal) -> bool:
    return seconds.is_finite() if isinstance(seconds, Decimal) else math.isfinite(seconds)


def _short(seconds: float | Decimal) -> str:
    # Thousands of digits would fill a screen, and for an int Python refuses to write them.
    if not -(10**30) <= seconds <= 10**30:
        return "-10^30 and less" if seconds < 0 else "10^30 and more"
    return str(seconds)


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


_UP = Context(prec=40, rounding=ROUND_CEILING)
_FINER = re.compile(r"[.,]\d{6}\d*[1-9]")
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")


def _from_datetime(moment: datetime, more_micros: int) -> int:
    # What is finer than a microsecond Python cuts off: it counts as one more, because due times are rounded up.
    delta = moment - _EPOCH
    micros = (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds
    if micros < 0:
        raise BadInput(f"the time {moment.isoformat()} lies before 1970: give a later one")
    due = -(-(micros + more_micros) // 1000)
    if due > LAST_MS:
        raise BadInput(f"the time {moment.isoformat()} lies after the year 9999 in UTC: give an earlier one")
    return due
