"""Commit: a handler's own writes and the end of its task, in one script."""

from collections.abc import Sequence
from typing import Any

from oncue.common.errors import BadInput
from oncue.common.shard import Shard
from oncue.common.task import Task

MOST_WORDS = 7000
"""Of one command: what Lua can hand to it at once."""

Command = Sequence[bytes]


def commands_of(pipeline: Any) -> list[Command]:
    """The commands that wait in a redis-py pipeline, of a single server or a cluster, as the server gets them."""
    stack = getattr(pipeline, "command_stack", None)
    if stack is None:
        raise BadInput(
            f"{type(pipeline).__name__} is no pipeline of redis-py: give one with the handler's writes"
        )
    return [_words(getattr(entry, "args", None) or entry[0]) for entry in stack]


def _words(args: Sequence[Any]) -> list[bytes]:
    # As redis-py does it: a command's name may be of two words, numbers are written as text.
    name, *rest = args
    words = [part.encode() for part in (name.decode() if isinstance(name, bytes) else str(name)).split()]
    for arg in rest:
        if isinstance(arg, bytes | bytearray | memoryview):
            words.append(bytes(arg))
        elif isinstance(arg, str | int | float) and not isinstance(arg, bool):
            words.append((repr(arg) if isinstance(arg, float) else str(arg)).encode())
        else:
            raise BadInput(f"{arg!r:.60} of a {args[0]} cannot be written: give text, bytes or numbers")
    return words


def keys_of(commands: Sequence[Command], prefix: bytes) -> list[bytes]:
    """What the commands name on the task's shard; raises BadInput for a command that names nothing there."""
    found: dict[bytes, None] = {}
    for words in commands:
        named = [word for word in words[1:] if word.startswith(prefix)]
        if not named:
            raise BadInput(
                f"{words[0].decode(errors='replace')} writes to no key of the task's shard: name keys by task.key(...)"
            )
        if len(words) > MOST_WORDS:
            raise BadInput(
                f"a {words[0].decode(errors='replace')} of over {MOST_WORDS} words: send it in parts"
            )
        found.update(dict.fromkeys(named))
    return list(found)


def commit(
    shard: Shard, task: Task, commands: Sequence[Command], ends: Sequence[bytes], keep_ms: int
) -> list[Any]:
    """One call; [1, answers], [1] if it was done before, [0] if the lease is lost."""
    args: list[bytes | str | int] = [shard.now_ms(), keep_ms, task.id, task.token, task.queue, task.priority]
    for words in commands:
        args += (len(words), *words)
    answer: list[Any] = shard.call("commit", [*ends, *keys_of(commands, shard.keys.prefix)], args)
    return answer
