"""A finding: one fact that `oncue doctor` tells."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Finding:
    """One fact; ``advice`` is empty where all is well."""

    name: str
    value: str | int | float | bool
    advice: str = ""

    @property
    def well(self) -> bool:
        """Whether there is nothing to be done about it."""
        return not self.advice
