"""croniter as a second opinion on naive time, where it is known to be right (docs/decisions/0008-cron-arithmetic.md)."""

from datetime import UTC, datetime

from croniter import croniter
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from oncue.common.cron import Cron
from oncue.common.errors import CronError
from tests.cron.brute_force import Meaning
from tests.cron.expressions import meanings


@settings(deadline=None, max_examples=150)
# Marks beside the other day field drop one side there, and a range of one value means the whole field.
@given(meanings(marks=False, shortest=2), st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)))
def test_plain_fields_mean_what_croniter_takes_them_for(meaning: Meaning, start: datetime) -> None:
    start = start.replace(microsecond=0)
    try:
        ticks = Cron(meaning.expr).after(start.replace(tzinfo=UTC), 5)
    except CronError:
        assume(False)
    walk = croniter(meaning.expr, start, implement_cron_bug=True, second_at_beginning=True)
    assert [tick.replace(tzinfo=None) for tick in ticks] == [walk.get_next(datetime) for _ in range(5)]
