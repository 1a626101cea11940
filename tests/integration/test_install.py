"""Wheel and sdist, each installed into an empty environment and used from another directory.

The checkout reaches its folders through links; these tests are what shows that an archive holds the files themselves.
Only the dependencies are borrowed, from the environment that runs the tests.
"""

from __future__ import annotations

import os
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.support.archives import build, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel and an sdist."""
    at = tmp_path_factory.mktemp("build")
    build(at, "wheel", "sdist")
    return at


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    return next(dist.glob("oncue-*.whl"))


@pytest.fixture(scope="module")
def sdist(dist: Path) -> Path:
    return next(dist.glob("oncue-*.tar.gz"))


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with oncue from the archive."""
    archive: Path = request.getfixturevalue(request.param)
    at = tmp_path_factory.mktemp(f"from-{request.param}")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    if request.param == "sdist":
        run(*pip, "wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", at, archive, cwd=at)
        archive = next(at.glob("oncue-*.whl"))
    env = at / "env"
    run(sys.executable, "-m", "venv", "--without-pip", env, cwd=at)
    run(*pip, "--python", env / "bin/python", "install", "--no-deps", "--no-index", archive, cwd=at)
    # Last: with the borrowed packages in sight pip would take the editable oncue among them for the installed one.
    site = Path(
        run(env / "bin/python", "-c", "import site; print(site.getsitepackages()[0])", cwd=at).strip()
    )
    (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return env


def package_files(suffix: str) -> set[str]:
    """The files that the checkout shows under oncue/, links followed."""
    found = set()
    for folder, folders, names in os.walk(ROOT / "oncue", followlinks=True):
        folders[:] = [name for name in folders if name != "__pycache__"]
        found |= {
            (Path(folder) / name).relative_to(ROOT).as_posix() for name in names if name.endswith(suffix)
        }
    return found


@pytest.mark.parametrize("suffix", [".py", ".lua", "py.typed"])
def test_archives_hold_every_file_of_the_package(suffix: str, wheel: Path, sdist: Path) -> None:
    expected = package_files(suffix)
    assert expected
    with zipfile.ZipFile(wheel) as opened:
        assert expected <= set(opened.namelist())
    with tarfile.open(sdist) as packed:
        members = {member.name.partition("/")[2]: member for member in packed.getmembers()}
    assert expected <= set(members)
    assert all(members[name].isfile() for name in expected)


def test_a_wheel_puts_nothing_beside_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        tops = {name.partition("/")[0] for name in opened.namelist()}
    assert {top for top in tops if not top.endswith((".dist-info", ".data"))} == {"oncue"}


def test_the_package_is_the_installed_one(installed: Path, tmp_path: Path) -> None:
    shown = run(
        installed / "bin/python",
        "-c",
        "import oncue.common.keys as k, oncue; print(oncue.__file__)",
        cwd=tmp_path,
    )
    assert Path(shown.strip()).is_relative_to(installed)


def test_every_script_comes_out_of_the_installed_package_as_out_of_the_checkout(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "import sys; from oncue.common.scripts import assembled; print([assembled(n) for n in sys.argv[1:]])"
    )
    names = sorted(path.stem for path in (ROOT / "lua").glob("*.lua"))
    here = run(sys.executable, "-c", code, *names, cwd=ROOT)
    assert run(installed / "bin/python", "-c", code, *names, cwd=tmp_path) == here


def test_the_command_answers_from_another_directory(installed: Path, tmp_path: Path) -> None:
    shown = run(installed / "bin/oncue", "--help", cwd=tmp_path)
    for command in ("up", "scheduler", "worker"):
        assert command in shown


def test_the_units_are_installed_beside_it(installed: Path) -> None:
    at = installed / "share/oncue/systemd"
    assert {path.name for path in at.iterdir()} == {path.name for path in (ROOT / "systemd").iterdir()}
