"""The faults of a file by itself, as `oncue cron check` finds them."""

from oncue.common.config import examined
from oncue.common.problem import Problem


def check(path: str) -> list[Problem]:
    """In the order of the lines; an empty list means that the file can be used."""
    return examined(path)[1]
