"""The environments of the peers: each in its own folder under .bench/, made once, again when its packages change.

bench/versions.toml says what each is made of.
"""

import json
import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(os.path.abspath(__file__)).parents[1]
HOME = ROOT / ".bench"
PEERS = ROOT / "bench" / "peers"
ORDER = ("oncue", "celery", "rq", "huey", "dramatiq", "saq", "docket", "bullmq")


@dataclass(frozen=True)
class Place:
    """Where a peer runs: the command of its side, and the environment of all its processes."""

    name: str
    side: tuple[str, ...]
    variables: dict[str, str]


def place(name: str) -> Place:
    """The place of a peer, made if it is not there; raises RuntimeError in one sentence."""
    if name not in ORDER:
        raise RuntimeError(f"there is no peer {name}: choose among {', '.join(ORDER)}")
    path = PEERS / f"{name}.py"
    if name == "oncue":
        return Place(
            name, (sys.executable, "-m", "bench.side", "oncue"), _variables(Path(sys.executable).parent)
        )
    if path.exists():
        folder = python(name)
        return Place(name, ("python", "-m", "bench.side", name), _variables(folder / "bin"))
    path = PEERS / f"{name}.cjs"
    folder = _node(name)
    variables = _variables(folder / "node_modules" / ".bin")
    return Place(name, ("node", str(path)), {**variables, "NODE_PATH": str(folder / "node_modules")})


def packages(name: str) -> list[str]:
    """What an environment is made of, each with its version, as pip or npm takes it."""
    found: list[str] = tomllib.loads((ROOT / "bench" / "versions.toml").read_text())[name]
    return found


def python(name: str) -> Path:
    """A virtual environment with the packages of that name; its folder."""
    folder, wanted = HOME / name, packages(name)
    if not _is_made(folder, wanted):
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        _run([*pip, *wanted])
        _note(folder, wanted)
    return folder


def beside(name: str) -> Path:
    """A folder with the packages of that name and nothing else, to be put beside the development environment."""
    folder, wanted = HOME / name, packages(name)
    if not _is_made(folder, wanted):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        _run([*pip, "--target", str(folder), *wanted])
        _note(folder, wanted)
    return folder


def _node(name: str) -> Path:
    folder, wanted = HOME / name, packages(name)
    if shutil.which("npm") is None:
        raise RuntimeError("npm is not installed")
    if not _is_made(folder, wanted):
        folder.mkdir(parents=True)
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *wanted])
        _note(folder, wanted)
    return folder


def _is_made(folder: Path, wanted: list[str]) -> bool:
    stamp = folder / "made-of.json"
    if stamp.exists() and json.loads(stamp.read_text()) == wanted:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def _note(folder: Path, wanted: list[str]) -> None:
    (folder / "made-of.json").write_text(json.dumps(wanted))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command[:6])} ...` failed: {done.stderr.strip()[-300:]}")


def _variables(programs: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT)}
