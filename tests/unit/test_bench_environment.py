"""The environments that the benchmark makes."""

import re

from bench.environment import ORDER, packages


def test_every_peer_has_an_environment_and_every_package_in_it_a_version() -> None:
    for name in (*ORDER[1:], "charts", "micro"):
        assert packages(name)
        assert [
            word for word in packages(name) if not re.fullmatch(r"[\w.-]+==[\w.]+|@?[\w./-]+@[\w.]+", word)
        ] == []
