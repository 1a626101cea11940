"""A refused cron expression as the whole line to write, made of the rewrite that the refusal shows."""

import re
from dataclasses import replace

from oncue.common.configtypes import ScheduleConfig
from oncue.common.errors import CronError
from oncue.common.rule import Rule

_REWRITE = re.compile(
    r"(?P<fault>.*found (?P<quote>['\"])(?P<found>.+?)(?P=quote).*)[;,] write (?P<new>\S+)(?: instead| for .*)?"
)
_WHOLE = re.compile(r"(?P<fault>.*)[;,] write (?P<new>[^;]+)")
_PARTS = re.compile(r"[-/]")
_FIELDS = ("second", "minute", "hour", "day-of-month", "month", "day-of-week")


def mended_cron(message: str, error: CronError, config: ScheduleConfig) -> str:
    """The refusal with a line that can be taken, where there is one; else as it is."""
    field = error.field
    of_value = _REWRITE.fullmatch(message) if field else None
    rewritten = of_value or _WHOLE.fullmatch(message)
    if rewritten is None or (of_value and error.code != "order" and _PARTS.search(of_value["found"])):
        return message  # a rewrite of one end of a range is none of the range
    if (
        of_value
        and error.code == "range"
        and not (of_value["found"].isdigit() or of_value["new"].endswith("L"))
    ):
        return message  # nor is that of a number the one of a mark, such as 32W
    words = (config.cron or "").split()
    fields = _FIELDS[-len(words) :] if len(words) in (5, 6) else ()
    if of_value and field in fields:
        at = fields.index(field)
        values = words[at].split(",")
        words[at] = ",".join(rewritten["new"] if one == rewritten["found"] else one for one in values)
    elif not of_value:
        words = rewritten["new"].split()
    cron = " ".join(words)
    try:
        Rule(config.name, replace(config, cron=cron).timing)
    except CronError:
        return message
    return f'{rewritten["fault"]}; write cron: "{cron}"'
