"""Commands on tasks by id, one or many: which are meant, and what became of each."""

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from oncue.cli.failure import NO
from oncue.cli.output import print_json
from oncue.common.ids import checked_all

IDS_HELP = "The tasks' ids, as `oncue schedule` printed them; - reads them from stdin, one a line."
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help=IDS_HELP)]


def read_ids(words: Sequence[str]) -> list[str]:
    """The ids that are meant, each once; `-` stands for the lines of stdin. Raises BadInput."""
    found: list[str] = []
    for word in words:
        found += _stdin() if word == "-" else [word]
    return checked_all(dict.fromkeys(found))


def _stdin() -> list[str]:
    # What is no UTF-8 is no id either, and is refused as one.
    lines = sys.stdin.buffer.read().decode(errors="backslashreplace").splitlines()
    return [line.strip() for line in lines if line.strip()]


def report(done: str, answers: Mapping[str, str], as_json: bool, **more: Any) -> None:
    """Prints what became of each task; ends the command with code 1 where one was refused.

    ``done`` is the answer of those that were not; ``more`` is said of them, too.
    """
    refused = {task_id: answer for task_id, answer in answers.items() if answer != done}
    if as_json:
        print_json(
            [
                {"id": task_id, "ok": answer == done, "answer": answer, **(more if answer == done else {})}
                for task_id, answer in answers.items()
            ]
        )
    else:
        for task_id, answer in refused.items():
            print(f"{task_id}: {_why(answer)}")
        of = f" of {len(answers)}" if refused else ""
        said = "".join(f", {name}: {value}" for name, value in more.items())
        print(f"{done}: {len(answers) - len(refused)}{of}{said}")
    if refused:
        raise typer.Exit(NO)


def _why(answer: str) -> str:
    if answer == "unknown":
        return "there is no such task, or it finished some time ago"
    if answer == "expires":
        return "it expires before that time"
    return "too late, it runs" if answer == "leased" else f"it is {answer}"
