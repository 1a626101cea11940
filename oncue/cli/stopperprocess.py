"""The stopper's process: ends a worker that was told to stop and can no longer do so by itself.

Run by its path, as `python -I -S oncue/cli/stopperprocess.py PID NUDGE STOP_S HAND_BACK_S`: it imports next to nothing,
so it starts in some 10 ms. NUDGE is the descriptor that wakes the worker's main thread. On its standard input it gets a
byte for each signal of the worker, its number, written by the interpreter's signal handler in C, which needs no lock of
the interpreter; and a zero when the handlers' time is over and threads still run in the worker.
"""

import os
import select
import signal
import sys
import time

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GRACE_S = 2.0
"""How long the worker has to show, after its time is over, that it still can: a machine may stand still for a second."""


def main(pid: int, nudge: int, stop_s: float, hand_back_s: float) -> None:
    """Until the worker has ended, by itself or by being killed here."""
    for stop in STOPS:
        signal.signal(stop, signal.SIG_IGN)
    worker = os.pidfd_open(pid)
    if os.getppid() != pid:
        return
    poller = select.poll()
    for file in (0, worker):
        poller.register(file, select.POLLIN)
    stops, ends_at = 0, None
    while True:
        wait_ms = None if ends_at is None else max(0.0, ends_at - time.monotonic()) * 1000
        came = [file for file, _ in poller.poll(wait_ms)]
        if worker in came:
            return
        if not came:
            _kill(worker)
            return
        told = os.read(0, 4096)
        if not told:
            # The worker's end is closed: its own end comes next.
            poller.unregister(0)
        if any(told):
            _wake(nudge)
        for number in told:
            if number in STOPS:
                stops += 1
                latest = time.monotonic() + (stop_s if stops == 1 else 0) + GRACE_S
                # However often it is told: no signal puts off what an earlier one has brought near.
                ends_at = latest if ends_at is None else min(ends_at, latest)
            elif number == 0 and stops < 2:
                ends_at = time.monotonic() + hand_back_s


def _wake(nudge: int) -> None:
    try:  # noqa: SIM105 - contextlib would triple the time that this takes to start
        os.write(nudge, b"\0")
    except BlockingIOError:
        # Full of nudges that nobody has looked at yet.
        pass


def _kill(worker: int) -> None:
    said = "it was told to stop and does not react: something in it keeps the interpreter's lock; killing it"
    print(f"oncue worker: {said}", file=sys.stderr, flush=True)
    try:  # noqa: SIM105 - as above
        signal.pidfd_send_signal(worker, signal.SIGKILL)
    except ProcessLookupError:
        pass


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]))
