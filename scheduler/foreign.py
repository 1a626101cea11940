"""Foreign: what stands in the timetable and cannot be understood is taken out of the way, with a line in the log.

Left where it is, a due member that no duty answers for would stay at the head, and hide the next instant behind it.
"""

import logging
import re
from collections.abc import Sequence

from oncue.common.shard import Shard

PUT_OFF_MS = 60_000
"""How long a member of an unknown kind is put off: a newer oncue beside this one may know it."""

_QUEUE = rb"[A-Za-z0-9_.-]{1,64}"
_FORMS = {
    form[:1].replace(b"\\", form[1:2]): re.compile(form, re.DOTALL)
    for form in (
        rb"\+.{4}\d" + _QUEUE + rb":.+",
        rb"=\d{1,15}:\d:" + _QUEUE,
        rb"p\d{1,12}",
        rb"l\d" + _QUEUE + rb":.+",
        rb"t[A-Za-z0-9_.-]{1,128}",
        rb"g" + _QUEUE,
        rb"f",
        rb"d",
    )
}
_log = logging.getLogger("oncue.scheduler")


def is_understood(member: bytes) -> bool:
    """Whether a member of the timetable has the form of its kind (lua/include/members.lua)."""
    form = _FORMS.get(member[:1])
    return form is not None and form.fullmatch(member) is not None


def set_aside(shard: Shard, members: Sequence[bytes]) -> None:
    """Takes out malformed members, and puts off those of unknown kinds."""
    timetable = shard.keys.timetable
    malformed = [member for member in members if member[:1] in _FORMS]
    unknown = [member for member in members if member[:1] not in _FORMS]
    # One line however many there are: what is put off comes again every minute.
    if malformed:
        _log.error("taken out of the timetable, since nobody can read it: %s", _shown(malformed))
        shard.command("ZREM", timetable, *malformed)
    if unknown:
        _log.error("put off by a minute in the timetable, since its kind is unknown: %s", _shown(unknown))
        later = shard.now_ms() + PUT_OFF_MS
        shard.command("ZADD", timetable, "XX", *(word for member in unknown for word in (later, member)))


def _shown(members: Sequence[bytes]) -> str:
    more = f" and {len(members) - 1} more" if len(members) > 1 else ""
    return f"{members[0][:200]!r}{more}"
