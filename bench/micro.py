"""``make bench-micro``: bench/test_micro.py under pytest-benchmark, which is put beside the other bench-only packages."""

import os
import subprocess
import sys

from bench.environment import ROOT, beside


def main() -> int:
    """Runs pytest with what the command line adds."""
    folder = beside("micro")
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT), str(folder)))}
    command = [sys.executable, "-m", "pytest", "bench/test_micro.py", "-p", "no:cacheprovider", *sys.argv[1:]]
    return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
