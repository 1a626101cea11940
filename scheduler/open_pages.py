"""Open pages: what comes near leaves the far future and enters the timetable, one page ahead of its time."""

from collections.abc import Sequence

from oncue.common.pages import Head, open_page
from oncue.common.shard import Shard

KINDS = b"p"


def open_pages(shard: Shard, members: Sequence[bytes]) -> Head:
    """Opens the pages of ``members``, earliest first. The newest head."""
    head: Head = []
    for member in members:
        head = open_page(shard, member)
    return head
