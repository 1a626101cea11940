"""Jitter: how much later than planned a tick runs, settled by its schedule and instant, the same everywhere."""

import hashlib


def jitter_of(name: str, planned_ms: int, most_ms: int, following_ms: int | None) -> int:
    """Milliseconds from 0 to `most_ms` that the tick of schedule `name` at `planned_ms` runs late.

    Always before the following tick, so that ticks keep their order. A hash and not chance, so that every scheduler
    says the same, after a restart too.
    """
    if following_ms is not None:
        most_ms = min(most_ms, following_ms - planned_ms - 1)
    digest = hashlib.sha256(f"{name} {planned_ms}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % (most_ms + 1)
