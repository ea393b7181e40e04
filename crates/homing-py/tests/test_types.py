"""The stub matches the compiled module, and the package and code that uses it type-check."""

import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["mypy.stubtest", "homing._homing", "--mypy-config-file", "pyproject.toml"],
        ["mypy"],
        ["mypy", "tests/typed.py"],
    ],
)
def test_types(arguments):
    done = subprocess.run([sys.executable, "-m", *arguments], cwd=PACKAGE, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
