"""The command line. One file per command or group; nothing here is imported by the library."""

import sys


def main() -> None:
    """The command `oncue`: expected errors become one sentence on stderr and an exit code (docs/cli.md)."""
    from oncue.cli.failure import INTERRUPTED, exit_code, sentence
    from oncue.common.errors import OncueError

    try:
        _run()
    except OncueError as error:
        print(f"oncue: {sentence(error)}", file=sys.stderr)
        sys.exit(exit_code(error))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _run() -> None:
    from oncue.cli import lean

    if not lean.run(sys.argv[1:]):
        from oncue.cli.program import run

        run()
