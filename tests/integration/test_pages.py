"""The examples of docs/tasks.md and docs/testing.md do what the pages say."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import oncue
from oncue.testing import Kit, oncue_kit, oncue_server

__all__ = ["oncue_kit", "oncue_server"]
ROOT = Path(__file__).resolve().parents[2]
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page: str) -> list[str]:
    found: list[str] = _BLOCK.findall((ROOT / "docs" / page).read_text())
    return found


def module(path: Path, text: str, **given: object) -> ModuleType:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    made.__dict__.update(given)
    spec.loader.exec_module(made)
    return made


def test_the_handlers_of_the_page_on_tasks_do_what_it_says(oncue_kit: Kit, tmp_path: Path) -> None:
    handlers: list[str] = []
    calls: list[str] = []
    for block in blocks("tasks.md"):
        (handlers if "@app." in block or "import oncue" in block else calls).append(block)
    shop = module(tmp_path / "shop.py", "\n".join(handlers))
    app = oncue_kit.use(shop.app)
    for state in ("paid", "not paid yet", "unknown customer"):
        app.schedule_task(None, {"number": 7, "state": state}, "orders", id=state.replace(" ", "-"))
    assert [ran.what for ran in oncue_kit.run()] == ["done", "snoozed", "dead"]
    assert app.get("paid").result == {"number": 7, "attempt": 1}
    events: list[object] = [{}, "text", {}]
    app.schedule_many([oncue.NewTask(None, data, "events") for data in events])
    assert {str(ran.data): ran.what for ran in oncue_kit.run()} == {"{}": "done", "text": "failed"}
    app.schedule_task(None, {"account": "ada", "cents": 250}, "payments")
    assert [ran.what for ran in oncue_kit.run()] == ["done"]
    client: Any = oncue_kit.store.link.client
    key = oncue_kit.store.shard("payments").keys.prefix + b"own:balances"
    assert client.hgetall(key) == {b"ada": b"250"}
    app.schedule_task(None, {}, "thumbnails")
    assert [ran.what for ran in oncue_kit.run()] == ["done"]
    # A server without replicas confirms nothing: what the page says of that is tested in test_durability.py.
    text = "\n".join(calls).replace(', durability="replicas:1"', "")
    assert text.count("app.") > 5
    ids = [app.schedule_task(2e9, {}, "later") for _ in range(3)]
    module(
        tmp_path / "calls.py",
        text,
        app=app,
        ids=ids,
        task_id=ids[0],
        ts=2.1e9,
        data={},
        soon=2e9,
        later=2.1e9,
    )


def test_the_tests_of_the_page_on_testing_pass(tmp_path: Path) -> None:
    conftest, tests = blocks("testing.md")
    (tmp_path / "conftest.py").write_text(conftest)
    (tmp_path / "test_shop.py").write_text(tests)
    # Without this project's settings: from a folder of its own, as a user would.
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:valkey",
        str(tmp_path),
    ]
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout
