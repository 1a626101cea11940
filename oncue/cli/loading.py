"""The user's app: MODULE:APP, as every worker command is given it."""

import importlib
import logging
import os
import sys
import traceback
from collections.abc import Mapping
from functools import reduce
from types import ModuleType

from oncue.app import App
from oncue.cli.failure import printable
from oncue.common.errors import BadInput
from oncue.common.faults import said
from oncue.common.handler import Handler

_log = logging.getLogger("oncue.app")


def load_app(text: str) -> App:
    """Imports the app, from the current directory too. Raises BadInput in one sentence, whatever the user's code raises."""
    module_name, _, path = text.partition(":")
    if not module_name or not path or not all(part.isidentifier() for part in path.split(".")):
        raise BadInput(f"found {text!r:.100}; give MODULE:APP, such as shop.tasks:app")
    module = _imported(module_name)
    try:
        app: object = reduce(getattr, path.split("."), module)
    except AttributeError:
        raise BadInput(f"{module_name} has no {path}: {_suggestion(module_name, module)}") from None
    if not isinstance(app, App):
        raise BadInput(
            f"{text} is a {type(app).__name__}, not an oncue.App: {_suggestion(module_name, module)}"
        )
    return app


def chosen(handlers: Mapping[str, Handler], queues: str | None) -> Mapping[str, Handler]:
    """The handlers of these queues (names with commas between), or all. Raises BadInput for a queue without one."""
    if not handlers:
        raise BadInput('the app has no handlers: decorate a function with @app.handler("QUEUE")')
    if queues is None:
        return handlers
    wanted = [name.strip() for name in queues.split(",") if name.strip()]
    missing = [name for name in wanted if name not in handlers]
    if missing or not wanted:
        names = ", ".join(missing) or "(none)"
        raise BadInput(f"--queues: no handler for {names}; the app has: {', '.join(sorted(handlers))}")
    return {name: handlers[name] for name in wanted}


def _imported(name: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path and "" not in sys.path:
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001 - the user's code: SystemExit and whatever else
        _log.debug("the import of %s failed", name, exc_info=True)
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and (name == missing or name.startswith(f"{missing}.")):
            raise BadInput(
                f"there is no module {missing}: it was looked for in {here}, PYTHONPATH and the installed packages"
            ) from None
        raise BadInput(
            f"{name} cannot be imported: {_place(error)}{type(error).__name__}: {said(error)}"
        ) from None


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}: "
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename
    ]
    # The last frame of the user's own file; the first is ours.
    return f"{frames[-1].filename}:{frames[-1].lineno}: " if len(frames) > 1 else ""


def _suggestion(module_name: str, module: ModuleType) -> str:
    apps = [name for name, value in vars(module).items() if isinstance(value, App)]
    if apps:
        return "give " + " or ".join(f"{module_name}:{printable(name)}" for name in apps)
    return f"there is no oncue.App in {module_name}"
