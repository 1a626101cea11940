"""One adapter for each peer, all of one shape (bench/side.py): how to schedule, and the peer's own commands for its roles."""
