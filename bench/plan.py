"""What one run of the benchmark does: which peers, how thorough."""

from dataclasses import dataclass, field

from bench.environment import Place
from bench.session import Session


@dataclass
class Plan:
    """The peers that could be set up, and whether the run is a quick one."""

    quick: bool
    huge: bool = False
    places: dict[str, Place] = field(default_factory=dict)

    def session(self, peer: str, aof: bool = False) -> Session:
        """A fresh server with one peer's client."""
        return Session(self.places[peer], aof)
