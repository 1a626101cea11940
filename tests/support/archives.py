"""The archives that users install oncue from."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_UNUSED = shutil.ignore_patterns(".*", "tests", "bench", "build", "dist", "*.egg-info", "__pycache__")


def run(*command: str | Path, cwd: Path) -> str:
    """What a command says; settings of Python or oncue in the environment of the tests do not reach it."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "ONCUE_"))}
    done = subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout


def build(at: Path, *kinds: str) -> None:
    """Wheel or sdist into ``at``, from a copy of the checkout so that nothing is left behind in it."""
    shutil.copytree(_ROOT, at / "source", symlinks=True, ignore=_UNUSED)
    words = [f"--{kind}" for kind in kinds]
    run(sys.executable, "-m", "build", "--no-isolation", *words, "--outdir", at, cwd=at / "source")
