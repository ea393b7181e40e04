"""Runs one command on a node of a Ray cluster: ``python -m homing.ray.run ADDRESS CPUS COMMAND...``.

``homing experiment run --ray`` starts one such process per cell. The command runs in the same folder, which all nodes must share. It
ends when this process ends, whatever ends it; what it writes to standard error appears here.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
import threading


def _program(path: str) -> str:
    """Returns the program on this node: the same path, or the one of this name."""
    found = path if os.path.exists(path) else shutil.which(os.path.basename(path))
    if found is None:
        raise FileNotFoundError(f"error: a node has no {path}; install Homing on all nodes")
    return found


def _run(words: list[str], folder: str, threads: int) -> tuple[int, bytes]:
    try:
        program = _program(words[0])
    except FileNotFoundError as error:
        return 1, f"{error}\n".encode()
    environment = {**os.environ, "RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
    # The pipe to its standard input closes with the worker of Ray, and the command ends with it.
    process = subprocess.Popen(
        [program, *words[1:]], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder, env=environment
    )
    assert process.stderr is not None
    said = process.stderr.read()
    return process.wait(), said


def _end_with_parent() -> None:
    """Ends this process when its standard input closes, as a cell of an experiment does."""

    def watch() -> None:
        # Not `sys.stdin`, whose lock the interpreter needs when it ends.
        while os.read(0, 4096):
            pass
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: list[str]) -> int:
    """Runs the command, and returns its exit status."""
    address, cpus, *words = arguments
    _end_with_parent()
    try:
        import ray
    except ImportError:
        print("error: --ray needs Ray in the Python that runs; pip install 'homing[ray]'", file=sys.stderr)
        return 1
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError) as error:
        print(f"error: there is no Ray cluster at {address} ({str(error).splitlines()[0]}); start it, or give its address", file=sys.stderr)
        return 1
    threads = max(1, int(float(cpus)))
    task = ray.remote(num_cpus=float(cpus), max_retries=3)(_run)
    status, said = ray.get(task.remote(words, os.getcwd(), threads))
    sys.stderr.buffer.write(said)
    return int(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
