"""The command line. One file per command or group; nothing here is imported by the library."""

import os
import sys


def main() -> None:
    """The command `oncue`: expected errors become one sentence on stderr and an exit code (docs/cli.md)."""
    from oncue.cli.failure import INTERRUPTED, UNUSABLE, exit_code, sentence
    from oncue.common.errors import OncueError

    try:
        try:
            _run()
        finally:
            print(end="", flush=True)
    except OncueError as error:
        print(f"oncue: {sentence(error)}", file=sys.stderr)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except OSError:
        why = _stdout_fault()
        if not why:
            raise
        # What it could not take is lost: the end of the process must not try it once more.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"oncue: stdout takes no more: {why}", file=sys.stderr)
        sys.exit(UNUSABLE)


def _stdout_fault() -> str:
    try:
        print(end="", flush=True)
    except OSError as error:
        return str(error.strerror)
    return ""


def _run() -> None:
    from oncue.cli import lean

    if not lean.run(sys.argv[1:]):
        from oncue.cli.program import run

        run()
