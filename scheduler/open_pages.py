"""Open pages: what comes near leaves the far future and enters the timetable, one page ahead of its time."""

from collections.abc import Sequence

from oncue.common.pages import Head, open_step
from oncue.common.shard import Shard

KINDS = b"p"


class OpenPages:
    """The duty, with the keys that the next step of the page in work needs."""

    def __init__(self) -> None:
        self._page = b""
        self._needs: list[bytes] = []

    def __call__(self, shard: Shard, members: Sequence[bytes]) -> Head:
        """Takes one step with the earliest of ``members``: there is a minute for it, and due tasks come in between.

        The newest head, in which a page that is not empty yet is still due.
        """
        page = members[0]
        needs = self._needs if page == self._page else []
        self._page, (self._needs, head) = page, open_step(shard, page, needs)
        return head
