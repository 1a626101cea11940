"""What one run of the benchmark does: which peers, how thorough."""

import itertools
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from bench.environment import HOME, Place
from bench.session import Session

LOGS = HOME / "logs"


@dataclass
class Plan:
    """The peers asked for, in order: each has a place, or a reason why it was left out."""

    peers: list[str]
    folder: Path
    """Everything of the run that goes with it."""
    quick: bool = False
    huge: bool = False
    places: dict[str, Place] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    experiment: str = "describe"
    _sessions: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    def begin(self, experiment: str) -> None:
        """From now on sessions are of this experiment; what its last run has logged goes."""
        self.experiment = experiment
        for peer in self.peers:
            shutil.rmtree(LOGS / peer / experiment, ignore_errors=True)

    def session(self, peer: str, aof: bool = False) -> Session:
        """A fresh server with one peer's client; what its processes print is kept in LOGS."""
        log = LOGS / peer / self.experiment / f"{next(self._sessions)}.log"
        return Session(self.places[peer], self.folder, log, aof)
