"""What ends the processes of tests and benchmarks that died."""

import psutil

from bench.reaper import end


class Member:
    def __init__(self, *children: "Member", gone: bool = False) -> None:
        self._children, self._gone, self.is_killed = children, gone, False

    def children(self, *, recursive: bool) -> list["Member"]:
        assert recursive
        return [*self._children]

    def kill(self) -> None:
        if self._gone:
            raise psutil.NoSuchProcess(1)
        self.is_killed = True


def test_one_that_ends_by_itself_meanwhile_saves_no_other() -> None:
    other = Member()
    parent = Member(Member(gone=True), other)
    end(parent)  # type: ignore[arg-type]
    assert other.is_killed
    assert parent.is_killed
