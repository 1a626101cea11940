"""Exit codes, the same for every command, and the sentence that stands for an error. docs/cli.md lists the codes."""

from oncue.common.errors import AlreadyFinal, NotFound, OncueError, StoreUnavailable, WrongState
from oncue.common.problem import Refused

OK = 0
NO = 1
"""The command was carried out, and the answer is no: a fault was found, it was too late, there is no such task."""
UNUSABLE = 2
"""A command line, file, app or server that cannot be used: the same the next time, so nobody should restart it."""
UNREACHABLE = 3
"""The server could not be reached: another time it may work."""
INTERRUPTED = 130


def exit_code(error: OncueError) -> int:
    """The exit code of a command that ends with this error."""
    if isinstance(error, StoreUnavailable):
        return UNREACHABLE
    return NO if isinstance(error, NotFound | WrongState | AlreadyFinal) else UNUSABLE


def sentence(error: OncueError) -> str:
    """What is printed: a line for each fault of a configuration, one line for all else."""
    if isinstance(error, Refused):
        return "\noncue: ".join(problem.sentence for problem in error.problems)
    return printable(str(error))


def printable(text: str) -> str:
    """Text from anywhere as one line that cannot steer a terminal."""
    return "".join(char if char.isprintable() else " " for char in text)
