"""The environments of the peers: each in its own folder under .bench/, made once, again when its packages change.

What an adapter needs stands at its head, as inline script metadata (PEP 723); so a peer is one file.
"""

import json
import os
import re
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

_METADATA = re.compile(r"(?ms)^(?:#|//) /// script\n(.*?)^(?:#|//) ///")


@dataclass(frozen=True)
class Place:
    """Where a peer runs: the command of its side, and the environment of all its processes."""

    name: str
    side: tuple[str, ...]
    variables: dict[str, str]


def requirements(path: Path) -> list[str]:
    """The packages named at the head of an adapter."""
    found = _METADATA.search(path.read_text())
    if found is None:
        return []
    text = "".join(re.sub(r"^(?:#|//) ?", "", line) + "\n" for line in found[1].splitlines())
    return list(tomllib.loads(text).get("dependencies", []))


def place(name: str) -> Place:
    """The place of a peer, made if it is not there; raises RuntimeError in one sentence."""
    path = PEERS / f"{name}.py"
    if name == "oncue":
        return Place(
            name, (sys.executable, "-m", "bench.side", "oncue"), _variables(Path(sys.executable).parent)
        )
    if path.exists():
        folder = python(name, requirements(path))
        return Place(name, ("python", "-m", "bench.side", name), _variables(folder / "bin"))
    path = PEERS / f"{name}.cjs"
    if not path.exists():
        raise RuntimeError(f"there is no peer {name}: choose among {', '.join(ORDER)}")
    folder = _node(name, requirements(path))
    variables = _variables(folder / "node_modules" / ".bin")
    return Place(name, ("node", str(path)), {**variables, "NODE_PATH": str(folder / "node_modules")})


def python(name: str, packages: list[str]) -> Path:
    """A virtual environment with packages; its folder."""
    folder = HOME / name
    if not _is_made(folder, packages):
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        _run([*pip, *packages])
        _note(folder, packages)
    return folder


def beside(name: str, packages: list[str]) -> Path:
    """A folder with packages, and nothing that they depend on, to be put beside the development environment."""
    folder = HOME / name
    if not _is_made(folder, packages):
        pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-deps"]
        _run([*pip, "--target", str(folder), *packages])
        _note(folder, packages)
    return folder


def _node(name: str, packages: list[str]) -> Path:
    folder = HOME / name
    if shutil.which("npm") is None:
        raise RuntimeError("npm is not installed")
    if not _is_made(folder, packages):
        folder.mkdir(parents=True)
        _run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), *packages])
        _note(folder, packages)
    return folder


def _is_made(folder: Path, packages: list[str]) -> bool:
    stamp = folder / "made-of.json"
    if stamp.exists() and json.loads(stamp.read_text()) == packages:
        return True
    shutil.rmtree(folder, ignore_errors=True)
    return False


def _note(folder: Path, packages: list[str]) -> None:
    (folder / "made-of.json").write_text(json.dumps(packages))


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if done.returncode:
        raise RuntimeError(f"`{' '.join(command[:6])} ...` failed: {done.stderr.strip()[-300:]}")


def _variables(programs: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("HOME", "LANG", "TMPDIR") if name in os.environ}
    path = f"{programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
