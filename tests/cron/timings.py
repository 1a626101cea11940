"""Random schedules of every kind, and the slow and obvious way to find what they leave out, move and recur on.

Nothing here shares code with what it checks, but for the ticks of a schedule without its limits where those are tested.
"""

from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from dateutil import rrule as dateutil
from hypothesis import strategies as st

from oncue.common.rule import Rule
from oncue.common.timing import Timing
from tests.cron.expressions import meanings

DAY_MS = 86_400_000
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Ranges and zones with changes of clock inside, at and around midnight, of half an hour and of a day.
ZONES = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/Sao_Paulo",
    "Australia/Lord_Howe",
    "Pacific/Apia",
]
FIRST, LAST = date(2008, 1, 1), date(2013, 12, 31)
DATES = st.dates(FIRST, LAST)
INSTANTS = st.integers(1_199_145_600_000, 1_388_534_400_000)


def ms(moment: datetime) -> int:
    return (moment - EPOCH) // timedelta(milliseconds=1)


def iso(instant: int) -> str:
    return (EPOCH + timedelta(milliseconds=instant)).isoformat()


def at(text: str) -> int:
    return ms(datetime.fromisoformat(text))


def utc(*instants: int | None) -> list[str]:
    """Instants as people read them."""
    return [
        (EPOCH + timedelta(milliseconds=instant)).isoformat(timespec="seconds").removesuffix("+00:00")
        for instant in instants
        if instant is not None
    ]


def ticks_after(rule: Rule, instant: int, count: int) -> list[int]:
    found: list[int] = []
    tick = rule.next_after(instant)
    while tick is not None and len(found) < count:
        found.append(tick)
        tick = rule.next_after(tick)
    return found


def rule(name: str = "x", **timing: Any) -> Rule:
    return Rule(name, Timing(**timing))


def next_ticks(made: Rule, after: str, count: int = 3) -> list[str]:
    """The ticks after an instant in UTC, as people read them."""
    return utc(*ticks_after(made, at(after + "+00:00"), count))


def ticks_between(rule: Rule, after: int, up_to: int) -> list[int]:
    """All ticks in (after, up_to], one question at a time."""
    found: list[int] = []
    tick = rule.next_after(after)
    while tick is not None and tick <= up_to:
        found.append(tick)
        tick = rule.next_after(tick)
    return found


@st.composite
def rrules(draw: st.DrawFn) -> str:
    """Rules whose dates all come; no COUNT and no UNTIL."""
    freq = draw(st.sampled_from(["YEARLY", "MONTHLY", "WEEKLY", "DAILY"]))
    parts = [f"FREQ={freq}", f"INTERVAL={draw(st.integers(1, 4))}"]
    days = draw(
        st.lists(st.sampled_from(["MO", "TU", "WE", "TH", "FR", "SA", "SU"]), unique=True, max_size=4)
    )
    if freq == "MONTHLY" and days and draw(st.booleans()):
        days = [f"{draw(st.sampled_from([1, 2, 4, -1, -2]))}{day}" for day in days]
    if days:
        parts.append(f"BYDAY={','.join(days)}")
    if freq in ("YEARLY", "MONTHLY") and not days and draw(st.booleans()):
        parts.append(f"BYMONTHDAY={draw(st.sampled_from(['1', '15,28', '-1', '-3,10']))}")
    if freq == "YEARLY" and draw(st.booleans()):
        parts.append("BYMONTH=3,10")
    if freq in ("YEARLY", "MONTHLY") and days and draw(st.booleans()):
        parts.append(f"BYSETPOS={draw(st.sampled_from(['1', '-1', '1,2']))}")
    elif draw(st.booleans()):
        parts.append(f"BYHOUR={draw(st.sampled_from(['2', '0,2,23', '1,2,3']))}")
    if draw(st.booleans()):
        parts.append(f"WKST={draw(st.sampled_from(['MO', 'SU', 'WE']))}")
    return ";".join(parts)


@st.composite
def kinds(draw: st.DrawFn) -> dict[str, Any]:
    """The settings of one kind of schedule."""
    kind = draw(st.sampled_from(["cron", "every", "rrule"]))
    if kind == "cron":
        return {"cron": draw(meanings()).expr}
    if kind == "every":
        every = draw(st.sampled_from([1, 60, 5_400, 86_400, 604_800, 7]))
        return {"every_s": float(every), "anchor": draw(st.none() | INSTANTS.map(iso))}
    first = datetime.combine(draw(DATES), time(draw(st.integers(0, 23)), draw(st.sampled_from([0, 15, 30]))))
    return {"rrule": draw(rrules()), "dtstart": first.isoformat()}


@st.composite
def exclusions(draw: st.DrawFn) -> tuple[str, ...]:
    entries = [day.isoformat() for day in draw(st.lists(DATES, max_size=3))]
    first = draw(DATES)
    entries += [f"{first}/{first + timedelta(days=draw(st.integers(0, 40)))}"]
    entries += draw(st.lists(st.sampled_from(["* * * * sat", "* * 24-26 12 *", "0 0 1 * *"]), max_size=2))
    return tuple(entries)


def is_excluded(entries: tuple[str, ...]) -> Callable[[date], bool]:
    """The meaning of what `exclusions` makes."""
    written = {
        "* * * * sat": lambda day: day.isoweekday() == 6,
        "* * 24-26 12 *": lambda day: day.month == 12 and 24 <= day.day <= 26,
        "0 0 1 * *": lambda day: day.day == 1,
    }

    def excluded(day: date) -> bool:
        for entry in entries:
            if entry in written:
                if written[entry](day):
                    return True
            else:
                first, _, last = entry.partition("/")
                if date.fromisoformat(first) <= day <= date.fromisoformat(last or first):
                    return True
        return False

    return excluded


def wall(instant: int, zone: str) -> datetime:
    return (EPOCH + timedelta(milliseconds=instant)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)


def resolved(reading: datetime, zone: str) -> int:
    """The first instant at which the zone shows `reading`, or the end of its gap: found by looking at each minute."""
    guess = reading.replace(tzinfo=ZoneInfo(zone), fold=0).astimezone(UTC)
    if guess.astimezone(ZoneInfo(zone)).replace(tzinfo=None) == reading:
        return ms(guess)
    instant = (guess - timedelta(hours=26)).replace(second=0)
    while instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None) < reading:
        instant += timedelta(minutes=1)
    return ms(instant)


def excluded_ticks(ticks: list[int], timing: Timing) -> list[int]:
    """What becomes of `ticks` under the exclusions of `timing`, one by one."""
    excluded, zone = is_excluded(timing.exclude), timing.timezone
    kept = set()
    for tick in ticks:
        shown = wall(tick, zone)
        if not excluded(shown.date()):
            kept.add(tick)
        elif timing.on_excluded != "skip":
            step = timedelta(days=1 if timing.on_excluded == "next_workday" else -1)
            day = shown + step
            while excluded(day.date()) or day.isoweekday() > 5:
                day += step
            kept.add(resolved(day, zone))
    return sorted(kept)


def rrule_ticks(rule: str, dtstart: str, zone: str, up_to: int) -> list[int]:
    """The ticks of a rule up to an instant: dateutil from the first date on, then minute by minute."""
    found: set[int] = set()
    for reading in dateutil.rrulestr(rule, dtstart=datetime.fromisoformat(dtstart)):
        instant = resolved(reading, zone)
        if instant > up_to:
            break
        found.add(instant)
    return sorted(found)
