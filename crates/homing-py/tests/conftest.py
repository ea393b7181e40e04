"""Shared fixtures: a pool, targets, the command built from the same core, and a Ray cluster."""

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

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


@pytest.fixture(scope="session")
def cluster():
    """Two nodes, each with its own processes, on this machine."""
    ray = pytest.importorskip("ray", reason="Ray is not installed; pip install 'homing[ray]'")
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 4, "include_dashboard": False})
    cluster.add_node(num_cpus=4, resources={"first": 8})
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()
