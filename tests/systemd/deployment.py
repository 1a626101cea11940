"""oncue on a machine of its own, set up by the commands that docs/deploy.md gives, beside a server with a password."""

from __future__ import annotations

import json
import re
import shutil
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

from oncue import App
from tests.support.machine import Machine
from tests.support.servers import binary
from tests.support.waiting import eventually

_SHOP = Path(__file__).with_name("shop.py")
_ROOT = Path(__file__).resolve().parents[2]
_PAGE = (_ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
PASSWORD = "hunter#2 with/blanks"

# The units see no home folder, and that may be where this Python is.
_PREFIX = "/srv/python"
_PACKAGES = "/srv/packages"
_SETTLED = ("/usr", "/usr/local")

_SERVER_UNIT = "[Service]\nExecStart=/srv/valkey/valkey-server /srv/valkey/valkey.conf\n"
_SERVER_CONF = f"""
bind 127.0.0.1
unixsocket /run/valkey.sock
dir /srv/valkey
appendonly yes
save ""
maxmemory-policy noeviction
requirepass "{PASSWORD}"
"""

SCHEDULERS = ["oncue-scheduler@1.service", "oncue-scheduler@2.service"]
WORKER = "oncue-worker@emails.service"
UNITS = [*SCHEDULERS, WORKER]
LEASE_S = 2
STOP_TIMEOUT_S = 6
ON_TIME_S = 1
"""Of a task that is no later than this it is certain that no restart was waited for (RestartSec=, and a start of Python)."""


def block(phrase: str) -> str:
    """The indented block of the page that has this phrase in it."""
    blocks = re.findall(r"(?:^(?:    .*)?\n)+", _PAGE, re.MULTILINE)
    (found,) = [text for text in blocks if phrase in text]
    return "\n".join(line.removeprefix("    ") for line in found.splitlines())


def folders() -> dict[Path, str]:
    """What of this host the machine needs besides its own files."""
    packages = {Path(sysconfig.get_path("purelib")): _PACKAGES}
    return packages if sys.base_prefix in _SETTLED else {**packages, Path(sys.base_prefix): _PREFIX}


class Deployment:
    """Two schedulers and the worker `emails`, as the page makes them."""

    _units = "/opt/oncue/share/oncue/systemd"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.run = machine.run
        self._app: App | None = None

    def install(self, wheel: Path) -> None:
        self._start_the_server()
        self.write("/srv/wheels/" + wheel.name, wheel.read_bytes())
        self._install_oncue()
        self.write("/srv/shop/shop/tasks.py", _SHOP.read_bytes())
        self.append("/etc/oncue/oncue.env", "PYTHONPATH=/srv/shop\n")
        self.shell(block("ONCUE_APP=shop.tasks:app"))
        self.write_schedules("first: {every: 1h, queue: emails}")
        self.shell(block("cat >/etc/oncue/password"), stdin=PASSWORD + "\n", cwd=self._units)
        self.shell(block("oncue cron check"))

    def _start_the_server(self) -> None:
        program = binary("valkey")
        assert program
        self.write("/srv/valkey/valkey-server", Path(program).read_bytes(), mode=0o755)
        self.write("/srv/valkey/valkey.conf", _SERVER_CONF)
        self.write("/etc/systemd/system/valkey.service", _SERVER_UNIT)
        self.run("systemctl", "start", "valkey.service")
        eventually(lambda: self.machine.path("/run/valkey.sock").is_socket(), what="the server")

    def _install_oncue(self) -> None:
        prefix = sys.base_prefix if sys.base_prefix in _SETTLED else _PREFIX
        python = f"{prefix}/bin/python{sys.version_info.major}.{sys.version_info.minor}"
        # A Python that was moved finds its library no more by the path that was written into it.
        self.write("/etc/ld.so.conf.d/oncue-test.conf", f"{prefix}/lib\n")
        self.run("ldconfig")
        commands = block("-m venv /opt/oncue").replace("python3 -m venv", f"{python} -m venv")
        offline = {"PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1", "PIP_FIND_LINKS": "/srv/wheels"}
        self.run("mkdir", "-p", "/etc/sysusers.d", "/etc/tmpfiles.d")
        self.shell(commands, env={**offline, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}, timeout_s=200)
        # Last: with the borrowed packages in sight pip would take the oncue among them for the installed one.
        site = "$(/opt/oncue/bin/python -c 'import site; print(site.getsitepackages()[0])')"
        self.shell(f"echo {_PACKAGES} >{site}/borrowed.pth")

    def shell(
        self,
        commands: str,
        *,
        stdin: str = "",
        env: Mapping[str, str] | None = None,
        cwd: str = "/",
        timeout_s: float = 60,
    ) -> str:
        return self.run("bash", "-euc", f"cd {cwd}\n{commands}", stdin=stdin, env=env, timeout_s=timeout_s)

    def write(self, inside: str, text: str | bytes, mode: int | None = None) -> None:
        """As an editor does: another file is put in the place of the old one, with its owner and mode."""
        path = self.machine.path(inside)
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.new")
        new.write_bytes(text.encode() if isinstance(text, str) else text)
        if path.exists():
            before = path.stat()
            shutil.chown(new, before.st_uid, before.st_gid)
            new.chmod(before.st_mode & 0o7777)
        if mode is not None:
            new.chmod(mode)
        new.replace(path)

    def write_schedules(self, *lines: str) -> None:
        settings = [f"lease_s: {LEASE_S}", f"stop_timeout_s: {STOP_TIMEOUT_S}", "schedules:"]
        self.write("/etc/oncue/oncue.yaml", "\n".join([*settings, *(f"  {line}" for line in lines), ""]))

    def append(self, inside: str, text: str) -> None:
        with self.machine.path(inside).open("a") as file:
            file.write(text)

    @contextmanager
    def edited(self, settings: str, *units: str) -> Iterator[None]:
        """Units with more settings of their services, as `systemctl edit` adds them, and in the end without."""
        files = [self.machine.path(f"/etc/systemd/system/{unit}.d/override.conf") for unit in units]
        try:
            for file in files:
                file.parent.mkdir(exist_ok=True)
                file.write_text(f"[Service]\n{settings}\n")
            self.run("systemctl", "daemon-reload")
            yield
        finally:
            for file in files:
                file.unlink(missing_ok=True)
            self.run("systemctl", "daemon-reload")

    def show(self, unit: str, *properties: str) -> list[str]:
        """Values of a unit's properties."""
        shown = self.run("systemctl", "show", unit, *[f"--property={name}" for name in properties])
        found = dict(line.split("=", 1) for line in shown.splitlines() if line)
        return [found[name] for name in properties]

    def pid(self, unit: str) -> int:
        """The main process, as the machine counts."""
        return int(self.show(unit, "MainPID")[0])

    def kill(self, unit: str, signal: str) -> int:
        """A signal to the main process; its pid."""
        pid = self.pid(unit)
        self.run("systemctl", "kill", "--kill-whom=main", f"--signal={signal}", unit)
        return pid

    def journal(self, unit: str = "*") -> str:
        return self.run("journalctl", "--no-pager", "--output=cat", f"--unit={unit}")

    def tells(self, unit: str, sentence: str) -> None:
        """Wait until it is in the journal, where it comes some time after it was said."""
        eventually(lambda: sentence in self.journal(unit), what=f"{sentence!r} of {unit}")

    def processes(self) -> list[int]:
        """All that run as the user oncue, as the machine counts."""
        uid = self.machine.path("/var/lib/oncue").stat().st_uid
        found = []
        for path in self.machine.path("/proc").iterdir():
            # Any of them may end while we look.
            with suppress(FileNotFoundError):
                if path.name.isdigit() and path.stat().st_uid == uid:
                    found.append(int(path.name))
        return found

    @property
    def app(self) -> App:
        """A producer on the machine's server, through its socket."""
        if self._app is None:
            socket = self.machine.path("/run/valkey.sock")
            self._app = App(f"unix://:{quote(PASSWORD, safe='')}@{socket}")
        return self._app

    def noted(self, what: str, task: str, attempt: int = 1, timeout_s: float = 15) -> float:
        """When a handler has noted that, on the clock of the host, which is the machine's too."""
        start = f"{what} {task} {attempt} "
        line = eventually(lambda: self._line(start), timeout_s, f"the note {start}")
        return float(line.removeprefix(start))

    def is_punctual(self, act: Callable[[], object] = lambda: None) -> bool:
        """Whether a task of the next second runs on time though `act` is done meanwhile; never may it run early.

        False says little by itself: the machine may have stood still, or been busy with something else.
        """
        due = time.time() + 1
        task = self.app.schedule_task(due, None, queue="emails")
        act()
        late_s = self.noted("sent", task) - due
        assert late_s >= 0
        return late_s < ON_TIME_S

    def _line(self, start: str) -> str | None:
        notes = self.machine.path("/var/lib/oncue/notes")
        lines = notes.read_text().splitlines() if notes.exists() else []
        return next((line for line in lines if line.startswith(start)), None)

    def attempts(self, *paths: str) -> dict[str, Any]:
        """What a handler in the worker says to writing there."""
        report = self.machine.path("/var/lib/oncue/attempts.json")
        report.unlink(missing_ok=True)
        self.app.schedule_task(None, list(paths), queue="attempts")
        eventually(report.exists, what="the report of the handler")
        found: dict[str, Any] = json.loads(report.read_text())
        return found

    def close(self) -> None:
        if self._app is not None:
            self._app.close()
