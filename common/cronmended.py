"""A refused cron expression as the whole line to write, made of the rewrite that the refusal shows."""

import re

from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import CronError
from oncue.common.mended import SUCH_AS
from oncue.common.rule import Rule
from oncue.common.timing import Timing

_REWRITE = re.compile(
    r"(?P<fault>.*found (?P<quote>['\"])(?P<found>.+?)(?P=quote).*)[;,] write (?P<new>\S+)(?: instead| for .*)?"
)
_WHOLE = re.compile(r"(?P<fault>.*)[;,] write (?P<new>[^;]+)")
_FIELDS = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")


def mended_cron(message: str, error: CronError, config: ScheduleConfig) -> str:
    """The refusal with a line that can be taken, where there is one; without any rewrite that cannot."""
    of_value = _REWRITE.fullmatch(message) if error.field else None
    rewritten = of_value or _WHOLE.fullmatch(message)
    if rewritten is None:
        return message
    given = config.cron or ""
    cron = _with(given, error.field, of_value) if of_value else rewritten["new"]
    if cron != given and _is_taken(cron, config):
        # What is nearest to a value that does not exist is a guess.
        such_as = SUCH_AS if error.code == "range" else ""
        return f'{rewritten["fault"]}; write {such_as}cron: "{cron}"'
    return rewritten["fault"] if of_value or not error.field else message


def _with(cron: str, field: str, rewritten: re.Match[str]) -> str:
    """The expression with the rewrite of one value of a field."""
    words = cron.split()
    fields = _FIELDS[-len(words) :] if len(words) in (5, 6) else ()
    if field in fields:
        at = fields.index(field)
        values = words[at].split(",")
        words[at] = ",".join(rewritten["new"] if one == rewritten["found"] else one for one in values)
    return " ".join(words)


def _is_taken(cron: str, config: ScheduleConfig) -> bool:
    try:
        Rule(config.name, Timing(cron=cron, days=config.days))
    except CronError:
        return False
    return True
