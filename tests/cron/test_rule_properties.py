"""What holds for every kind of schedule, with every limit: strictly later, monotone, nothing lost or doubled."""

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from oncue.common.errors import CronError
from oncue.common.rule import Rule
from oncue.common.timing import Timing
from tests.cron.timings import (
    DAY_MS,
    INSTANTS,
    ZONES,
    excluded_ticks,
    exclusions,
    iso,
    kinds,
    rrule_ticks,
    rrules,
    ticks_after,
    ticks_between,
)

# One example may walk thousands of ticks, so its time says nothing about a hang.
RELAXED = settings(
    deadline=None,
    max_examples=80,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Any schedule that is not refused."""
    given: dict[str, Any] = {"timezone": draw(st.sampled_from(ZONES)), **draw(kinds())}
    if draw(st.booleans()):
        given["exclude"] = draw(exclusions())
        given["on_excluded"] = draw(st.sampled_from(["skip", "next_workday", "previous_workday"]))
    if draw(st.booleans()):
        given["start"] = draw(st.sampled_from(["2009-03-29", "2010-10-31T02:30", "2011-01-01T00:00+05:00"]))
        given |= draw(st.sampled_from([{}, {"end": "2012-03-11"}, {"count": 50}]))
    given["jitter_s"] = draw(st.sampled_from([0.0, 1.0, 300.0, 7_200.0]))
    return usable(**given)


def usable(**given: Any) -> Rule:
    """The schedule, unless it is refused: its dates never come, all are excluded, or it is too dense to be moved."""
    refused = ""
    try:
        return Rule("any", Timing(**given))
    except CronError as error:
        refused = error.code
    assert refused in ("never", "range")
    assume(False)
    raise AssertionError


@RELAXED
@given(rules(), INSTANTS)
def test_every_tick_is_strictly_later(rule: Rule, instant: int) -> None:
    ticks = ticks_after(rule, instant, 30)
    assert all(earlier < later for earlier, later in pairwise([instant, *ticks]))


@RELAXED
@given(rules(), INSTANTS, st.integers(0, 40 * DAY_MS))
def test_a_later_start_never_gives_an_earlier_tick(rule: Rule, instant: int, later: int) -> None:
    first, second = rule.next_after(instant), rule.next_after(instant + later)
    assert second is None or (first is not None and first <= second)


@RELAXED
@given(rules(), INSTANTS, st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_no_tick_is_lost_or_doubled_by_where_one_starts(rule: Rule, instant: int, parts: list[float]) -> None:
    ticks = ticks_after(rule, instant, 40)
    assume(ticks)
    for part in parts:
        start = instant + round((ticks[-1] - instant) * part)
        later = [tick for tick in ticks if tick > start]
        # A new rule has nothing in memory that the first may have left there.
        assert ticks_after(Rule(rule.name, rule.timing), start, len(later)) == later


@RELAXED
@given(rules(), INSTANTS, st.integers(0, 20 * DAY_MS), st.integers(0, 12))
def test_what_was_missed_is_what_a_walk_finds(rule: Rule, after: int, length: int, most: int) -> None:
    first = rule.next_after(after)
    assume(first is not None)
    # A second's schedule is not walked for weeks.
    now = after + (length if (rule.next_after(first or 0) or 0) - (first or 0) > 50_000 else length // 1000)
    ticks = ticks_between(rule, after, now)
    assert rule.latest_up_to(now, after) == (ticks[-1] if ticks else None)
    assert rule.all_up_to(now, after, most) == ticks[len(ticks) - min(most, len(ticks)) :]
    assert rule.missed(after, now, most) == min(most, len(ticks))


@RELAXED
@given(rules(), INSTANTS)
def test_jitter_keeps_the_order_its_bound_and_its_word(rule: Rule, instant: int) -> None:
    ticks = ticks_after(rule, instant, 20)
    runs = [rule.runs_at(tick) for tick in ticks]
    assert all(earlier < later for earlier, later in pairwise(runs))
    for tick, run in zip(ticks, runs, strict=True):
        following = rule.next_after(tick)
        assert tick <= run <= tick + rule.timing.jitter_s * 1000
        assert following is None or run < following
    assert [Rule(rule.name, rule.timing).runs_at(tick) for tick in ticks] == runs


@RELAXED
@given(
    st.sampled_from(ZONES),
    kinds(),
    exclusions(),
    st.sampled_from(["skip", "next_workday", "previous_workday"]),
    INSTANTS,
)
def test_exclusions_leave_out_and_move_what_a_look_at_each_tick_does(
    zone: str, kind: dict[str, Any], exclude: tuple[str, ...], on_excluded: Any, instant: int
) -> None:
    own = usable(timezone=zone, **kind)
    rule = usable(timezone=zone, **kind, exclude=exclude, on_excluded=on_excluded)
    first = own.next_after(instant)
    assume(first is not None)
    dense = (own.next_after(first or 0) or 0) - (first or 0) < 1_800_000
    # Ticks from outside may be moved in: by up to a range of 41 days, and what goes on before and after it.
    around, length = (0, DAY_MS // 24) if dense else (60 * DAY_MS, 50 * DAY_MS)
    assume(not dense or on_excluded == "skip")
    ticks = ticks_between(own, instant - around, instant + length + around)
    expected = [tick for tick in excluded_ticks(ticks, rule.timing) if instant < tick <= instant + length]
    assert ticks_between(rule, instant, instant + length) == expected


@RELAXED
@given(
    rrules(),
    st.sampled_from(ZONES),
    st.dates(),
    st.sampled_from(["02:30", "00:00", "23:45"]),
    st.integers(0, 800),
)
def test_a_rule_has_the_ticks_that_dateutil_expands_from_its_first_date(
    rrule: str, zone: str, day: Any, clock: str, days: int
) -> None:
    day = day.replace(year=2005 + day.year % 8, day=min(day.day, 28))
    dtstart = f"{day}T{clock}"
    rule = usable(rrule=rrule, dtstart=dtstart, timezone=zone)
    begin = rule.next_after(0)
    assert begin is not None
    after = begin - 1 + days * DAY_MS
    up_to = after + 700 * DAY_MS
    ticks = ticks_after(rule, after, 40)
    walked = [tick for tick in rrule_ticks(rrule, dtstart, zone, up_to) if tick > after]
    count = min(len(walked), 40)
    assert ticks[:count] == walked[:count]
    assert all(tick > up_to for tick in ticks[count:]) or count == 40


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 10**9), st.none() | INSTANTS, INSTANTS)
def test_an_interval_keeps_its_step_and_its_anchor(every: int, anchor: int | None, instant: int) -> None:
    rule = Rule("x", Timing(every_s=float(every), anchor=None if anchor is None else iso(anchor)))
    ticks = ticks_after(rule, instant, 3)
    assert ticks[0] - instant <= every * 1000
    assert all((tick - (anchor or 0)) % (every * 1000) == 0 for tick in ticks)
    assert all(later - tick == every * 1000 for tick, later in pairwise(ticks))


@RELAXED
@given(exclusions(), st.sampled_from(ZONES), INSTANTS, st.integers(0, 3 * DAY_MS), st.integers(1, 100_000))
def test_from_end_follows_the_finish_whatever_is_excluded(
    exclude: tuple[str, ...], zone: str, finished: int, later: int, every: int
) -> None:
    rule = Rule("x", Timing(every_s=float(every), from_end=True, exclude=exclude, timezone=zone))
    tick, second = (rule.after_finish(ended, ended) for ended in (finished, finished + later))
    assert tick is not None
    assert second is not None
    assert finished + every * 1000 <= tick <= second
    assert excluded_ticks([tick], rule.timing) == [tick]
    if excluded_ticks([finished + every * 1000], rule.timing):
        assert tick == finished + every * 1000


@pytest.mark.parametrize("name", ["a", "b"])
def test_jitter_is_the_same_in_every_release(name: str) -> None:
    rule = Rule(name, Timing(cron="0 * * * *", jitter_s=300.0))
    assert rule.runs_at(3_600_000) - 3_600_000 == {"a": 180_678, "b": 35_712}[name]
