"""Calendar files: which dates their events cover, and what is refused with its line."""

import time

import pytest

from oncue.common.errors import BadInput
from oncue.common.icalendar import read_calendar


def calendar(*events: str) -> str:
    """A file as calendar programs write it; each event is its lines with | between."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "BEGIN:VTIMEZONE", "BEGIN:STANDARD", "DTSTART:19701025T030000",
             "RRULE:FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU", "END:STANDARD", "END:VTIMEZONE"]  # fmt: skip
    for number, event in enumerate(events):
        uid = [] if "UID:" in event else [f"UID:{number}"]
        lines += ["BEGIN:VEVENT", *uid, *event.split("|"), "END:VEVENT"]
    return "\r\n".join([*lines, "END:VCALENDAR", ""])


@pytest.mark.parametrize(
    ("event", "dates"),
    [
        ("DTSTART;VALUE=DATE:20261225", ("2026-12-25",)),
        ("DTSTART;VALUE=DATE:20261225|DTEND;VALUE=DATE:20261226", ("2026-12-25",)),
        ("DTSTART;VALUE=DATE:20261224|DTEND;VALUE=DATE:20261227", ("2026-12-24/2026-12-26",)),
        ("DTSTART;VALUE=DATE:20261224|DURATION:P3D", ("2026-12-24/2026-12-26",)),
        ("DTSTART:20261224T220000Z|DTEND:20261225T020000Z", ("2026-12-24/2026-12-25",)),
        ("DTSTART;TZID=\"Europe/Berlin: x\":20261224T220000|DTEND:20261225T000000", ("2026-12-24",)),
        ("DTSTART:20261224T220000|DURATION:PT2H", ("2026-12-24",)),
        ("DTSTART:20261224T220000|DURATION:PT4H", ("2026-12-24/2026-12-25",)),
        ("DTSTART:20261224T200000|DURATION:PT36H", ("2026-12-24/2026-12-26",)),
        ("DTSTART:20261224T200000|DURATION:P1DT12H", ("2026-12-24/2026-12-26",)),
        ("DTSTART:20261224T233000|DURATION:PT29M60S", ("2026-12-24",)),
        ("DTSTART:20261224T233000|DURATION:PT29M61S", ("2026-12-24/2026-12-25",)),
        ("DTSTART:20261224T200000|DURATION:P1W", ("2026-12-24/2026-12-31",)),
        ("DTSTART;VALUE=DATE:20261225|STATUS:CANCELLED", ()),
        ("DTSTART;VALUE=DATE:20261225|RRULE:FREQ=YEARLY;COUNT=2", ("2026-12-25", "2027-12-25")),
        ("DTSTART;VALUE=DATE:20261225|RRULE:FREQ=YEARLY;UNTIL=20281231", ("2026-12-25", "2027-12-25", "2028-12-25")),
        ("DTSTART:20261201T200000|RRULE:FREQ=DAILY;UNTIL=20261203T195959", ("2026-12-01/2026-12-02",)),
        ("DTSTART:20261201T200000|RRULE:FREQ=DAILY;UNTIL=20261203T200000", ("2026-12-01/2026-12-03",)),
        ("DTSTART:20261201T200000|RRULE:FREQ=DAILY;UNTIL=20261203", ("2026-12-01/2026-12-03",)),
        ("DTSTART:20261201T200000Z|RRULE:FREQ=DAILY;UNTIL=20261203T190000Z", ("2026-12-01/2026-12-02",)),
        ("DTSTART;TZID=Asia/Tokyo:20261201T080000|RRULE:FREQ=DAILY;UNTIL=20261203T230000Z", ("2026-12-01/2026-12-04",)),
        ("DTSTART;TZID=\"America/New_York\":20261201T200000|RRULE:FREQ=DAILY;UNTIL=20261204T005959Z", ("2026-12-01/2026-12-02",)),
        ("DTSTART;TZID=Mars Standard Time:20261201T200000|RRULE:FREQ=DAILY;UNTIL=20261203T200000Z", ("2026-12-01/2026-12-03",)),
        ("DTSTART;VALUE=DATE:20261201|RRULE:FREQ=DAILY;UNTIL=20261203T000000Z", ("2026-12-01/2026-12-03",)),
        ("DTSTART;VALUE=DATE:20261201|RRULE:FREQ=DAILY;COUNT=4|EXDATE;VALUE=DATE:20261202", ("2026-12-01", "2026-12-03/2026-12-04")),
        ("DTSTART;VALUE=DATE:20261201|RDATE;VALUE=DATE:20261210,20261212", ("2026-12-01", "2026-12-10", "2026-12-12")),
        ("DTSTART;VALUE=DATE:20261\r\n 225|SUMMARY:folded: lines; and \"quotes\"", ("2026-12-25",)),
        ("DTSTART;VALUE=DATE:20261225|BEGIN:VALARM|TRIGGER:-P1D|DTSTART:20200101|END:VALARM", ("2026-12-25",)),
    ],
)  # fmt: skip
def test_an_event_covers_the_dates_that_it_touches(event: str, dates: tuple[str, ...]) -> None:
    assert read_calendar(calendar(event)) == dates


def test_an_event_without_an_end_goes_on_to_the_end_of_the_century() -> None:
    dates = read_calendar(calendar("DTSTART;VALUE=DATE:20201225|RRULE:FREQ=YEARLY"))
    assert dates[0] == "2020-12-25"
    assert dates[-1] == "2099-12-25"
    assert len(dates) == 80


@pytest.mark.parametrize(("until", "number"), [("99991231T235959Z", 80), ("00010101T000000Z", 0)])
def test_an_end_outside_of_what_clocks_show_is_taken(until: str, number: int) -> None:
    start = "DTSTART;TZID=Asia/Tokyo:20201225T080000"
    assert len(read_calendar(calendar(f"{start}|RRULE:FREQ=YEARLY;UNTIL={until}"))) == number


def test_a_moved_occurrence_replaces_its_own_date() -> None:
    series = "UID:s|DTSTART;VALUE=DATE:20261201|RRULE:FREQ=WEEKLY;COUNT=2"
    moved = "UID:s|RECURRENCE-ID;VALUE=DATE:20261208|DTSTART;VALUE=DATE:20261210"
    assert read_calendar(calendar(series, moved)) == ("2026-12-01", "2026-12-10")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "line 1: a calendar file starts with BEGIN:VCALENDAR"),
        ("a: 1\n", "line 1: a calendar file starts with BEGIN:VCALENDAR"),
        ("BEGIN:VCALENDAR\nBEGIN:VEVENT\n", "the file ends inside VEVENT; is it complete?"),
        ("BEGIN:VCALENDAR\nEND:VEVENT\n", "line 2: found END:VEVENT without its BEGIN"),
        (
            "BEGIN:VCALENDAR\nnonsense\nEND:VCALENDAR\n",
            "line 2: found 'nonsense'; allowed are lines NAME:VALUE",
        ),
        (calendar("DTSTART:tomorrow"), "line 9: found 'tomorrow' in this event"),
        (calendar("DTSTART:20261340"), "line 9: found '20261340' in this event"),
        (calendar("SUMMARY:no start"), "line 9: found '' in this event"),
        (calendar("DTSTART:20261225|DTEND:20261220"), "line 9: the event ends before it begins"),
        (calendar("DTSTART:20261225|DURATION:long"), "line 9: DURATION: found 'long'"),
        (calendar("DTSTART:20261225|RRULE:FREQ=SECONDLY"), "line 9: rrule: FREQ: found SECONDLY"),
        (calendar("DTSTART:20200101|DTEND:20991231"), "line 9: more than 20000 dates up to 2099"),
    ],
)
def test_what_is_no_calendar_is_refused_with_its_line(text: str, sentence: str) -> None:
    with pytest.raises(BadInput) as refused:
        read_calendar(text)
    assert sentence in str(refused.value)


def test_a_calendar_without_end_is_refused_quickly() -> None:
    began = time.process_time()
    with pytest.raises(BadInput, match="more than 20000 dates"):
        read_calendar(calendar("DTSTART:20000101|RRULE:FREQ=DAILY", "DTSTART:20000101|RRULE:FREQ=DAILY"))
    assert time.process_time() - began < 3
