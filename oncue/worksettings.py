"""``command=[...]`` and ``http={...}`` of `App.schedules`: the same keys as in the file, made into what a definition holds."""

from collections.abc import Mapping
from typing import Any

import msgspec

from oncue.common.errors import BadInput
from oncue.common.work import QUEUES, read_work

OF_COMMANDS = frozenset({"command", "shell", "env", "cwd"})
OF_BOTH = frozenset({"timeout_s", "output_limit_bytes"})
KEYS = OF_COMMANDS | OF_BOTH | {"http"}


def described(given: Mapping[str, Any], before: Mapping[str, Any]) -> dict[str, Any]:
    """``given`` with `runs`, `data` and `queue` in place of the keys of commands and calls, if it has any.

    ``before``: the settings that an edit goes out from. Raises BadInput.
    """
    own = {key: value for key, value in given.items() if key in KEYS}
    rest = {key: value for key, value in given.items() if key not in KEYS}
    if not own:
        return rest
    if "data" in rest:
        raise BadInput("data has no effect with command or http, which is what the tasks hold")
    runs = _runs(own, before.get("runs"))
    data = own
    if before.get("runs") == runs:
        data = {**before["data"], **own}
    else:
        rest.setdefault("queue", QUEUES[runs])
    # Once there and back: what a worker reads, and no key that stands at its default.
    work = read_work(runs, _plain(data))
    return {**rest, "runs": runs, "data": msgspec.json.decode(msgspec.json.encode(work))}


def _runs(own: Mapping[str, Any], before: str | None) -> Any:
    if "http" in own and own.keys() & OF_COMMANDS:
        raise BadInput("a schedule has command or http, not both")
    if "http" in own or (before == "http" and own.keys() <= OF_BOTH):
        return "http"
    if "command" in own or before == "command":
        return "command"
    raise BadInput(f"{min(own)} has no effect without command or http")


def _plain(data: Mapping[str, Any]) -> Any:
    try:
        return msgspec.to_builtins(data, str_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"a command or call is described by what JSON can hold: {error}") from None
