"""Runs cells of an experiment on a Ray cluster: `python -c … ADDRESS PROGRAM VERSION`, started by `homing experiment run --ray`.

Messages are lines of JSON. A line that comes in is a cell: its key, and the arguments of its process. A line that goes out says how many
cells the cluster can run at once, that a cell has ended and why it failed, or why no cell can run. All cells end when the input ends.
"""

import json
import logging
import os
import select
import shutil
import signal
import socket
import subprocess
import sys

# Otherwise Python would first look for modules in the folder of the experiment.
sys.path = [path for path in sys.path if path]

LOSSES = 3
"""How often a cell is continued after its process was lost."""

PATIENCE = 10
"""Seconds after which nothing that answers is at an address. Ray would wait for minutes."""

PAUSE = 0.1
"""Seconds between two looks at the cells."""


def run_cell(program, version, arguments, folder):
    """Runs a cell on a machine of the cluster. Returns why it failed, or None."""
    here = socket.gethostname()
    if not os.path.isdir(folder):
        return f"the machine {here} has no folder {folder}; start the experiment in a folder that all machines share"
    found = program if os.path.exists(program) else shutil.which(os.path.basename(program))
    if found is None:
        return f"the machine {here} has no {program}; install Homing on all machines"
    try:
        its = subprocess.run([found, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout.strip()
    except OSError as error:
        return f"the machine {here} cannot start {found} ({error.strerror}); install Homing for this kind of machine"
    if its != version:
        return f"the machine {here} has {its or 'another program'} instead of {version}; install the same version on all machines"
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # The pipe to the cell's standard input closes when this process ends, whatever ends it, and the cell ends with it.
    cell = subprocess.Popen(
        [found, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
    )
    said = cell.stderr.read().decode(errors="replace")
    if cell.wait() == 0:
        return None
    return said or "another process ended it; run the experiment again to continue"


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")


def main(address, program, version):
    # Ctrl-C reaches this process, too, but its input tells it when to end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # What Ray prints must not come between the messages.
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def tell(**message):
        print(json.dumps(message), file=out, flush=True)

    try:
        import ray
    except ImportError as error:
        how = "install it with `pip install ray`, or name another Python in HOMING_PYTHON"
        return tell(refused=f"--ray needs Ray, which {sys.executable} cannot import ({first_line(error)}); {how}")
    try:
        host, _, port = address.rpartition(":")
        if host and port.isdigit() and "/" not in host:
            socket.create_connection((host, int(port)), PATIENCE).close()
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
        cpus = int(ray.cluster_resources().get("CPU", 1))
    except Exception as error:  # Ray raises many kinds
        return tell(refused=f"no Ray cluster was reached at {address} ({first_line(error)}); start it, or give its address")
    tell(cpus=max(1, cpus))

    task = ray.remote(num_cpus=1, max_retries=LOSSES)(run_cell)
    folder = os.getcwd()
    running, rest = {}, b""
    while True:
        if select.select([0], [], [], PAUSE)[0]:
            chunk = os.read(0, 1 << 16)
            if not chunk:
                break
            *lines, rest = (rest + chunk).split(b"\n")
            for key, arguments in map(json.loads, lines):
                running[task.remote(program, version, arguments, folder)] = key
        ended, _ = ray.wait(list(running), num_returns=len(running), timeout=0) if running else ([], [])
        for cell in ended:
            try:
                failure = ray.get(cell)
            except ray.exceptions.RayTaskError as error:
                failure = f"it could not be started ({first_line(error.cause)}); run the experiment again to continue"
            except ray.exceptions.RayError as error:
                failure = f"Ray lost it more than {LOSSES} times ({first_line(error)}); run the experiment again to continue"
            tell(ended={"key": running.pop(cell), "failure": failure})
    for cell in running:
        ray.cancel(cell, force=True)
    ray.shutdown()


if __name__ == "__main__":
    main(*sys.argv[1:])
