"""Hypothesis strategies for cron expressions that come with their meaning (see brute_force.py)."""

from hypothesis import strategies as st

from tests.cron import brute_force
from tests.cron.brute_force import Meaning, Part

MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]


@st.composite
def item(draw: st.DrawFn, low: int, high: int, names: list[str], shortest: int) -> Part:
    """One element of a list: a value, a range of at least `shortest` values, or either with a step."""
    first = draw(st.integers(low, high - shortest + 1))
    last = draw(st.integers(first + shortest - 1, high))
    step = draw(st.integers(1, high - low + 1))

    def written(value: int) -> str:
        named = draw(st.booleans())
        return names[value - low].title() if names and named else f"{value:0{draw(st.integers(1, 2))}d}"

    return draw(
        st.sampled_from(
            [
                Part(written(first), frozenset([first])),
                Part(f"{written(first)}-{written(last)}", frozenset(range(first, last + 1))),
                Part(f"{written(first)}-{written(last)}/{step}", frozenset(range(first, last + 1, step))),
                Part(f"{written(first)}/{step}", frozenset(range(first, high + 1, step))),
            ]
        )
    )


@st.composite
def field(draw: st.DrawFn, low: int, high: int, shortest: int, names: list[str] | None = None) -> Part:
    """A whole field: a star, a stepped star, or a list of up to three items."""
    step = draw(st.integers(1, high - low + 1))
    items = draw(st.lists(item(low, high, names or [], shortest), min_size=1, max_size=3))
    listed = Part(",".join(i.text for i in items), frozenset().union(*(i.values for i in items)))
    star = Part("*", frozenset(range(low, high + 1)))
    stepped = Part(f"*/{step}", frozenset(range(low, high + 1, step)))
    return draw(st.sampled_from([star, stepped, listed, listed]))


def marked_days() -> st.SearchStrategy[Part]:
    """L, LW and nW."""
    nearest = st.integers(1, 31).map(lambda n: Part(f"{n}W", frozenset(), brute_force.is_nearest_workday(n)))
    last = Part("L", frozenset(), brute_force.is_last_day)
    return st.one_of(st.just(last), st.just(Part("LW", frozenset(), brute_force.is_last_workday)), nearest)


def marked_weekdays() -> st.SearchStrategy[Part]:
    """dL and d#k."""
    last = st.integers(0, 6).map(
        lambda d: Part(f"{WEEKDAYS[d]}L", frozenset(), brute_force.is_last_weekday(d))
    )
    nth = st.tuples(st.integers(0, 6), st.integers(1, 4)).map(
        lambda dk: Part(f"{dk[0]}#{dk[1]}", frozenset(), brute_force.is_nth_weekday(*dk))
    )
    return st.one_of(last, nth)


def meanings(*, marks: bool = True, shortest: int = 1) -> st.SearchStrategy[Meaning]:
    """Expressions of five fields; most days match, so that a walk of a few days finds ticks."""
    plain_day, plain_weekday = field(1, 31, shortest), field(0, 6, shortest, WEEKDAYS)
    every_day, every_weekday = Part("*", frozenset(range(1, 32))), Part("?", frozenset(range(7)))
    every_month = Part("*", frozenset(range(1, 13)))
    days = st.one_of(st.just(every_day), plain_day, *([marked_days()] if marks else []))
    weekdays = st.one_of(st.just(every_weekday), plain_weekday, *([marked_weekdays()] if marks else []))
    months = st.one_of(st.just(every_month), st.just(every_month), field(1, 12, shortest, MONTHS))
    return st.builds(Meaning, field(0, 59, shortest), field(0, 23, shortest), days, months, weekdays)
