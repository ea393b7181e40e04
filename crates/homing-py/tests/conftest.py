"""Shared fixtures: a pool, targets, and the command built from the same core."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def pool(rng):
    return rng.standard_normal((400, 12)).astype(np.float32)


@pytest.fixture
def targets(rng):
    return rng.standard_normal((5, 12)).astype(np.float32)


@pytest.fixture(scope="session")
def command():
    """The path of the `homing` command: HOMING_BIN, one in PATH, or the one that cargo built."""
    built = ROOT / "target" / "release" / "homing"
    path = os.environ.get("HOMING_BIN") or shutil.which("homing") or (str(built) if built.exists() else None)
    if path is None:
        pytest.skip("the homing command is not built; run cargo build --release")
    return path
