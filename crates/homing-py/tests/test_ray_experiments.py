"""Experiments whose cells run on a Ray cluster: the same tables as on one machine, whatever is lost on the way."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("ray", reason="Ray is not installed; pip install 'homing[ray]'")

pytestmark = [pytest.mark.filterwarnings("ignore")]


@pytest.fixture
def experiment(command, cluster, tmp_path):
    """Starts an experiment with rounds that take this long, here or on the cluster, in a folder of its own."""

    def start(rounds, *words, **environment):
        return subprocess.Popen(
            [command, "experiment", "run", "digits-quick", "--seeds", "1", "--rounds", str(rounds), *words],
            cwd=tmp_path,
            env={**os.environ, "HOMING_PYTHON": sys.executable, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return start


def said(child):
    """Waits for an experiment that succeeds. Returns what it printed, and what it said meanwhile."""
    printed, told = child.communicate(timeout=100)
    assert child.returncode == 0, told
    return printed, told


def results(folder):
    """The tables of an experiment without the seconds that were measured, which are the last two columns."""
    table = [line.rsplit(",", 2)[0] for line in (folder / "digits-quick.csv").read_text().splitlines()]
    return table, (folder / "digits-quick-classes.csv").read_bytes()


def processes_in(folder):
    """The processes that run cells of an experiment in a folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if b"--cell" in words and os.readlink(process / "cwd") == os.path.realpath(folder):
                found.append(int(process.name))
        except OSError:
            continue  # it has ended
    return found


def wait_for(what):
    deadline = time.monotonic() + 60
    while not (found := what()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found


def parent_of(pid):
    return int((Path("/proc") / str(pid) / "stat").read_text().rsplit(") ", 1)[1].split()[1])


def test_the_tables_are_those_of_one_machine(cluster, experiment, tmp_path):
    there = said(experiment(2, "--ray", cluster.address, "--out", "there"))
    here = said(experiment(2, "--out", "here"))
    assert results(tmp_path / "there") == results(tmp_path / "here")
    untimed = [re.sub(r"\d+\.\d+ s\b", "_", printed).split() for printed in (there[0].replace("there/", "here/"), here[0])]
    assert untimed[0] == untimed[1], "it prints the same table"
    names = [sorted(line.split(" ", 1)[1].split(":")[0] for line in told.splitlines()) for _, told in (there, here)]
    assert len(names[0]) == 7 and names[0] == names[1], "it shows the same progress"
    assert not list((tmp_path / "there/cells").glob("*.log"))


def test_a_process_that_is_lost_and_an_interrupt_change_nothing(cluster, experiment, tmp_path):
    rounds = 30
    child = experiment(rounds, "--ray", cluster.address, "--jobs", "3", "--out", "there", "--quiet")
    cell = wait_for(lambda: processes_in(tmp_path))[0]
    os.kill(parent_of(cell), signal.SIGKILL)
    # Its process ends with the one of Ray, and the cell begins again.
    wait_for(lambda: cell not in processes_in(tmp_path))
    wait_for(lambda: len(list((tmp_path / "there/cells").glob("*/results.csv"))) >= 2)
    child.send_signal(signal.SIGINT)
    _, told = child.communicate(timeout=30)
    assert child.returncode == -signal.SIGINT, told
    assert told.startswith("interrupted: ") and told.endswith("cells are done; the same command continues with the rest\n")
    wait_for(lambda: not processes_in(tmp_path))
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "there/cells").glob("*/results.csv")}
    assert 2 <= len(done) < 7
    said(experiment(rounds, "--ray", cluster.address, "--out", "there", "--quiet"))
    assert all(path.stat().st_mtime_ns == time for path, time in done.items()), "cells that were done did not run again"
    said(experiment(rounds, "--out", "here", "--quiet"))
    assert results(tmp_path / "there") == results(tmp_path / "here")


def test_an_experiment_that_is_killed_leaves_no_cell_at_work(cluster, experiment, tmp_path):
    child = experiment(100, "--ray", cluster.address, "--quiet")
    wait_for(lambda: len(processes_in(tmp_path)) > 2 or child.poll() is not None)
    assert child.poll() is None, child.communicate()
    child.kill()
    child.communicate()
    wait_for(lambda: not processes_in(tmp_path))


def test_what_is_missing_is_said_in_one_sentence(cluster, experiment, tmp_path):
    without_ray = tmp_path / "python-without-ray"
    without_ray.write_text(f"#!/bin/sh\nexec {sys.executable} -S \"$@\"\n")
    without_ray.chmod(0o755)
    (tmp_path / "ray.py").write_text("raise SystemExit('this is not Ray')")
    for words, environment, sentence in [
        (["--ray", "auto"], {"HOMING_PYTHON": str(without_ray)}, "--ray needs Ray, which"),
        (["--ray", "auto"], {"HOMING_PYTHON": str(tmp_path / "none")}, "cannot be started"),
        (["--ray", "127.0.0.1:1"], {}, "no Ray cluster was reached at 127.0.0.1:1 ("),
    ]:
        child = experiment(1, *words, **environment)
        printed, told = child.communicate(timeout=60)
        assert child.returncode == 2 and not printed
        assert told.startswith("error: ") and told.count("\n") == 1 and sentence in told, told
    assert not (tmp_path / "results").exists()
